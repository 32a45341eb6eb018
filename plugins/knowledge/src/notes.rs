//! The notes of the settings' folders: which may matter, and what the model reads of them.

use std::collections::{BTreeMap, BTreeSet};

use raddle_sdk::tools::Reply;
use raddle_sdk::types::File;
use raddle_sdk::{Error, Fact, include_prompt};
use raddle_skill_format::{Authority, Note, is_invisible, note};
use serde_json::json;

/// Notes by id.
pub struct Notes<'a> {
    notes: BTreeMap<String, Known<'a>>,
    findings: Vec<(String, String)>,
}

/// A note and the file it stands in.
pub struct Known<'a> {
    /// What it says.
    pub note: Note,
    /// Digest of its file.
    pub revision: &'a str,
    path: &'a str,
}

impl<'a> Notes<'a> {
    /// Reads the files of the setting `roots`. An id belongs to the first that has it.
    pub fn read(files: &'a [File]) -> Self {
        let mut notes = BTreeMap::new();
        let mut findings = Vec::new();
        let is_note = |file: &&File| {
            file.setting.starts_with("/roots/") && file.path.to_lowercase().ends_with(".md")
        };
        for file in files.iter().filter(is_note) {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            match note(stem, &file.text) {
                Ok(note) if notes.contains_key(&note.id) => {
                    let message = format!("the id `{}` is taken", note.id);
                    findings.push((file.path.clone(), message));
                }
                Ok(note) => {
                    let known = Known {
                        revision: &file.digest,
                        path: &file.path,
                        note,
                    };
                    notes.insert(known.note.id.clone(), known);
                }
                Err(finding) => findings.push((file.path.clone(), finding.to_string())),
            }
        }
        Self { notes, findings }
    }

    /// What is wrong with files, by path.
    pub fn findings(&self) -> impl Iterator<Item = (&str, &str)> {
        let findings = self.findings.iter();
        findings.map(|(path, finding)| (path.as_str(), finding.as_str()))
    }

    /// The notes that may matter: those without keywords, and those of which one stands in the
    /// recent messages as a whole word. Users' notes come first, then the better match, then the
    /// name.
    pub fn candidates(&self, recent: &[String]) -> Vec<&Known<'a>> {
        let words: BTreeSet<String> = recent
            .iter()
            .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
            .map(str::to_lowercase)
            .collect();
        let mut found: Vec<(usize, &Known<'_>)> = self
            .notes
            .values()
            .map(|known| {
                let keywords = known.note.keywords.iter().map(|word| word.to_lowercase());
                let keywords: BTreeSet<String> = keywords.collect();
                let score = keywords.iter().filter(|word| words.contains(*word)).count();
                (score, known)
            })
            .filter(|(score, known)| *score > 0 || known.note.keywords.is_empty())
            .collect();
        found.sort_by_key(|(score, known)| {
            (
                known.note.authority,
                std::cmp::Reverse(*score),
                known.note.id.clone(),
            )
        });
        found.into_iter().map(|(_, known)| known).collect()
    }

    /// A note by its id, which is looked up and nothing else.
    ///
    /// # Errors
    ///
    /// `unknown-note`: there is none.
    pub fn find(&self, id: &str) -> Result<&Known<'a>, Error> {
        self.notes.get(id).ok_or_else(|| {
            let shown: String = id.chars().take(80).collect();
            let ids: Vec<&str> = self.notes.keys().map(String::as_str).collect();
            let message = format!(
                "there is no note `{}`; there are: {}",
                shown.escape_debug(),
                ids.join(", ")
            );
            Error::not_found("unknown-note", message)
        })
    }
}

impl Known<'_> {
    /// The result of reading it: what the model reads outlasts compaction. Of more than
    /// `long_bytes`, where to read it.
    pub fn reply(&self, long_bytes: usize) -> Reply {
        let note = &self.note;
        let body = match note.body.len() > long_bytes {
            true => include_prompt!("long.md").replace("PATH", self.path),
            false => unclosed(&note.body),
        };
        let authority = match note.authority {
            Authority::User => "user",
            Authority::System => "system",
        };
        let text = format!(
            "<note id=\"{}\" name=\"{}\" authority=\"{authority}\">\n{body}\n</note>",
            note.id,
            escaped(&note.name),
        );
        let fact = json!({ "id": note.id, "revision": self.revision, "text": text });
        Reply {
            facts: vec![Fact::new("note-read", fact.to_string())],
            ..Reply::text(text)
        }
    }
}

/// What `<knowledge_hints>` holds; none if there is nothing to point to.
pub fn hints(notes: &[&Known<'_>], source: &str) -> Option<String> {
    if notes.is_empty() {
        return None;
    }
    let mut text = format!("  {}\n", include_prompt!("blocking.md"));
    for Known { note, .. } in notes {
        text.push_str(&format!(
            "  <knowledge\n    id=\"{}\"\n    name=\"{}\"\n    scope=\"{}\"\n    source=\"{}\"\n  />\n",
            note.id,
            escaped(&note.name),
            escaped(&note.scope),
            escaped(source),
        ));
    }
    Some(text.trim_end().to_owned())
}

/// A body that cannot end the tag it stands in.
fn unclosed(body: &str) -> String {
    body.replace("</note", "&lt;/note")
}

/// `text` as the value of a quoted attribute.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars().filter(|character| !is_invisible(*character)) {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            character if character.is_control() => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
