//! Everything the host itself writes around a plugin's words on the way to the model: structure,
//! and no word that instructs (DESIGN §3). Its shapes are snapshot-tested.

use std::borrow::Cow;

/// The tag of a tail entry.
const CONTEXT: &str = "context";

/// What stands between the system prompt so far and the section that follows: as many line breaks
/// as make one blank line. The texts themselves stay untouched.
pub(super) fn separator(before: &str) -> &'static str {
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
pub(super) fn context_entry(section: &str, body: &str) -> (String, usize) {
    let body = neutralise(body);
    let mut entry = format!("<{CONTEXT} section=\"{}\">\n", attribute(section));
    let start = entry.len();
    entry.push_str(&body);
    if !body.ends_with('\n') {
        entry.push('\n');
    }
    entry.push_str("</");
    entry.push_str(CONTEXT);
    entry.push('>');
    (entry, start)
}

/// A tail entry for a section that has no text any more.
pub(super) fn withdrawn_entry(section: &str) -> String {
    format!("<{CONTEXT} section=\"{}\"/>", attribute(section))
}

/// What a neutralised `<` is written as.
pub(super) const NEUTRAL: &str = "&lt;";

/// Byte offsets of every `<` in `body` that begins a reserved tag, opening or closing.
pub(super) fn reserved(body: &str) -> impl Iterator<Item = usize> {
    body.match_indices('<')
        .map(|(at, _)| at)
        .filter(|at| begins_reserved_tag(&body[at + 1..]))
}

/// `body` with every reserved tag in it made text, so that it cannot end its entry or forge one.
fn neutralise(body: &str) -> Cow<'_, str> {
    let mut neutral = String::new();
    let mut copied = 0;
    for at in reserved(body) {
        neutral.push_str(&body[copied..at]);
        neutral.push_str(NEUTRAL);
        copied = at + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(body);
    }
    neutral.push_str(&body[copied..]);
    Cow::Owned(neutral)
}

fn begins_reserved_tag(after: &str) -> bool {
    let after = after.trim_start();
    let after = after.strip_prefix('/').unwrap_or(after).trim_start();
    let Some((name, rest)) = after.split_at_checked(CONTEXT.len()) else {
        return false;
    };
    let name_goes_on = |next: char| next.is_alphanumeric() || matches!(next, '_' | '-' | '.' | ':');
    name.eq_ignore_ascii_case(CONTEXT) && !rest.starts_with(name_goes_on)
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
