//! Everything the host itself writes where a model reads it: structure and error records, no
//! sentence that instructs. Snapshot-tested as a whole.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::session::injection::{Actor, Injection, Subject};
use crate::session::tasks::TaskList;
use crate::trust::{NEUTRAL, neutralise};

const SUMMARY: &str = "<conversation_summary>";

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

/// An injection as the model sees it: the kind is the tag, and no `<` of the summary is one.
/// Who did it and what changed stand in the tag where the kind says so.
pub(crate) fn injection(injection: &Injection, attributed: bool) -> String {
    let subject = &injection.subject;
    let reference = subject.reference.clone().or_else(|| {
        let path = subject.path.as_ref()?;
        Some(format!("file:{path}"))
    });
    let named = |name: &'static str| injection.details.get(name).and_then(Value::as_str);
    let actor = injection.origin.actor.map(Actor::name);
    let mut tag = format!("<{}", injection.kind);
    let attributes = [
        ("id", Some(injection.id.as_str())),
        ("ref", reference.as_deref()),
        ("revision", subject.revision.as_deref()),
        ("actor", actor.filter(|_| attributed)),
        ("change", named("change").filter(|_| attributed)),
    ];
    for (name, value) in attributes {
        if let Some(value) = value {
            tag.push_str(&format!(" {name}=\"{}\"", attribute(value)));
        }
    }
    let summary = injection.summary.trim().replace('<', NEUTRAL);
    format!("{tag}>\n{summary}\n</{}>", injection.kind)
}

/// What a plugin says in place of messages that were cut. The model wrote it, from words of
/// everybody: none of its tags is the harness's.
pub(crate) fn summary(text: &str) -> String {
    let text = neutralise(text.trim());
    format!("{SUMMARY}\n{text}\n</conversation_summary>")
}

/// Whether a trusted message is one of these.
pub(crate) fn is_summary(text: &str) -> bool {
    text.starts_with(SUMMARY)
}

/// Pointers to notes, as their plugin writes them.
pub(crate) fn knowledge_hints(text: &str) -> String {
    let text = text.trim_matches('\n');
    format!("<knowledge_hints>\n{text}\n</knowledge_hints>")
}

/// The task list, a task on a line.
pub(crate) fn task_list(list: &TaskList) -> String {
    let mut text = format!("<task_list revision=\"{}\">\n", list.revision);
    for task in &list.tasks {
        let status = task.status.name();
        let line = format!("- {} [{status}] {}", task.id, task.label);
        text.push_str(&one_line(&line));
        if let Some(step) = &task.step {
            let step = format!(" ({} {})", step.skill, step.number);
            text.push_str(&one_line(&step));
        }
        if let Some(note) = &task.note {
            text.push_str(&one_line(&format!(": {note}")));
        }
        text.push('\n');
    }
    text.push_str("</task_list>");
    text
}

/// What was changed or shown last, one on a line, the newest at the end.
pub(crate) fn artifacts(artifacts: &[Subject]) -> String {
    let mut text = String::from("<artifacts>\n");
    for artifact in artifacts {
        let path = artifact.path.as_ref().map(|path| format!("file:{path}"));
        text.push_str("  <artifact");
        let attributes = [
            ("ref", artifact.reference.as_ref().or(path.as_ref())),
            ("revision", artifact.revision.as_ref()),
        ];
        for (name, value) in attributes {
            if let Some(value) = value {
                text.push_str(&format!(" {name}=\"{}\"", attribute(value)));
            }
        }
        text.push_str("/>\n");
    }
    text.push_str("</artifacts>");
    text
}

/// `text` on one line, with no tag in it.
fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let space = if text.starts_with(char::is_whitespace) {
        " "
    } else {
        ""
    };
    format!("{space}{}", line.replace('<', NEUTRAL))
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
