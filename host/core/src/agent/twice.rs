//! What a transcript would show twice: a call whose tool shows people by other events what it does,
//! a message in the words of the answer that it came with, and a last answer in the words of a
//! message.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::session::EventData;

/// What was shown of a run.
#[derive(Debug, Default)]
pub(crate) struct Twice(Mutex<Shown>);

#[derive(Debug, Default)]
struct Shown {
    /// Text of the answer whose calls are served.
    text: String,
    /// Those of its calls that are not shown, unless they fail.
    calls: BTreeSet<String>,
    /// The last message to the user.
    told: String,
}

impl Twice {
    /// Begins with another run.
    pub(crate) fn begin(&self) {
        *self.shown() = Shown::default();
    }

    /// Goes on with another answer.
    pub(crate) fn answered(&self, text: String, calls: BTreeSet<String>) {
        let mut shown = self.shown();
        shown.text = text;
        shown.calls = calls;
    }

    /// The user was told something.
    pub(crate) fn told(&self, message: &str) {
        message.clone_into(&mut self.shown().told);
    }

    /// Whether people see without the event what it says.
    pub(crate) fn is_seen(&self, data: &EventData) -> bool {
        let shown = self.shown();
        match data {
            EventData::AssistantMessage { message, .. } => {
                !shown.told.is_empty()
                    && message.calls().next().is_none()
                    && has_same_words(&message.text(), &shown.told)
            }
            EventData::ToolCall { call, .. } => shown.calls.contains(&call.id),
            EventData::ToolResult {
                call_id,
                is_error: false,
                ..
            } => shown.calls.contains(call_id),
            EventData::Yield { message, .. } => ends_with(&shown.text, message),
            _ => false,
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether both are the same words, however white space breaks them up.
fn has_same_words(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Whether the last words of `text` are those of `message`: how white space breaks them up does
/// not matter.
fn ends_with(text: &str, message: &str) -> bool {
    let mut words = text.split_whitespace().rev();
    let mut last = message.split_whitespace().rev();
    last.all(|word| words.next() == Some(word))
}
