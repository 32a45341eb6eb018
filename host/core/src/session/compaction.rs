//! Compaction: the earlier part of a conversation gives way to a summary and to what must not be
//! lost. The log keeps everything; only the messages that are sent change.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::event::{Event, EventData};
use crate::message::Message;

/// How many compactions in a row may fail to help before none is tried any more.
pub const ATTEMPTS: u32 = 3;

/// The earlier part of the conversation was cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    /// Whether somebody asked for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// Messages that were cut.
    pub cut: usize,
    /// Messages at the end that stay.
    pub kept: usize,
    /// What stands before them now, in order.
    pub restored: Vec<Restored>,
    /// Tokens of the request before.
    pub tokens_before: u64,
    /// And after.
    pub tokens_after: u64,
    /// Whether it was enough.
    pub helped: bool,
}

impl std::fmt::Display for Compaction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            cut,
            kept,
            tokens_before: before,
            tokens_after: after,
            ..
        } = self;
        let helped = if self.helped {
            ""
        } else {
            ", which is not enough"
        };
        let restored: Vec<&str> = self
            .restored
            .iter()
            .map(|restored| &*restored.what)
            .collect();
        write!(
            formatter,
            "{cut} messages cut, {kept} kept, {before} to {after} tokens{helped}; stands again: {}",
            restored.join(", ")
        )
    }
}

/// Something that stands again, or still, in a conversation that was cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// What it is: `summary`, `skill:NAME`, `note:ID`, `context:SECTION`, `artifacts`, `tasks`,
    /// `message`.
    pub what: String,
    /// As the model reads it.
    pub message: Message,
}

/// Compactions in a row that did not help: a fold over the log, so that neither the end of a run
/// nor a restart begins the count again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attempts(u32);

impl Attempts {
    /// How many.
    pub fn count(self) -> u32 {
        self.0
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        if let EventData::Compacted(compaction) = &event.data {
            self.0 = match compaction.helped {
                true => 0,
                false => self.0 + 1,
            };
        }
    }

    /// One that came to nothing.
    pub(crate) fn failed(&mut self) {
        self.0 += 1;
    }

    /// The request fits.
    pub(crate) fn relieved(&mut self) {
        self.0 = 0;
    }
}

/// How many messages at the end stay if at least `keep` are to: a batch is cut as a whole or not at
/// all, and what the model has not answered yet stays, with the batch it follows from.
pub fn keep(messages: &[Arc<Message>], keep: usize) -> usize {
    let is_answer = |message: &Arc<Message>| matches!(**message, Message::Assistant(_));
    let unanswered = match messages.iter().rposition(is_answer) {
        Some(last) => messages.len() - last,
        None => messages.len(),
    };
    let mut start = messages.len() - keep.max(unanswered).min(messages.len());
    while start > 0 && matches!(*messages[start], Message::Tool(_)) {
        start -= 1;
    }
    messages.len() - start
}
