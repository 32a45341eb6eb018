//! The text of the section.

use raddle_sdk::include_prompt;

use crate::Instruction;

/// The section: what the files are, then each in a tag of its own. Without files there is none.
pub fn show(files: &[Instruction]) -> Option<String> {
    if files.is_empty() {
        return None;
    }
    let mut text = include_prompt!("instructions.md").to_owned();
    for file in files {
        text.push_str("\n\n<instructions path=\"");
        push_attribute(&mut text, &file.path);
        text.push_str("\">\n");
        push_data(&mut text, &file.text);
        text.push_str("\n</instructions>");
        if file.cut {
            text.push('\n');
            text.push_str(include_prompt!("cut.md"));
        }
    }
    Some(text)
}

/// Appends `data` so that nothing in it reads as a tag: neither the end of the one it stands in
/// nor one of the harness. What cannot be taken for a tag stays as it is, because commands and
/// code are to be copied from it.
fn push_data(text: &mut String, data: &str) {
    for (index, part) in data.split('<').enumerate() {
        if index > 0 {
            text.push_str(if begins_tag(part) { "&lt;" } else { "<" });
        }
        text.push_str(part);
    }
}

fn begins_tag(after: &str) -> bool {
    let after = after.trim_start();
    let after = after.strip_prefix('/').unwrap_or(after).trim_start();
    after.starts_with(|first: char| first.is_alphabetic() || matches!(first, '!' | '?' | '_'))
}

fn push_attribute(text: &mut String, value: &str) {
    for character in value.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            control if control.is_control() => {
                text.push_str(&format!("&#{};", u32::from(control)));
            }
            other => text.push(other),
        }
    }
}
