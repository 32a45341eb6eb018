//! Chat Completions answers.

use raddle_core::message::{AssistantMessage, Finish};
use raddle_core::provider::{Completion, Usage};
use serde_json::{Map, Value};

use super::calls::Calls;
use crate::answer::{AnswerReader, CallIds, Piece, Progress, text_of, usage_of};
use crate::failure::{Failure, excerpt};

/// Names under which servers give a model's reasoning. A reasoning part holds what came under
/// them, by the same names, so that it goes back the way it came.
pub(super) const REASONING_MEMBERS: &[&str] =
    &["reasoning_content", "reasoning", "reasoning_details"];

/// An answer being read.
#[derive(Debug, Default)]
pub(crate) struct ChatAnswer {
    text: String,
    reasoning: Map<String, Value>,
    calls: Calls,
    finish: Option<Finish>,
    done: bool,
    usage: Option<Usage>,
    model: Option<String>,
}

impl AnswerReader for ChatAnswer {
    fn event(&mut self, _name: &str, chunk: &Value) -> Result<String, Failure> {
        self.note(chunk);
        let Some(choice) = first_choice(chunk) else {
            return Ok(String::new());
        };
        // Some servers send whole messages where deltas should be.
        let delta = match &choice["delta"] {
            Value::Null => &choice["message"],
            delta => delta,
        };
        Ok(self.take(choice, delta))
    }

    fn whole(&mut self, body: &Value) -> Result<String, Failure> {
        let Some(choice) = first_choice(body) else {
            return Err(Failure::malformed(format!(
                "the answer holds no choice: {}",
                excerpt(body.to_string().as_bytes())
            )));
        };
        self.note(body);
        self.done = true;
        Ok(self.take(choice, &choice["message"]))
    }

    fn done_marker(&mut self) {
        self.done = true;
    }

    fn progress(&self) -> Progress {
        match (self.done, &self.finish) {
            (true, _) => Progress::Closed,
            (false, Some(_)) => Progress::Finished,
            (false, None) => Progress::Open,
        }
    }

    fn complete(self, ids: &CallIds) -> Result<Completion, Failure> {
        // Servers that say `[DONE]` without a reason have still said that it is over.
        let finish = match self.finish {
            Some(finish) => finish,
            None if !self.done => {
                return Err(Failure::cut(
                    "the stream ended without a finish_reason or [DONE]",
                ));
            }
            None if self.calls.is_empty() => Finish::Stop,
            None => Finish::ToolCalls,
        };
        let reasoning =
            (!self.reasoning.is_empty()).then(|| Piece::Reasoning(Value::Object(self.reasoning)));
        let text = (!self.text.is_empty()).then_some(Piece::Text(self.text));
        let calls = self.calls.into_drafts().map(Piece::Call);
        let parts = ids.parts(reasoning.into_iter().chain(text).chain(calls))?;
        Ok(Completion {
            message: AssistantMessage { parts, finish },
            usage: self.usage,
            model: self.model,
        })
    }
}

impl ChatAnswer {
    /// What stands beside the choices.
    fn note(&mut self, chunk: &Value) {
        if let Some(model) = chunk["model"].as_str()
            && self.model.is_none()
            && !model.is_empty()
        {
            self.model = Some(model.to_owned());
        }
        let usage = [
            &chunk["usage"],
            &chunk["x_groq"]["usage"],
            &chunk["choices"][0]["usage"],
        ];
        if let Some(usage) = usage.into_iter().find_map(usage_of) {
            self.usage = Some(usage);
        }
    }

    fn take(&mut self, choice: &Value, delta: &Value) -> String {
        for name in REASONING_MEMBERS {
            if let Some(piece) = delta.get(name) {
                join(&mut self.reasoning, name, piece);
            }
        }
        if let Value::Array(pieces) = &delta["tool_calls"] {
            for piece in pieces {
                self.calls.add(piece);
            }
        }
        if delta["function_call"].is_object() {
            self.calls.add_function(None, None, &delta["function_call"]);
        }
        if let Some(reason) = choice["finish_reason"].as_str()
            && !reason.is_empty()
        {
            self.finish = Some(finish_of(reason));
        }
        let mut text = text_of(&delta["content"]);
        if let Some(refusal) = delta["refusal"].as_str() {
            text.push_str(refusal);
        }
        self.text.push_str(&text);
        text
    }
}

/// The first choice, if the chunk is about it at all.
fn first_choice(chunk: &Value) -> Option<&Value> {
    chunk["choices"]
        .as_array()?
        .iter()
        .find(|choice| choice["index"].as_u64().unwrap_or(0) == 0)
}

fn finish_of(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        other => Finish::Other(other.to_owned()),
    }
}

/// Joins a piece of reasoning to what came before: text to text, list to list.
fn join(reasoning: &mut Map<String, Value>, name: &str, piece: &Value) {
    match (reasoning.get_mut(name), piece) {
        (_, Value::Null) => {}
        (None, Value::String(text)) if text.is_empty() => {}
        (Some(Value::String(known)), Value::String(more)) => known.push_str(more),
        (Some(Value::Array(known)), Value::Array(more)) => known.extend(more.iter().cloned()),
        (Some(_), _) => {}
        (None, piece) => {
            reasoning.insert(name.to_owned(), piece.clone());
        }
    }
}
