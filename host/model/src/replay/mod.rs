//! A provider whose answers come from a recording.

mod recording;

use std::sync::Arc;
use std::time::Duration;

use futures::future::ready;
use futures::stream::{self, BoxStream, StreamExt as _};
use raddle_core::message::AssistantMessage;
use raddle_core::provider::{
    Body, Completion, Conversation, Provider, ProviderError, ProviderErrorKind, Request,
    RequestKey, StreamEvent,
};
use serde_json::Value;

use crate::answer::{CallIds, Draft, Piece};
use crate::encoder::Encoder;
use crate::failure::one_line;
use crate::responses::Responses;
use recording::{Check, Chunk, Expectation, Step};

pub use recording::{Recording, RecordingError};

/// Answers requests from a recording, after checking them.
pub(crate) struct Replay {
    recording: Arc<Recording>,
}

struct ReplayConversation {
    recording: Arc<Recording>,
    /// Requests look exactly as `openai-responses` would send them.
    encoder: Encoder<Responses>,
}

/// How many keys an error lists.
const LISTED_KEYS: usize = 20;

impl Replay {
    pub(crate) fn new(recording: Arc<Recording>) -> Self {
        Self { recording }
    }
}

impl Provider for Replay {
    fn conversation(&self) -> Box<dyn Conversation> {
        Box::new(ReplayConversation {
            recording: Arc::clone(&self.recording),
            encoder: Encoder::new(Arc::new(Responses)),
        })
    }
}

impl Conversation for ReplayConversation {
    fn encode(&mut self, request: &Request<'_>) -> Body {
        self.encoder.encode(request)
    }

    fn send(
        &mut self,
        body: Body,
        key: &RequestKey,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let ids = CallIds::new(self.encoder.call_ids(), key.clone());
        let answer = find(&self.recording, key).and_then(|step| {
            check(step, &body)?;
            Ok((pause(step), play(step, &ids)))
        });
        let (pause, events) = answer.unwrap_or_else(|error| (Duration::ZERO, vec![Err(error)]));
        let events = stream::iter(events);
        if pause.is_zero() {
            return events.boxed();
        }
        let waited = stream::once(tokio::time::sleep(pause));
        waited.filter_map(|()| ready(None)).chain(events).boxed()
    }
}

fn find<'a>(recording: &'a Recording, key: &RequestKey) -> Result<&'a Step, ProviderError> {
    recording.step(&key.to_string()).ok_or_else(|| {
        let keys: Vec<&str> = recording.keys().collect();
        let listed = keys[..keys.len().min(LISTED_KEYS)].join(", ");
        let more = match keys.len().saturating_sub(LISTED_KEYS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        mismatch(format!(
            "the recording has no step {key}; it has {listed}{more}"
        ))
    })
}

/// Compares a request with what the step expects of it.
fn check(step: &Step, body: &Body) -> Result<(), ProviderError> {
    let request: Value = serde_json::from_slice(&body.bytes)
        .map_err(|error| mismatch(format!("step {}: no JSON was sent: {error}", step.key)))?;
    for Expectation { pointer, check } in &step.expect {
        let found = request.pointer(pointer);
        let (holds, wanted) = match check {
            Check::Equals(value) => (found == Some(value), format!("equal to {value}")),
            Check::Contains(text) => (
                found.is_some_and(|found| contains(found, text)),
                format!("containing {}", Value::from(text.as_str())),
            ),
        };
        if !holds {
            let found = found.map_or_else(
                || "there is nothing".to_owned(),
                |found| format!("there is {}", one_line(&found.to_string())),
            );
            return Err(mismatch(format!(
                "step {}: expected `{pointer}` {wanted}, but {found}",
                step.key
            )));
        }
    }
    match &step.digest {
        Some(digest) if *digest != body.digest => Err(mismatch(format!(
            "step {}: expected a request with digest {digest}, but it is {}",
            step.key, body.digest
        ))),
        _ => Ok(()),
    }
}

/// In a text, the text itself; in anything else, its compact JSON.
fn contains(found: &Value, text: &str) -> bool {
    match found {
        Value::String(found) => found.contains(text),
        other => other.to_string().contains(text),
    }
}

/// How long the model thinks.
fn pause(step: &Step) -> Duration {
    let pauses = step.chunks.iter().map(|chunk| match chunk {
        Chunk::Pause(milliseconds) => *milliseconds,
        _ => 0,
    });
    Duration::from_millis(pauses.sum())
}

/// The events of a step.
fn play(step: &Step, ids: &CallIds) -> Vec<Result<StreamEvent, ProviderError>> {
    let mut events = Vec::new();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut usage = None;
    for chunk in &step.chunks {
        match chunk {
            Chunk::Pause(_) => {}
            Chunk::Text(text) => {
                events.push(Ok(StreamEvent::Text(text.clone())));
                match pieces.last_mut() {
                    Some(Piece::Text(known)) => known.push_str(text),
                    _ => pieces.push(Piece::Text(text.clone())),
                }
            }
            Chunk::Reasoning(item) => pieces.push(Piece::Reasoning(item.clone())),
            Chunk::Call(call) => pieces.push(Piece::Call(Draft {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments_text(),
            })),
            Chunk::Usage(counts) => usage = Some(*counts),
            Chunk::Error(error) => {
                let mut error = ProviderError::new(error.kind, error.message.clone());
                error.partial_text = pieces.iter().filter_map(Piece::text).collect();
                events.push(Err(error));
            }
            Chunk::Finish(finish) => events.push(
                ids.parts(std::mem::take(&mut pieces))
                    .map(|parts| {
                        StreamEvent::Done(Completion {
                            message: AssistantMessage {
                                parts,
                                finish: finish.clone(),
                            },
                            usage,
                            model: None,
                        })
                    })
                    .map_err(|failure| failure.error),
            ),
        }
    }
    events
}

fn mismatch(message: String) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Recording, message)
}
