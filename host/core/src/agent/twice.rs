//! What a transcript would show twice: a call whose tool shows people by other events what it does,
//! and a message in the words of the answer that it came with.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::session::EventData;

/// What was shown of the answer whose calls are served.
#[derive(Debug, Default)]
pub(crate) struct Twice(Mutex<Answer>);

#[derive(Debug, Default)]
struct Answer {
    text: String,
    /// The calls that are not shown, unless they fail.
    calls: BTreeSet<String>,
}

impl Twice {
    /// Begins with another answer.
    pub(crate) fn answered(&self, text: String, calls: BTreeSet<String>) {
        *self.answer() = Answer { text, calls };
    }

    /// Whether people see without the event what it says.
    pub(crate) fn is_seen(&self, data: &EventData) -> bool {
        let answer = self.answer();
        match data {
            EventData::ToolCall { call, .. } => answer.calls.contains(&call.id),
            EventData::ToolResult {
                call_id,
                is_error: false,
                ..
            } => answer.calls.contains(call_id),
            EventData::Yield { message, .. } => ends_with(&answer.text, message),
            _ => false,
        }
    }

    fn answer(&self) -> MutexGuard<'_, Answer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the last words of `text` are those of `message`: how white space breaks them up does
/// not matter.
fn ends_with(text: &str, message: &str) -> bool {
    let mut words = text.split_whitespace().rev();
    let mut last = message.split_whitespace().rev();
    last.all(|word| words.next() == Some(word))
}
