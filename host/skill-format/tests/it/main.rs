//! Reading skills: files as people write them, and as they should not.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checklist;
mod library;
mod manifest;
mod note;
mod select;
mod synth;

use raddle_skill_format::{Library, SkillFile};

/// A library of one root: files by the name of their folder.
fn library(files: &[(&str, &str)]) -> Library {
    let paths: Vec<String> = files
        .iter()
        .map(|(folder, _)| format!("skills/{folder}/SKILL.md"))
        .collect();
    Library::read(paths.iter().zip(files).map(|(path, (_, text))| SkillFile {
        root: 0,
        path,
        text,
    }))
}

/// The text of a small skill.
fn skill(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: Use for {name}.\n{more}---\n# {name}\n")
}
