//! What is probably wrong when the text to replace stands nowhere in the file. A hint never makes
//! an edit succeed: it is for the model to read.

use std::fmt;

use crate::decomposed::decomposed;
use crate::text::{cut, line_at};

/// Files longer than this get no hint that needs a changed copy of the text.
const SEARCHED: usize = 1 << 20;

/// Characters of the file that a hint quotes.
const QUOTED: usize = 120;

/// A likely reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// The lines begin with the numbers that stand before lines where a file is shown.
    LineNumbers,
    /// It holds `\n` or `\t` spelled out where the file has a line end or a tab.
    Escapes,
    /// At this line stands the same text in another Unicode normal form.
    NormalForm {
        /// Number of the line.
        line: usize,
    },
    /// At this line stands the same text with other quotes, dashes or dots.
    Punctuation {
        /// Number of the line.
        line: usize,
    },
    /// At this line stands the same text with other white space.
    WhiteSpace {
        /// Number of the line.
        line: usize,
        /// The beginning of what stands there.
        found: String,
    },
    /// At this line stands the same text in other case.
    Case {
        /// Number of the line.
        line: usize,
    },
    /// The first lines stand at this line; what follows differs.
    Beginning {
        /// Number of the first line that differs.
        line: usize,
        /// The beginning of what stands there.
        found: String,
    },
}

/// Why `old` may not be found in `text`. Both have `\n` for every line end.
pub fn find(text: &str, old: &str) -> Option<Hint> {
    if let Some(bare) = without_line_numbers(old)
        && (text.contains(&bare) || old.contains('\t'))
    {
        return Some(Hint::LineNumbers);
    }
    if text.len() > SEARCHED {
        return None;
    }
    let unescaped = old
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\\"", "\"");
    if unescaped != old && text.contains(&unescaped) {
        return Some(Hint::Escapes);
    }
    if let Some(line) = line_alike(text, old, decomposed) {
        return Some(Hint::NormalForm { line });
    }
    if let Some(line) = line_alike(text, old, plain_punctuation) {
        return Some(Hint::Punctuation { line });
    }
    if let Some(place) = place_without_space(text, old) {
        return Some(Hint::WhiteSpace {
            line: line_at(text, place),
            found: line_from(text, place),
        });
    }
    if let Some(line) = line_alike(text, old, str::to_ascii_lowercase) {
        return Some(Hint::Case { line });
    }
    beginning(text, old)
}

impl fmt::Display for Hint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineNumbers => formatter.write_str(
                "its lines begin with a line-number column, which is not part of the file; leave the column out",
            ),
            Self::Escapes => formatter.write_str(
                "it holds \\n, \\t or \\\" spelled out where the file has the character itself",
            ),
            Self::NormalForm { line } => write!(
                formatter,
                "line {line} has the same text in another Unicode normal form (composed and decomposed accents); copy it as the file has it"
            ),
            Self::Punctuation { line } => write!(
                formatter,
                "line {line} has the same text with other quotes, dashes or spaces; copy it as the file has it"
            ),
            Self::WhiteSpace { line, found } => write!(
                formatter,
                "line {line} has the same text with other white space: {found:?}"
            ),
            Self::Case { line } => write!(
                formatter,
                "line {line} has the same text in other upper and lower case"
            ),
            Self::Beginning { line, found } => write!(
                formatter,
                "its first lines are in the file, but then line {line} is {found:?}"
            ),
        }
    }
}

/// `old` without a column of numbers, if every line that is not blank has one: blanks, digits,
/// then a tab, arrow, bar or colon.
fn without_line_numbers(old: &str) -> Option<String> {
    let mut bare = Vec::new();
    let mut numbered = false;
    for line in old.split('\n') {
        if line.trim().is_empty() {
            bare.push(line);
            continue;
        }
        let after = line.trim_start_matches(' ');
        let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let column = ["\t", "→", " | ", "| ", "|", ": ", ":"];
        let content = column.iter().find_map(|mark| rest.strip_prefix(mark));
        if rest.len() == after.len() {
            return None;
        }
        bare.push(content?);
        numbered = true;
    }
    numbered.then(|| bare.join("\n"))
}

/// The line where `old` stands when both are changed by `fold`, which keeps line ends.
fn line_alike(text: &str, old: &str, fold: impl Fn(&str) -> String) -> Option<usize> {
    let folded = fold(text);
    let place = folded.find(&fold(old))?;
    Some(line_at(&folded, place))
}

/// ASCII for the typographic characters that models and editors swap for each other.
fn plain_punctuation(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in decomposed(text).chars() {
        match character {
            '\u{2018}'..='\u{201B}' | '\u{2032}' => plain.push('\''),
            '\u{201C}'..='\u{201F}' | '\u{2033}' => plain.push('"'),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => plain.push('-'),
            '\u{2026}' => plain.push_str("..."),
            '\u{A0}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{3000}' => plain.push(' '),
            '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Where `old` stands in `text` when white space is left out of both.
fn place_without_space(text: &str, old: &str) -> Option<usize> {
    let solid: String = old.split_whitespace().collect();
    if solid.is_empty() {
        return None;
    }
    let rest: String = text.split_whitespace().collect();
    let before = rest.find(&solid)?;
    let mut skipped = 0;
    text.char_indices()
        .filter(|(_, character)| !character.is_whitespace())
        .find_map(|(place, character)| {
            let here = skipped == before;
            skipped += character.len_utf8();
            here.then_some(place)
        })
}

/// The longest run of first lines of `old` that stands in `text` as whole lines, if what follows
/// it differs.
fn beginning(text: &str, old: &str) -> Option<Hint> {
    let wanted: Vec<&str> = old.split('\n').collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let (first, rest) = wanted.split_first()?;
    if rest.is_empty() || first.trim().is_empty() {
        return None;
    }
    let mut best: Option<(usize, usize)> = None;
    for start in 0..lines.len() {
        // The first line of `old` may begin in the middle of a line.
        if !lines.get(start).is_some_and(|line| line.ends_with(first)) {
            continue;
        }
        let same = 1 + rest
            .iter()
            .zip(lines.iter().skip(start + 1))
            .take_while(|(left, right)| left == right)
            .count();
        if best.is_none_or(|(_, length)| same > length) {
            best = Some((start, same));
        }
    }
    let (start, same) = best?;
    let found = lines.get(start + same)?;
    Some(Hint::Beginning {
        line: start + same + 1,
        found: cut(found, QUOTED).to_owned(),
    })
}

/// The line that `place` stands in, from its beginning, cut.
fn line_from(text: &str, place: usize) -> String {
    let start = text
        .get(..place)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |end| end + 1);
    let line = text
        .get(start..)
        .and_then(|rest| rest.lines().next())
        .unwrap_or_default();
    cut(line, QUOTED).to_owned()
}
