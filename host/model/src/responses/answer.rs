//! Responses answers. An item comes in pieces, and again whole when it is done, and once more in
//! the last event; what is whole wins over pieces, and nothing is taken twice.

use std::collections::BTreeMap;

use raddle_core::message::{AssistantMessage, Finish};
use raddle_core::provider::{Completion, Usage};
use serde_json::Value;

use crate::answer::{
    AnswerReader, CallIds, Draft, Piece, Progress, add_arguments, text_of, usage_of,
};
use crate::failure::{Failure, excerpt};

/// An answer being read.
#[derive(Debug, Default)]
pub(crate) struct ResponsesAnswer {
    /// Items by `output_index`.
    items: BTreeMap<u64, Item>,
    /// The index the last piece belonged to.
    open: Option<u64>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    model: Option<String>,
}

/// An output item being put together.
#[derive(Debug, Default)]
struct Item {
    kind: Kind,
    id: Option<String>,
    /// Visible text so far.
    text: String,
    call: Draft,
    /// A reasoning item as it came.
    reasoning: Value,
    /// Whether the item came whole.
    whole: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Pieces came, but what of is not yet known.
    #[default]
    Unknown,
    Message,
    Call,
    Reasoning,
    /// An item of a feature that is not used here.
    Foreign,
}

impl AnswerReader for ResponsesAnswer {
    fn event(&mut self, name: &str, event: &Value) -> Result<String, Failure> {
        let kind = event["type"].as_str().unwrap_or(name);
        match kind {
            "response.output_item.added" => {
                self.item(event, &event["item"]).take(&event["item"], false);
            }
            "response.output_item.done" => {
                return Ok(self.item(event, &event["item"]).take(&event["item"], true));
            }
            "response.output_text.delta" | "response.refusal.delta" => {
                let item = self.item(event, &Value::Null);
                item.become_a(Kind::Message);
                let piece = text_of(&event["delta"]);
                item.text.push_str(&piece);
                return Ok(piece);
            }
            "response.function_call_arguments.delta" => {
                let item = self.item(event, &Value::Null);
                item.become_a(Kind::Call);
                if !item.whole {
                    add_arguments(&event["delta"], &mut item.call.arguments);
                }
            }
            "response.function_call_arguments.done" => {
                let item = self.item(event, &Value::Null);
                item.become_a(Kind::Call);
                item.call.replace(event);
            }
            "response.completed" | "response.incomplete" => {
                return self.end(&event["response"], kind == "response.incomplete");
            }
            "response.failed" => return Err(failed(&event["response"])),
            _ => self.note(&event["response"]),
        }
        Ok(String::new())
    }

    fn whole(&mut self, body: &Value) -> Result<String, Failure> {
        if !body["output"].is_array() {
            return Err(Failure::malformed(format!(
                "the answer holds no output: {}",
                excerpt(body.to_string().as_bytes())
            )));
        }
        self.end(body, false)
    }

    fn done_marker(&mut self) {}

    fn progress(&self) -> Progress {
        match self.finish {
            Some(_) => Progress::Closed,
            None => Progress::Open,
        }
    }

    fn complete(self, ids: &CallIds) -> Result<Completion, Failure> {
        let Some(finish) = self.finish else {
            return Err(Failure::cut("the stream ended without response.completed"));
        };
        let mut has_calls = false;
        let pieces = self.items.into_values().filter_map(|item| match item.kind {
            Kind::Message | Kind::Unknown => {
                (!item.text.is_empty()).then_some(Piece::Text(item.text))
            }
            Kind::Reasoning => Some(Piece::Reasoning(item.reasoning)),
            Kind::Call => {
                has_calls = true;
                let id = item.call.id.or(item.id);
                Some(Piece::Call(Draft { id, ..item.call }))
            }
            Kind::Foreign => None,
        });
        let parts = ids.parts(pieces)?;
        let finish = match finish {
            Finish::Stop if has_calls => Finish::ToolCalls,
            finish => finish,
        };
        Ok(Completion {
            message: AssistantMessage { parts, finish },
            usage: self.usage,
            model: self.model,
        })
    }
}

impl ResponsesAnswer {
    /// The item an event is about: by its index; without one by its id; else the open one. An
    /// event that brings an item and neither fits begins a new one.
    fn item(&mut self, event: &Value, brought: &Value) -> &mut Item {
        let next = self.items.keys().next_back().map_or(0, |last| last + 1);
        let id = event["item_id"].as_str().or(brought["id"].as_str());
        let index = event["output_index"]
            .as_u64()
            .or_else(|| {
                let by_id = |item: &Item| id.is_some() && item.id.as_deref() == id;
                self.items
                    .iter()
                    .find(|(_, item)| by_id(item))
                    .map(|(index, _)| *index)
            })
            .or_else(|| {
                let open = self.open?;
                let item = self.items.get(&open)?;
                let fits = brought.is_null()
                    || !item.whole && item.kind == Kind::of(brought) && item.same_call(brought);
                fits.then_some(open)
            })
            .unwrap_or(next);
        self.open = Some(index);
        self.items.entry(index).or_default()
    }

    /// The last event, or the whole of an answer that did not stream.
    fn end(&mut self, response: &Value, incomplete: bool) -> Result<String, Failure> {
        if response["status"] == "failed" || !response["error"].is_null() {
            return Err(failed(response));
        }
        self.note(response);
        let mut text = String::new();
        let output = response["output"].as_array().map_or(&[][..], Vec::as_slice);
        let whole = self.items.values().filter(|item| item.whole).count();
        if output.len() > whole {
            // The list knows more than what came before. Text that was seen stays seen: only
            // what is new is handed out.
            let seen: String = self.items.values().map(|item| item.text.as_str()).collect();
            self.items.clear();
            for (index, item) in (0..).zip(output) {
                let entry = self.items.entry(index).or_default();
                text.push_str(&entry.take(item, true));
            }
            text = text.strip_prefix(&seen).unwrap_or_default().to_owned();
        }
        let reason = response["incomplete_details"]["reason"].as_str();
        self.finish = Some(match reason {
            Some("max_output_tokens" | "max_tokens" | "length") => Finish::Length,
            Some("content_filter") => Finish::ContentFilter,
            Some(other) => Finish::Other(other.to_owned()),
            None if incomplete || response["status"] == "incomplete" => Finish::Length,
            None => match response["status"].as_str() {
                Some("completed") | None => Finish::Stop,
                Some(other) => Finish::Other(other.to_owned()),
            },
        });
        Ok(text)
    }

    fn note(&mut self, response: &Value) {
        if let Some(model) = response["model"].as_str() {
            self.model = Some(model.to_owned());
        }
        if let Some(usage) = usage_of(&response["usage"]) {
            self.usage = Some(usage);
        }
    }
}

impl Item {
    /// Takes the item as an event brings it; gives text that was not visible before.
    fn take(&mut self, item: &Value, whole: bool) -> String {
        if self.whole && !whole {
            return String::new();
        }
        if Kind::of(item) != Kind::Unknown {
            self.kind = Kind::of(item);
        }
        self.whole |= whole;
        if let Some(id) = item["id"].as_str() {
            self.id = Some(id.to_owned());
        }
        match self.kind {
            Kind::Message => self.take_text(text_of(&item["content"])),
            Kind::Call => {
                self.call.replace(item);
                String::new()
            }
            Kind::Reasoning => {
                self.reasoning = item.clone();
                String::new()
            }
            Kind::Unknown | Kind::Foreign => String::new(),
        }
    }

    fn take_text(&mut self, text: String) -> String {
        if text.is_empty() {
            return text;
        }
        let new = text.strip_prefix(&self.text).unwrap_or_default().to_owned();
        self.text = text;
        new
    }

    fn become_a(&mut self, kind: Kind) {
        if self.kind == Kind::Unknown {
            self.kind = kind;
        }
    }

    /// Whether `brought` can be this call; true of whatever is no call.
    fn same_call(&self, brought: &Value) -> bool {
        match (&self.call.id, brought["call_id"].as_str()) {
            (Some(known), Some(id)) => known == id,
            _ => true,
        }
    }
}

impl Kind {
    fn of(item: &Value) -> Self {
        match item["type"].as_str() {
            Some("message") => Self::Message,
            Some("function_call") => Self::Call,
            Some("reasoning") => Self::Reasoning,
            Some(_) => Self::Foreign,
            None => Self::Unknown,
        }
    }
}

impl Draft {
    /// Puts whole members in the place of what came in pieces; what is absent or empty leaves
    /// the pieces as they are.
    fn replace(&mut self, whole: &Value) {
        if let Some(id) = whole["call_id"].as_str().filter(|id| !id.is_empty()) {
            self.id = Some(id.to_owned());
        }
        if let Some(name) = whole["name"].as_str().filter(|name| !name.is_empty()) {
            name.clone_into(&mut self.name);
        }
        let mut arguments = String::new();
        add_arguments(&whole["arguments"], &mut arguments);
        if !arguments.is_empty() {
            self.arguments = arguments;
        }
    }
}

fn failed(response: &Value) -> Failure {
    match &response["error"] {
        Value::Null => Failure::in_stream(&Value::Null),
        error => Failure::in_stream(error),
    }
}
