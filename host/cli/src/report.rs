//! How people are told of what is wrong: one line each, with the place and the fix.

use std::fmt;

use serde::Serialize;

/// A place in a text, as people count: from 1, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Place {
    /// The line.
    pub(crate) line: usize,
    /// The character in its line.
    pub(crate) column: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The file it is about, as the user would name it; absent when it is about no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<String>,
    /// Where in that file.
    #[serde(flatten)]
    pub(crate) place: Option<Place>,
    /// What is wrong and how to mend it: one line.
    pub(crate) message: String,
}

/// Where the lines of a text start, to turn byte offsets into places.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

/// `: did you mean …?` for the nearest of `known`, else `: there are …` with all of them.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    if let Some(nearest) = nearest(name, known.iter().copied()) {
        return format!(": did you mean `{nearest}`?");
    }
    match known.as_slice() {
        [] => ": there are none".to_owned(),
        [only] => format!(": there is only `{only}`"),
        several => format!(": there are {}", listed(several)),
    }
}

/// The name that somebody who wrote `name` most likely meant.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    known
        .map(|known| (strsim::osa_distance(&name, known), known))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, known)| known)
}

/// `` `a`, `b` and `c` ``.
pub(crate) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|name| format!("`{name}`")).collect();
            format!("{} and `{last}`", first.join(", "))
        }
    }
}

impl Finding {
    /// A finding about no file in particular.
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        Self {
            file: None,
            place: None,
            message: one_line(message.as_ref()),
        }
    }

    /// A finding about a file.
    pub(crate) fn at(file: &str, place: Option<Place>, message: impl AsRef<str>) -> Self {
        Self {
            file: Some(one_line(file)),
            place,
            message: one_line(message.as_ref()),
        }
    }
}

/// Findings in the order of the file, each once. Those of one place stay as they were found.
pub(crate) fn in_order(findings: Vec<Finding>) -> Vec<Finding> {
    let mut ordered: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        if !ordered.contains(&finding) {
            ordered.push(finding);
        }
    }
    ordered.sort_by_key(|finding| finding.place);
    ordered
}

/// `2 plugins`, `1 plugin`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Whether a terminal does something else with the character than to show it: move the cursor,
/// or reorder what stands around it.
pub(crate) fn is_hidden(character: char) -> bool {
    let reorders = matches!(
        character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    character.is_control() || reorders
}

/// `text` with its hidden characters escaped: what others wrote stays on its line and cannot
/// pretend to be something else.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if is_hidden(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

impl<'a> Lines<'a> {
    /// Indexes `text`.
    pub(crate) fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        Self { text, starts }
    }

    /// The place of a byte offset; an offset past the end is the end.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        // A byte order mark is no character that a person sees.
        let before = self.text[start..offset].trim_start_matches('\u{feff}');
        Place {
            line,
            column: before.chars().count() + 1,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.place) {
            (Some(file), Some(place)) => write!(formatter, "{file}:{place}: {}", self.message),
            (Some(file), None) => write!(formatter, "{file}: {}", self.message),
            _ => formatter.write_str(&self.message),
        }
    }
}
