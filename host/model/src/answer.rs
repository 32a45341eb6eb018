//! What the readers of all forms share.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use raddle_core::message::{Part, ToolCall};
use raddle_core::provider::{Completion, RequestKey, Usage};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::failure::Failure;

/// Turns the events of one answer into a completion.
pub(crate) trait AnswerReader: Send + 'static {
    /// Takes one event: its name, where it had one, and its data. Gives the text that became
    /// visible with it, often none.
    fn event(&mut self, name: &str, data: &Value) -> Result<String, Failure>;

    /// Takes a whole answer, from a service that does not stream.
    fn whole(&mut self, body: &Value) -> Result<String, Failure>;

    /// The service said `[DONE]`.
    fn done_marker(&mut self);

    /// How far the answer is.
    fn progress(&self) -> Progress;

    /// The answer, once nothing more comes. An error unless it is at least
    /// [`Progress::Finished`].
    fn complete(self, ids: &CallIds) -> Result<Completion, Failure>;
}

/// How far an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The service has not said that it is over.
    Open,
    /// It has, but more about it (token counts) may follow.
    Finished,
    /// Nothing follows.
    Closed,
}

/// A piece of a finished answer.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(String),
    Reasoning(Value),
    Call(Draft),
}

/// A call as it came.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// Gives calls ids that are unique within the session.
pub(crate) struct CallIds {
    used: Arc<HashSet<String>>,
    key: RequestKey,
}

impl Piece {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl CallIds {
    /// Ids for the answer to the request `key`; none of `used`.
    pub(crate) fn new(used: Arc<HashSet<String>>, key: RequestKey) -> Self {
        Self { used, key }
    }

    /// The parts of an answer. A call whose id is missing, or taken by an earlier call, gets one
    /// made of run, step and its place among the calls: the same each time the same answer is
    /// read.
    pub(crate) fn parts(
        &self,
        pieces: impl IntoIterator<Item = Piece>,
    ) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        let mut given: Vec<String> = Vec::new();
        for piece in pieces {
            parts.push(match piece {
                Piece::Text(text) => Part::Text { text },
                Piece::Reasoning(item) => Part::Reasoning { item },
                Piece::Call(draft) if draft.name.is_empty() => {
                    return Err(Failure::malformed("a tool call came without a name"));
                }
                Piece::Call(draft) => {
                    let id = self.unique(draft.id.unwrap_or_default(), &given);
                    given.push(id.clone());
                    Part::Call(ToolCall {
                        id,
                        name: draft.name,
                        arguments: arguments(draft.arguments),
                    })
                }
            });
        }
        Ok(parts)
    }

    fn unique(&self, id: String, given: &[String]) -> String {
        let free = |id: &String| !id.is_empty() && !self.used.contains(id) && !given.contains(id);
        if free(&id) {
            return id;
        }
        let made = format!("call_{}_{}_{}", self.key.run, self.key.step, given.len());
        // A service may have made up the very same.
        let mut id = made.clone();
        let mut again = 1;
        while !free(&id) {
            again += 1;
            id = format!("{made}_{again}");
        }
        id
    }
}

/// Arguments as the session keeps them: nothing at all, and the word `null`, mean none.
fn arguments(text: String) -> String {
    match text.trim() {
        "" | "null" => "{}".to_owned(),
        _ => text,
    }
}

/// Whether `text` is a whole JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The text of a `content` member in any of its shapes: a string, a list of parts, a part.
pub(crate) fn text_of(content: &Value) -> String {
    fn add(content: &Value, text: &mut String) {
        match content {
            Value::String(piece) => text.push_str(piece),
            Value::Array(parts) => parts.iter().for_each(|part| add(part, text)),
            Value::Object(part) => {
                for member in ["text", "refusal"] {
                    if let Some(Value::String(piece)) = part.get(member) {
                        text.push_str(piece);
                    }
                }
            }
            _ => {}
        }
    }
    let mut text = String::new();
    add(content, &mut text);
    text
}

/// Adds arguments in any of their shapes: text, or the object itself.
pub(crate) fn add_arguments(arguments: &Value, text: &mut String) {
    match arguments {
        Value::Null => {}
        Value::String(piece) => text.push_str(piece),
        other => {
            // Writing to a string cannot fail.
            let _ = write!(text, "{other}");
        }
    }
}

/// Token counts by any of the names services give them.
pub(crate) fn usage_of(usage: &Value) -> Option<Usage> {
    let first = |paths: &[&str]| {
        paths
            .iter()
            .find_map(|path| usage.pointer(path).and_then(count_of))
    };
    let input_tokens = first(&["/input_tokens", "/prompt_tokens"]);
    let output_tokens = first(&["/output_tokens", "/completion_tokens"]);
    if input_tokens.is_none() && output_tokens.is_none() {
        return None;
    }
    Some(Usage {
        input_tokens: input_tokens.unwrap_or(0),
        cached_tokens: first(&[
            "/input_tokens_details/cached_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
        ])
        .unwrap_or(0),
        output_tokens: output_tokens.unwrap_or(0),
        reasoning_tokens: first(&[
            "/output_tokens_details/reasoning_tokens",
            "/completion_tokens_details/reasoning_tokens",
        ])
        .unwrap_or(0),
    })
}

fn count_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        value
            .as_f64()
            .filter(|count| *count >= 0.0)
            .map(|count| count as u64)
    })
}
