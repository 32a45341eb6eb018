//! The catalog of skills in the prompt.

use raddle_skill_format::{Library, is_invisible};

/// The `<available_skills>` block. Names, paths and descriptions are other people's words: nothing
/// in them ends a tag or begins one, and what nobody can see is left out.
pub fn catalog(library: &Library) -> String {
    let mut text = String::from("<available_skills>\n");
    for skill in library.skills() {
        let manifest = &skill.manifest;
        text.push_str(&format!(
            "  <skill\n    name=\"{}\"\n    type=\"{}\"\n    path=\"{}\"\n  >\n    {}\n  \
             </skill>\n",
            escaped(&manifest.name),
            manifest.kind,
            escaped(&skill.path),
            escaped(&manifest.description),
        ));
    }
    text.push_str("</available_skills>");
    text
}

/// `text` as the value of a quoted attribute, or between tags.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars().filter(|character| !is_invisible(*character)) {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            other => safe.push(other),
        }
    }
    safe
}
