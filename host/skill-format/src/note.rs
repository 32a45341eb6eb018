//! Notes: facts or constraints for a scope, as files with front matter.

use crate::finding::Finding;
use crate::front_matter::{Value, fields, split};
use crate::manifest::plain;

/// A note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is called; the file's name without its end if it does not say.
    pub id: String,
    /// A title for it.
    pub name: String,
    /// When it matters, in a sentence.
    pub scope: String,
    /// Who wrote it.
    pub authority: Authority,
    /// Words of which recent messages have one when it may matter; without any it always may.
    pub keywords: Vec<String>,
    /// The text.
    pub body: String,
}

/// Whose words a note has: they rank differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    /// A user of the workspace.
    User,
    /// The system.
    System,
}

/// Reads a note: fields `id`, `name`, `scope`, `authority` (`user` or `system`) and `keywords`, then
/// the body. `stem` is the name of its file without its end.
///
/// # Errors
///
/// There is no front matter, it lacks a scope, a field is unknown, or the body is empty.
pub fn note(stem: &str, text: &str) -> Result<Note, Finding> {
    let text = plain(text);
    let parts = split(&text)?;
    let mut note = Note {
        id: stem.to_owned(),
        name: String::new(),
        scope: String::new(),
        authority: Authority::System,
        keywords: Vec::new(),
        body: parts.body.trim().to_owned(),
    };
    for field in fields(&parts.front, 2)? {
        let value = field.read()?.value;
        match (field.key, value) {
            ("id", Value::Text(id)) if is_id(&id) => note.id = id,
            ("name", Value::Text(name)) => note.name = name,
            ("scope", Value::Text(scope)) => note.scope = scope,
            ("keywords", Value::Text(words)) => {
                note.keywords = words.split([' ', ',']).map(str::to_owned).collect();
            }
            ("keywords", Value::List(words)) => note.keywords = words,
            ("authority", Value::Text(authority)) if authority == "user" => {
                note.authority = Authority::User;
            }
            ("authority", Value::Text(authority)) if authority == "system" => {}
            ("id", _) => return Err(field.refused("letters, digits, `-` and `_` are expected")),
            ("authority", _) => return Err(field.refused("`user` or `system` is expected")),
            ("name" | "scope", _) => {
                return Err(field.refused("a text is expected"));
            }
            _ => {
                let known = "a note has id, name, scope, authority and keywords";
                return Err(field.refused(known));
            }
        }
    }
    note.keywords.retain(|word| !word.is_empty());
    if !is_id(&note.id) {
        let message = "the file's name is no id: write `id:` with letters, digits, `-` and `_`";
        return Err(Finding::refused(1, message));
    }
    if note.scope.is_empty() {
        return Err(Finding::refused(
            1,
            "the note has no `scope`: say when it matters",
        ));
    }
    if note.body.is_empty() {
        return Err(Finding::refused(1, "the note has no text"));
    }
    if note.name.is_empty() {
        note.name.clone_from(&note.id);
    }
    Ok(note)
}

fn is_id(id: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !id.is_empty() && id.chars().all(is_part)
}
