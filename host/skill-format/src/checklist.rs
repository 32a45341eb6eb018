//! The steps of a workflow.

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its number, from 1, whatever number it is written with.
    pub number: u32,
    /// What it asks for: what its first line has in bold at the beginning, else all of that line,
    /// without marks.
    pub text: String,
    /// Whether it may be left out.
    pub optional: bool,
}

/// The numbered steps of a body, in order: the items of its numbered lists that are not indented,
/// and headings that begin with a number. Code blocks hold no steps. `(optional)` marks a step that
/// may be left out.
pub fn checklist(body: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        if fence.is_some() || mark.is_some() {
            continue;
        }
        let Some(text) = step(line) else { continue };
        let lower = text.to_lowercase();
        steps.push(Step {
            number: u32::try_from(steps.len() + 1).unwrap_or(u32::MAX),
            optional: lower.contains("(optional)"),
            text: title(text)
                .replace("**", "")
                .replace('`', "")
                .trim()
                .to_owned(),
        });
    }
    steps
}

/// What a step is called: what it begins with in bold, else all of its first line.
fn title(text: &str) -> String {
    let bold = text
        .strip_prefix("**")
        .and_then(|rest| rest.split_once("**"));
    match bold {
        Some((title, _)) if title.trim().is_empty() => text.to_owned(),
        Some((title, _)) => title.to_owned(),
        None => text.to_owned(),
    }
}

/// What stands behind the number of a line that begins with one.
fn step(line: &str) -> Option<&str> {
    let heading = line.trim_start_matches('#');
    let is_heading = heading.len() < line.len();
    let line = if is_heading {
        heading.trim_start()
    } else {
        line
    };
    let line = match is_heading {
        true => line.strip_prefix("Step ").unwrap_or(line),
        false => line,
    };
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 || digits > 3 {
        return None;
    }
    let behind = line[digits..].strip_prefix(['.', ')', ':'])?;
    let text = behind.strip_prefix(' ')?.trim();
    (!text.is_empty()).then_some(text)
}
