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
    /// These calls of the next answer are not shown, unless they fail.
    pub(crate) fn keep_quiet(&self, calls: BTreeSet<String>) {
        self.shown().calls = calls;
    }

    /// Takes in an event before it is shown. Says whether people see without it what it says.
    pub(crate) fn is_seen(&self, data: &EventData) -> bool {
        let mut shown = self.shown();
        match data {
            EventData::RunStarted {} => {
                *shown = Shown::default();
                false
            }
            EventData::AssistantMessage { message, .. } => {
                let has_calls = message.calls().next().is_some();
                let was_told = !has_calls
                    && !shown.told.is_empty()
                    && has_same_words(&message.text(), &shown.told);
                shown.text = match has_calls {
                    true => message.text(),
                    false => String::new(),
                };
                was_told
            }
            EventData::ToolCall { call, .. } => shown.calls.contains(&call.id),
            EventData::ToolResult {
                call_id,
                is_error: false,
                ..
            } => shown.calls.contains(call_id),
            EventData::Yield { message, .. } => {
                message.clone_into(&mut shown.told);
                ends_with(&shown.text, message)
            }
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
