//! Finding files by glob and lines by regular expression.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;

use globset::{GlobBuilder, GlobMatcher};
use raddle_core::plugins::{DomainError, ErrorKind};
use regex::bytes::{Regex, RegexBuilder};

use super::open::{item, open_file};
use super::place::{Link, Missing};
use super::walk::{Found, look, shown, walk};
use super::{Folders, Item, Match, Node, Place, Stop};

/// Results of one call.
const MAX_RESULTS: usize = 10_000;

/// A larger file is no text to search.
const MAX_FILE: u64 = 32 * 1024 * 1024;

/// A NUL byte in so many first bytes makes a file binary, as in git.
const BINARY_WINDOW: usize = 8000;

/// Bytes shown of a line.
const MAX_TEXT: usize = 512;

/// Bytes shown of a long line before its match.
const BEFORE_MATCH: usize = 128;

pub(super) fn find(
    folders: &Folders,
    glob: &str,
    limit: u32,
    stop: &Stop,
) -> Result<Vec<Item>, DomainError> {
    let files = Files::parse(glob)?;
    let mut results = Results::new(limit);
    let place = files.start(folders)?;
    walk(&place, stop, &mut |found| {
        if results.full() {
            return Ok(ControlFlow::Break(()));
        }
        if files.matches(found) {
            let path = shown(&files.folder, found.path);
            let item = look(folders, found.folder, found.name, &path).map(|stat| item(path, &stat));
            results
                .items
                .extend(item.filter(|item| item.node != Node::Folder));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(results.items)
}

pub(super) fn search(
    folders: &Folders,
    pattern: &str,
    glob: Option<&str>,
    limit: u32,
    stop: &Stop,
) -> Result<Vec<Match>, DomainError> {
    let pattern = compile(pattern)?;
    let files = Files::parse(glob.unwrap_or("**"))?;
    let mut results = Results::new(limit);
    let mut bytes = Vec::new();
    let place = files.start(folders)?;
    walk(&place, stop, &mut |found| {
        if results.full() {
            return Ok(ControlFlow::Break(()));
        }
        if files.matches(found) && load(found, &mut bytes) && pattern.is_match(&bytes) {
            let path = shown(&files.folder, found.path);
            for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                if let Some(at) = pattern.find(line) {
                    results.items.push(Match {
                        path: path.clone(),
                        line: number,
                        text: excerpt(line, at.start()),
                    });
                    if results.full() {
                        break;
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(results.items)
}

/// Which files a glob asks for: the folder its first names lead to, and a pattern below it.
struct Files {
    folder: PathBuf,
    below: GlobMatcher,
}

impl Files {
    fn parse(glob: &str) -> Result<Self, DomainError> {
        let invalid = |reason: String| DomainError::new(ErrorKind::Invalid, "glob", reason);
        if glob.is_empty() {
            return Err(invalid("the glob is empty".to_owned()));
        }
        let (folder, below) = split(glob);
        let pattern = match (glob.contains('/'), below) {
            (false, name) => format!("**/{name}"),
            (true, "") => "**".to_owned(),
            (true, below) => below.to_owned(),
        };
        let below = GlobBuilder::new(&pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| invalid(error.to_string()))?
            .compile_matcher();
        Ok(Self {
            folder: PathBuf::from(if folder.is_empty() { "." } else { folder }),
            below,
        })
    }

    fn start(&self, folders: &Folders) -> Result<Place, DomainError> {
        let path = self.folder.to_string_lossy();
        let place = folders
            .walk(&path, Link::Follow, Missing::Refuse)
            .map_err(|failure| failure.at(&path))?;
        place.folder().map_err(|failure| failure.at(&path))?;
        Ok(place)
    }

    fn matches(&self, found: &Found<'_>) -> bool {
        self.below.is_match(found.path)
    }
}

/// Splits a glob before its first name with a wildcard, or else before its last name.
fn split(glob: &str) -> (&str, &str) {
    let wildcard = glob
        .find(['*', '?', '[', ']', '{', '}', '\\'])
        .unwrap_or(glob.len());
    match glob[..wildcard].rfind('/') {
        Some(0) => ("/", &glob[1..]),
        Some(slash) => (&glob[..slash], &glob[slash + 1..]),
        None => ("", glob),
    }
}

struct Results<T> {
    items: Vec<T>,
    limit: usize,
}

impl<T> Results<T> {
    fn new(limit: u32) -> Self {
        Self {
            items: Vec::new(),
            limit: usize::try_from(limit)
                .unwrap_or(MAX_RESULTS)
                .min(MAX_RESULTS),
        }
    }

    fn full(&self) -> bool {
        self.items.len() >= self.limit
    }
}

fn compile(pattern: &str) -> Result<Regex, DomainError> {
    // Whole files are tried first, lines only where that matches.
    RegexBuilder::new(pattern)
        .multi_line(true)
        .crlf(true)
        .build()
        .map_err(|error| DomainError::new(ErrorKind::Invalid, "pattern", error.to_string()))
}

/// Reads a text file into `bytes`. What cannot be read, or is no text, has no lines to find.
fn load(found: &Found<'_>, bytes: &mut Vec<u8>) -> bool {
    bytes.clear();
    let Ok(file) = open_file(found.folder, found.name) else {
        return false;
    };
    let read = file.take(MAX_FILE + 1).read_to_end(bytes);
    let binary = bytes[..bytes.len().min(BINARY_WINDOW)].contains(&0);
    read.is_ok() && bytes.len() as u64 <= MAX_FILE && !binary
}

/// The line as text; of a long one, what stands around the match at byte `at`.
fn excerpt(line: &[u8], at: usize) -> String {
    if line.len() <= MAX_TEXT {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = border(
        line,
        at.saturating_sub(BEFORE_MATCH).min(line.len() - MAX_TEXT),
    );
    let end = border(line, start + MAX_TEXT);
    let text = String::from_utf8_lossy(&line[start..end]);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    format!("{before}{text}{after}")
}

/// The last border between characters at or before `at`.
fn border(line: &[u8], at: usize) -> usize {
    let continues = |position: &usize| {
        line.get(*position)
            .is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    };
    // A character has at most four bytes; more of these bytes in a row are no character.
    (at.saturating_sub(3)..=at.min(line.len()))
        .rev()
        .find(|position| !continues(position))
        .unwrap_or(at.min(line.len()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{border, excerpt, split};

    #[test]
    fn a_glob_splits_before_its_first_wildcard() {
        assert_eq!(split("*.rs"), ("", "*.rs"));
        assert_eq!(split("Cargo.toml"), ("", "Cargo.toml"));
        assert_eq!(split("src/main.rs"), ("src", "main.rs"));
        assert_eq!(split("src/a/**/*.rs"), ("src/a", "**/*.rs"));
        assert_eq!(split("src/"), ("src", ""));
        assert_eq!(split("src/a{b,c/d}"), ("src", "a{b,c/d}"));
        assert_eq!(split("/*.rs"), ("/", "*.rs"));
        assert_eq!(split("/a/b/*.rs"), ("/a/b", "*.rs"));
        assert!(Path::new(split("/a/b/*.rs").0).is_absolute());
    }

    #[test]
    fn a_long_line_is_cut_between_characters_wherever_the_match_is() {
        for text in ["語", "é", "🦀", "a"] {
            let line = text.repeat(2000);
            for at in (0..line.len()).step_by(text.len()) {
                let shown = excerpt(line.as_bytes(), at);
                assert!(!shown.contains('\u{fffd}'), "{text} at {at}");
                assert!(shown.len() <= 512 + 3 + 2 * "…".len());
            }
        }
    }

    #[test]
    fn borders_stay_inside_what_is_no_text() {
        let line = [0x80; 10];
        for at in 0..=12 {
            assert!(border(&line, at) <= line.len());
        }
    }
}
