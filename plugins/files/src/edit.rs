//! Exact replacement of text, keeping every byte around it.
//!
//! Models write line feeds, whatever the file has. So file, `old` and `new` are compared with
//! every `\r\n` as one `\n`; what is not replaced keeps its own bytes, and what is new gets the
//! line ends of what stood there, or else of its surroundings.

use std::fmt;

use crate::hint::{self, Hint};
use crate::text::{BYTE_ORDER_MARK, NotText, Text, line_at};

/// Lines of an ambiguous match that an error lists.
const LISTED: usize = 10;

/// Places after which an ambiguous match is not counted further.
const COUNTED: usize = 1000;

/// A file after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The lines (from 1, in the file before the edit) where replaced text began.
    pub lines: Vec<usize>,
}

/// Why nothing was edited. The text is for the model: it says what to do next, and quotes at most
/// a short piece of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditError {
    /// The file is not text these tools work on.
    NotText(NotText),
    /// `old` is empty.
    EmptyOld,
    /// `old` and `new` are the same.
    NoChange,
    /// `old` and `new` differ in nothing but the line ends, which an edit keeps.
    OnlyLineEnds,
    /// `old` stands nowhere in the file.
    NotFound(Option<Hint>),
    /// `old` stands in several places, at these lines (the first ten), `count` in all.
    Ambiguous {
        /// Lines of the first places.
        lines: Vec<usize>,
        /// How many places; 1000 stands for that many and more.
        count: usize,
    },
}

/// Replaces `old` in the file by `new`: its only place, or with `all` every place.
pub fn apply(bytes: &[u8], old: &str, new: &str, all: bool) -> Result<Edited, EditError> {
    let text = Text::of(bytes).map_err(EditError::NotText)?;
    if old.is_empty() {
        return Err(EditError::EmptyOld);
    }
    if old == new {
        return Err(EditError::NoChange);
    }
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if old == new {
        return Err(EditError::OnlyLineEnds);
    }
    let body = Unified::of(text.body);
    let places: Vec<usize> = if all {
        body.text
            .match_indices(&old)
            .map(|(place, _)| place)
            .collect()
    } else {
        overlapping(&body.text, &old)
    };
    let lines = |places: &[usize]| {
        places
            .iter()
            .map(|place| line_at(&body.text, *place))
            .collect()
    };
    match places.len() {
        0 => Err(EditError::NotFound(hint::find(&body.text, &old))),
        count if count > 1 && !all => Err(EditError::Ambiguous {
            lines: lines(places.get(..count.min(LISTED)).unwrap_or(&places)),
            count,
        }),
        _ => Ok(Edited {
            bytes: body.replaced(&places, &Change::between(&old, &new), text.marked),
            lines: lines(&places),
        }),
    }
}

/// Text with one kind of line end, and the way back to the bytes it came from.
struct Unified<'a> {
    original: &'a str,
    text: String,
    /// Positions in `text` of the `\n`s that were `\r\n`, ascending.
    pairs: Vec<usize>,
}

/// What really changes between `old` and `new`: their common beginning and end left aside.
struct Change<'a> {
    /// Where it begins in `old`.
    start: usize,
    removed: &'a str,
    inserted: &'a str,
}

impl<'a> Unified<'a> {
    fn of(original: &'a str) -> Self {
        let text = original.replace("\r\n", "\n");
        let pairs = original
            .match_indices("\r\n")
            .enumerate()
            .map(|(before, (place, _))| place - before)
            .collect();
        Self {
            original,
            text,
            pairs,
        }
    }

    /// The original, behind its byte order mark if it has one, with `change` made at each of
    /// `places`, which do not overlap.
    fn replaced(&self, places: &[usize], change: &Change<'_>, marked: bool) -> Vec<u8> {
        let mut result = String::with_capacity(self.original.len() + change.inserted.len());
        result.extend(marked.then_some(BYTE_ORDER_MARK));
        let mut done = 0;
        for place in places {
            let start = place + change.start;
            let end = start + change.removed.len();
            result.push_str(self.original_between(done, start));
            let mut ends = self.ends_in(start, end).into_iter();
            let mut last = self.end_around(start, end);
            for (index, line) in change.inserted.split('\n').enumerate() {
                if index > 0 {
                    last = ends.next().unwrap_or(last);
                    result.push_str(last);
                }
                result.push_str(line);
            }
            done = end;
        }
        result.push_str(self.original_between(done, self.text.len()));
        result.into_bytes()
    }

    /// The original bytes of `text[start..end]`.
    fn original_between(&self, start: usize, end: usize) -> &'a str {
        let original =
            |position: usize| position + self.pairs.partition_point(|pair| *pair < position);
        self.original
            .get(original(start)..original(end))
            .unwrap_or_default()
    }

    /// The original line ends in `text[start..end]`.
    fn ends_in(&self, start: usize, end: usize) -> Vec<&'static str> {
        self.text
            .get(start..end)
            .unwrap_or_default()
            .match_indices('\n')
            .map(|(place, _)| self.end_at(start + place))
            .collect()
    }

    /// The line end that new lines get at `text[start..end]`: that of the line it ends in, else of
    /// the line before it.
    fn end_around(&self, start: usize, end: usize) -> &'static str {
        let after = self.text.get(end..).and_then(|rest| rest.find('\n'));
        let before = self.text.get(..start).and_then(|rest| rest.rfind('\n'));
        match (after, before) {
            (Some(after), _) => self.end_at(end + after),
            (None, Some(before)) => self.end_at(before),
            (None, None) => "\n",
        }
    }

    fn end_at(&self, position: usize) -> &'static str {
        match self.pairs.binary_search(&position) {
            Ok(_) => "\r\n",
            Err(_) => "\n",
        }
    }
}

impl<'a> Change<'a> {
    fn between(old: &'a str, new: &'a str) -> Self {
        let start: usize = old
            .chars()
            .zip(new.chars())
            .take_while(|(left, right)| left == right)
            .map(|(left, _)| left.len_utf8())
            .sum();
        let (old, new) = (
            old.get(start..).unwrap_or_default(),
            new.get(start..).unwrap_or_default(),
        );
        let end: usize = old
            .chars()
            .rev()
            .zip(new.chars().rev())
            .take_while(|(left, right)| left == right)
            .map(|(left, _)| left.len_utf8())
            .sum();
        Self {
            start,
            removed: old.get(..old.len() - end).unwrap_or_default(),
            inserted: new.get(..new.len() - end).unwrap_or_default(),
        }
    }
}

impl EditError {
    /// Stable and kebab-case, for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotText(_) => "not-text",
            Self::EmptyOld => "empty-old",
            Self::NoChange | Self::OnlyLineEnds => "no-change",
            Self::NotFound(_) => "no-match",
            Self::Ambiguous { .. } => "ambiguous",
        }
    }
}

impl fmt::Display for EditError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText(reason) => write!(formatter, "cannot edit the file: {reason}"),
            Self::EmptyOld => formatter.write_str(
                "old text is empty: give the text to replace, with a line around the place where text is to be inserted",
            ),
            Self::NoChange => formatter.write_str("no change: old and new text are the same"),
            Self::OnlyLineEnds => formatter.write_str(
                "no change: old and new text differ only in line ends, and an edit keeps those of the file",
            ),
            Self::NotFound(None) => formatter.write_str(
                "old text not found: it must be in the file exactly, white space included",
            ),
            Self::NotFound(Some(hint)) => write!(formatter, "old text not found: {hint}"),
            Self::Ambiguous { lines, count } => {
                let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
                let more = match count - lines.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let many = if *count == COUNTED { " or more" } else { "" };
                write!(
                    formatter,
                    "old text found in {count}{many} places, at lines {}{more}: add text around the one you mean, or set replace_all to change all",
                    listed.join(", "),
                )
            }
        }
    }
}

/// Every place of `part` in `text`, also those that overlap, up to [`COUNTED`].
fn overlapping(text: &str, part: &str) -> Vec<usize> {
    let step = part.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = text.get(from..).and_then(|rest| rest.find(part)) {
        places.push(from + found);
        if places.len() == COUNTED {
            break;
        }
        from += found + step;
    }
    places
}
