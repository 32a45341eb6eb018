//! What of a transcript may be sent.
//!
//! Services refuse a transcript in which a tool call has no result, a result has no call, or an
//! answer says nothing, and go on refusing it for as long as the session lives. Logs can hold all
//! of these: a process was killed while a tool ran, a cut went through a batch. So every encoder
//! takes a transcript through [`next_piece`], which reads it forwards, never looks back behind
//! a piece it has given, and leaves out what would be refused. The log itself stays as it is.

use std::sync::Arc;

use crate::message::{AssistantMessage, Message, Part, ToolCall, ToolResult};

/// The next messages of a transcript that are sent, or left out, together.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece<'a> {
    /// What is sent; nothing when these messages are left out.
    pub entry: Option<Entry<'a>>,
    /// Index of the first message after the piece.
    pub next: usize,
    /// Whether messages added to the transcript later cannot change the piece. Only a batch at
    /// the very end that still lacks results is unsettled.
    pub settled: bool,
}

/// What is sent for a piece.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry<'a> {
    /// Trusted text of the harness.
    Developer(&'a str),
    /// The user's words.
    User(&'a str),
    /// An answer with its results: at least one text that is not blank or one call, every call
    /// with exactly one result, in the order the results stand in the transcript.
    Answer {
        /// The parts that are sent, in order.
        parts: Vec<&'a Part>,
        /// The results of the calls among them.
        results: Vec<&'a ToolResult>,
    },
}

/// The piece of `messages` that starts at index `from`; `None` at the end.
///
/// The rules, with which any transcript becomes one that services accept:
/// - A result belongs to the last answer before it, with only other results in between. A result
///   that has no call there, or whose call already has one, is left out.
/// - A call without a result is left out; of calls with the same id in one answer, all but the
///   first.
/// - Text that is blank is left out; so is reasoning with no text or call after it in its answer;
///   so is an answer of which nothing remains.
pub fn next_piece(messages: &[Arc<Message>], from: usize) -> Option<Piece<'_>> {
    let single = |entry| {
        Some(Piece {
            entry,
            next: from + 1,
            settled: true,
        })
    };
    match messages.get(from)?.as_ref() {
        Message::Developer { text } => single(Some(Entry::Developer(text))),
        Message::User { text } => single(Some(Entry::User(text))),
        Message::Tool(result) => {
            tracing::warn!(call_id = %result.call_id, "tool result without a call is not sent");
            single(None)
        }
        Message::Assistant(answer) => {
            let following: Vec<&ToolResult> = messages[from + 1..]
                .iter()
                .map_while(|message| match message.as_ref() {
                    Message::Tool(result) => Some(result),
                    _ => None,
                })
                .collect();
            let next = from + 1 + following.len();
            let (entry, complete) = batch(answer, &following);
            Some(Piece {
                entry,
                next,
                settled: complete || next < messages.len(),
            })
        }
    }
}

/// An answer and the results that follow it, with whether every call has its result.
fn batch<'a>(
    answer: &'a AssistantMessage,
    following: &[&'a ToolResult],
) -> (Option<Entry<'a>>, bool) {
    let mut calls: Vec<&ToolCall> = Vec::new();
    for call in answer.calls() {
        if !calls.iter().any(|known| known.id == call.id) {
            calls.push(call);
        }
    }
    let mut results: Vec<&ToolResult> = Vec::new();
    for result in following {
        let known = calls.iter().any(|call| call.id == result.call_id);
        let answered = results.iter().any(|other| other.call_id == result.call_id);
        if known && !answered {
            results.push(result);
        } else {
            tracing::warn!(call_id = %result.call_id, "surplus tool result is not sent");
        }
    }
    let complete = results.len() == calls.len();
    calls.retain(|call| results.iter().any(|result| result.call_id == call.id));

    // Backwards, so that reasoning knows whether anything comes after it.
    let mut parts: Vec<&Part> = Vec::new();
    for part in answer.parts.iter().rev() {
        let kept = match part {
            Part::Text { text } => !text.trim().is_empty(),
            Part::Reasoning { .. } => !parts.is_empty(),
            Part::Call(call) => calls.iter().any(|kept| std::ptr::eq(*kept, call)),
        };
        if kept {
            parts.push(part);
        }
    }
    parts.reverse();
    let entry = (!parts.is_empty()).then_some(Entry::Answer { parts, results });
    (entry, complete)
}
