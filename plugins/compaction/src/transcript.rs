//! A conversation as text to be summarized.

use raddle_sdk::compaction::Message;
use raddle_sdk::types::Role;

/// Bytes of one text that are shown: of more, the beginning and the end.
const TEXT: usize = 4000;

/// Bytes of the whole: of more, the end and what fits of the beginning.
const WHOLE: usize = 240_000;

/// The messages, each under a line that says whose it is. No text can end the transcript.
pub fn transcript(messages: &[Message]) -> String {
    let mut entries: Vec<String> = messages.iter().map(entry).collect();
    let mut total: usize = entries.iter().map(String::len).sum();
    // An earlier summary stands near the beginning and says the most.
    let from = entries.len().min(4);
    let mut left_out = 0;
    while total > WHOLE && entries.len() > from {
        total -= entries.remove(from).len();
        left_out += 1;
    }
    if left_out > 0 {
        entries.insert(from, format!("[{left_out} messages are left out here]\n\n"));
    }
    format!("<transcript>\n{}</transcript>", entries.concat())
}

fn entry(message: &Message) -> String {
    let whose = match message.role {
        Role::Developer => "harness".to_owned(),
        Role::User => "user".to_owned(),
        Role::Assistant => "agent".to_owned(),
        Role::Tool => format!(
            "result of {}",
            message.answers.as_deref().unwrap_or_default()
        ),
    };
    let mut entry = format!("[{whose}]\n");
    if !message.text.is_empty() {
        entry.push_str(&shortened(&message.text));
        entry.push('\n');
    }
    for call in &message.calls {
        let arguments = shortened(&call.arguments);
        entry.push_str(&format!("calls {} ({}): {arguments}\n", call.name, call.id));
    }
    entry.push('\n');
    entry
}

/// At most so much, cut between characters; without the tag that ends the transcript.
fn shortened(text: &str) -> String {
    let text = text.replace("</transcript", "&lt;/transcript");
    if text.len() <= TEXT {
        return text;
    }
    let head = (0..=TEXT / 2).rev().find(|at| text.is_char_boundary(*at));
    let tail = (text.len() - TEXT / 2..text.len()).find(|at| text.is_char_boundary(*at));
    let (head, tail) = (head.unwrap_or(0), tail.unwrap_or(text.len()));
    let between = tail - head;
    format!(
        "{}\n[… {between} bytes …]\n{}",
        &text[..head],
        &text[tail..]
    )
}
