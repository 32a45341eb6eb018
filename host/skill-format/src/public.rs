//! What the public validator of Agent Skills (`skills-ref`) asks of a front matter, and the little
//! that we ask on top.

use crate::finding::Finding;
use crate::manifest::Manifest;

const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
const LONGEST_COMPATIBILITY: usize = 500;

/// Adds what is wrong with `manifest`, of a skill in this folder.
pub(crate) fn check(manifest: &Manifest, folder: &str, findings: &mut Vec<Finding>) {
    name(&manifest.name, folder, findings);
    description(&manifest.description, findings);
    let compatibility = manifest.compatibility.as_deref().unwrap_or_default();
    let length = compatibility.chars().count();
    if length > LONGEST_COMPATIBILITY {
        let message =
            format!("`compatibility` has {length} characters, of {LONGEST_COMPATIBILITY} at most");
        findings.push(Finding::invalid(None, message));
    }
}

fn name(name: &str, folder: &str, findings: &mut Vec<Finding>) {
    let length = name.chars().count();
    if name.is_empty() {
        findings.push(Finding::refused(None, "`name` is missing"));
        return;
    }
    if length > LONGEST_NAME {
        let message = format!("`name` has {length} characters, of {LONGEST_NAME} at most");
        findings.push(Finding::refused(None, message));
        return;
    }
    // What is shown as a name has to read as one, wherever it stands.
    let is_wordlike = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ':');
    if !name.chars().all(is_wordlike) {
        let shown: String = name.escape_debug().collect();
        let message = format!("`name: {shown}` may hold letters, digits and hyphens only");
        findings.push(Finding::refused(None, message));
        return;
    }
    let mut invalid = |message: String| findings.push(Finding::invalid(None, message));
    if name != name.to_lowercase() {
        invalid(format!("the name `{name}` has to be in lower case"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        invalid(format!(
            "the name `{name}` cannot begin or end with a hyphen"
        ));
    }
    if name.contains("--") {
        invalid(format!(
            "the name `{name}` cannot have two hyphens in a row"
        ));
    }
    if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        invalid(format!(
            "the name `{name}` may hold letters, digits and hyphens only"
        ));
    }
    if name != folder {
        invalid(format!(
            "the name is `{name}`, and its folder is `{folder}`: they have to be the same"
        ));
    }
}

fn description(description: &str, findings: &mut Vec<Finding>) {
    let length = description.chars().count();
    if description.is_empty() {
        findings.push(Finding::refused(None, "`description` is missing"));
        return;
    }
    if length > LONGEST_DESCRIPTION {
        let message =
            format!("`description` has {length} characters, of {LONGEST_DESCRIPTION} at most");
        findings.push(Finding::invalid(None, message));
    }
    if description.chars().any(is_invisible) {
        let message = "`description` holds invisible characters: the catalog leaves them out";
        findings.push(Finding::advice(None, message));
    }
    let upper = ["TRIGGER", "BEFORE"];
    let forms = [
        "use when",
        "use this skill when",
        "use for",
        "use before",
        "use if",
        "use it when",
        "when ",
    ];
    let lower = description.to_lowercase();
    let states_trigger = upper.iter().any(|word| description.contains(word))
        || forms.iter().any(|form| lower.contains(form));
    if !states_trigger {
        let message = "`description` states no trigger: say when to load it \
                       (`TRIGGER when …`, `Use BEFORE …`, `Use for …`)";
        findings.push(Finding::advice(None, message));
    }
}

/// Characters that nobody sees, and that can carry words all the same.
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xAD | 0x34F
                | 0x61C
                | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x202A..=0x202E
                | 0x2060..=0x206F
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFF9..=0xFFFB
                | 0xE0000..=0xE0FFF
        )
}
