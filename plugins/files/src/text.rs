//! Bytes of a file as text: what is text, where its lines end, and how much of it is shown.

use std::fmt;

/// Stands at the beginning of some files: kept there, never shown and never part of a match.
pub const BYTE_ORDER_MARK: char = '\u{FEFF}';

/// A file's text, without its byte order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    /// The file begins with a byte order mark.
    pub marked: bool,
    /// What follows the mark.
    pub body: &'a str,
}

/// Why bytes are not text these tools work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotText {
    /// UTF-16, or UTF-32, with or without a byte order mark.
    Wide,
    /// It holds NUL bytes.
    Binary,
    /// Bytes that are not UTF-8, the first of them in this line (from 1).
    Encoding {
        /// Number of the line.
        line: usize,
    },
}

/// Some lines of a file, as they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Each line behind its number and a tab; notes in brackets, without a number, at the end.
    pub text: String,
    /// Number of the first line shown, from 1; 0 if none is.
    pub first: usize,
    /// Number of the last line shown; 0 if none is.
    pub last: usize,
    /// Lines of the whole file.
    pub total: usize,
}

/// How much of a file one page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Lines of a page, unless the call asks for another number.
    pub lines: usize,
    /// Characters of one line.
    pub line_characters: usize,
    /// Bytes of the whole page.
    pub bytes: usize,
}

impl<'a> Text<'a> {
    /// Takes `bytes` as UTF-8 text.
    pub fn of(bytes: &'a [u8]) -> Result<Self, NotText> {
        if is_wide(bytes) {
            return Err(NotText::Wide);
        }
        if bytes.contains(&0) {
            return Err(NotText::Binary);
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            NotText::Encoding {
                line: 1 + count_breaks(valid),
            }
        })?;
        let body = text.strip_prefix(BYTE_ORDER_MARK);
        Ok(Self {
            marked: body.is_some(),
            body: body.unwrap_or(text),
        })
    }

    /// The lines from `offset` (from 1) on, at most `limit` of them, within `caps`.
    pub fn page(&self, offset: usize, limit: Option<usize>, caps: Caps) -> Page {
        let total = self.body.lines().count();
        let limit = limit.unwrap_or(caps.lines);
        let mut page = Page {
            text: String::new(),
            first: 0,
            last: 0,
            total,
        };
        let mut shortened = 0;
        for (index, line) in self
            .body
            .lines()
            .enumerate()
            .skip(offset.saturating_sub(1))
            .take(limit)
        {
            let shown = cut(line, caps.line_characters);
            let row = match line.len() - shown.len() {
                0 => format!("{}\t{shown}\n", index + 1),
                _ => {
                    let rest = line.chars().count() - shown.chars().count();
                    format!("{}\t{shown} [+{rest} characters]\n", index + 1)
                }
            };
            if page.last > 0 && page.text.len() + row.len() > caps.bytes {
                break;
            }
            shortened += usize::from(shown.len() < line.len());
            page.first = if page.first == 0 {
                index + 1
            } else {
                page.first
            };
            page.last = index + 1;
            page.text.push_str(&row);
        }
        for note in self.notes(&page, shortened) {
            page.text.push('[');
            page.text.push_str(&note);
            page.text.push_str("]\n");
        }
        page
    }

    fn notes(&self, page: &Page, shortened: usize) -> Vec<String> {
        let mut notes = Vec::new();
        let total = page.total;
        if total == 0 {
            notes.push("the file is empty".to_owned());
        } else if page.last == 0 {
            notes.push(format!("no such line: the file has {total}"));
        } else if page.first > 1 || page.last < total {
            notes.push(format!("lines {}-{} of {total}", page.first, page.last));
        }
        if shortened > 0 {
            notes.push(format!("{shortened} long lines are cut"));
        }
        if page.last > 0 {
            let crlf = self.body.matches("\r\n").count();
            match self.body.matches('\n').count() {
                all if crlf > 0 && crlf == all => notes.push("line ends: CRLF".to_owned()),
                _ if crlf > 0 => notes.push("line ends: mixed".to_owned()),
                _ => {}
            }
            if page.last == total && !self.body.ends_with('\n') {
                notes.push("no line end after the last line".to_owned());
            }
        }
        notes
    }
}

impl fmt::Display for NotText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wide => formatter.write_str("it is UTF-16 or UTF-32, not UTF-8 text"),
            Self::Binary => formatter.write_str("it is binary, not text"),
            Self::Encoding { line } => write!(
                formatter,
                "it is not valid UTF-8 (first in line {line}): another encoding, such as Latin-1, or binary"
            ),
        }
    }
}

/// The first `characters` characters of `text`.
pub fn cut(text: &str, characters: usize) -> &str {
    match text.char_indices().nth(characters) {
        Some((end, _)) => text.get(..end).unwrap_or(text),
        None => text,
    }
}

/// Number (from 1) of the line that byte `position` of `text` stands in.
pub fn line_at(text: &str, position: usize) -> usize {
    1 + count_breaks(text.as_bytes().get(..position).unwrap_or_default())
}

fn count_breaks(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// A UTF-16 or UTF-32 mark, or NULs in most even or most odd places of the beginning, the way
/// mostly-ASCII text looks in UTF-16.
fn is_wide(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\xFF\xFE")
        || bytes.starts_with(b"\xFE\xFF")
        || bytes.starts_with(b"\0\0\xFE\xFF")
    {
        return true;
    }
    let start = bytes.get(..bytes.len().min(1024)).unwrap_or_default();
    let pairs = start.len() / 2;
    let nuls = |parity: usize| {
        start
            .iter()
            .skip(parity)
            .step_by(2)
            .filter(|byte| **byte == 0)
            .count()
    };
    let (even, odd) = (nuls(0), nuls(1));
    pairs > 1 && even.max(odd) * 10 > pairs * 7 && even.min(odd) * 10 < pairs
}
