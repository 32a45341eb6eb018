//! Everything the host itself writes where a model reads it: structure and error records, no
//! sentence that instructs. Snapshot-tested as a whole.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::trust::neutralise;

/// The record a failed tool call is answered with: `{code, message}`.
pub fn error_record(code: &str, message: &str) -> String {
    json!({ "code": code, "message": message }).to_string()
}

/// The record for arguments that were not accepted: `{code, message, schema}`.
pub fn argument_error_record(code: &str, message: &str, schema: &Value) -> String {
    json!({ "code": code, "message": message, "schema": schema }).to_string()
}

/// What stands between the system prompt so far and the section that follows: as many line breaks
/// as make one blank line. The texts themselves stay untouched.
pub(crate) fn separator(before: &str) -> &'static str {
    let ends_line = before.ends_with('\n');
    if before.is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n") {
        ""
    } else if ends_line {
        "\n"
    } else {
        "\n\n"
    }
}

/// A tail entry with the text of a section, and where in it the (neutralised) text starts.
pub(crate) fn context_entry(section: &str, body: &str) -> (String, usize) {
    let body = neutralise(body);
    let mut entry = format!("<context section=\"{}\">\n", attribute(section));
    let start = entry.len();
    entry.push_str(&body);
    if !body.ends_with('\n') {
        entry.push('\n');
    }
    entry.push_str("</context>");
    (entry, start)
}

/// A tail entry for a section that has no text any more.
pub(crate) fn withdrawn_entry(section: &str) -> String {
    format!("<context section=\"{}\"/>", attribute(section))
}

/// `text` as the value of a quoted attribute.
fn attribute(text: &str) -> Cow<'_, str> {
    let special =
        |character: char| matches!(character, '&' | '<' | '>' | '"') || character.is_control();
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            control if control.is_control() => {
                escaped.push_str(&format!("&#{};", u32::from(control)));
            }
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}
