//! The messages the model sees, folded from the log.

use std::sync::Arc;

use super::event::{Event, EventData};
use crate::message::{Message, ToolCall, ToolResult};

/// The transcript of a session: a fold over its events. Results stand in call order right after
/// their calls, in whatever order they arrived.
#[derive(Debug, Clone, Default)]
pub struct Transcript {
    messages: Vec<Arc<Message>>,
    /// The open batch: calls of the last answer, each with its result once there is one.
    open: Vec<(ToolCall, Option<ToolResult>)>,
    /// What arrived while a batch was open; it follows the batch.
    held: Vec<Arc<Message>>,
}

impl Transcript {
    /// The messages of all closed batches, in the order they are sent.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Text of the last answer to the last user message, if it was answered.
    pub fn last_answer(&self) -> Option<String> {
        let since = self
            .messages
            .iter()
            .rev()
            .take_while(|message| !matches!(***message, Message::User { .. }));
        since
            .filter_map(|message| match &**message {
                Message::Assistant(answer) => Some(answer.text()),
                _ => None,
            })
            .next()
    }

    /// The calls that have no result yet.
    pub fn unanswered(&self) -> impl Iterator<Item = &ToolCall> {
        self.open
            .iter()
            .filter(|(_, result)| result.is_none())
            .map(|(call, _)| call)
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        match &event.data {
            EventData::UserMessage { text } => self.push(Message::User { text: text.clone() }),
            EventData::Context { text, .. }
            | EventData::InjectionDelivered { text, .. }
            | EventData::NotesHinted { text, .. } => {
                self.push(Message::Developer { text: text.clone() })
            }
            EventData::Inherited(inherited) => {
                let messages = inherited.messages.iter();
                self.messages
                    .extend(messages.map(|message| Arc::new(message.clone())));
            }
            EventData::Compacted(compaction) => {
                let kept = self.messages.len().saturating_sub(compaction.kept);
                let restored = compaction.restored.iter();
                let restored = restored.map(|restored| Arc::new(restored.message.clone()));
                self.messages.splice(..kept, restored);
            }
            EventData::AssistantMessage { message, .. } => {
                self.open = message.calls().cloned().map(|call| (call, None)).collect();
                self.messages
                    .push(Arc::new(Message::Assistant(message.clone())));
            }
            EventData::ToolResult {
                call_id,
                text,
                is_error,
                ..
            } => {
                let result = ToolResult {
                    call_id: call_id.clone(),
                    text: text.clone(),
                    is_error: *is_error,
                };
                self.answer(result);
            }
            _ => {}
        }
    }

    fn push(&mut self, message: Message) {
        if self.open.is_empty() {
            self.messages.push(Arc::new(message));
        } else {
            self.held.push(Arc::new(message));
        }
    }

    /// A result nobody waits for (an orphan, a second answer) is left out: no provider accepts it.
    fn answer(&mut self, result: ToolResult) {
        let slot = self
            .open
            .iter_mut()
            .find(|(call, answered)| call.id == result.call_id && answered.is_none());
        let Some((_, slot)) = slot else { return };
        *slot = Some(result);
        if self.open.iter().all(|(_, result)| result.is_some()) {
            let results = self.open.drain(..).filter_map(|(_, result)| result);
            self.messages
                .extend(results.map(|result| Arc::new(Message::Tool(result))));
            self.messages.append(&mut self.held);
        }
    }
}
