//! Finding things in prose: whole words, and what a text speaks of as a tool.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// A place where a text speaks of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention<'a> {
    /// The name as written.
    pub(super) name: &'a str,
    /// Byte offset of the name.
    pub(super) at: usize,
}

/// Where `word` stands in `text` as a whole word. A `.` or `-` between letters or digits is part
/// of a word, so that `gpt-5` is not found in `gpt-5.1`, but is at the end of a sentence.
pub(super) fn whole_words(text: &str, word: &str, ignore_case: bool) -> Vec<usize> {
    let (text_folded, word_folded);
    let (haystack, needle) = if ignore_case {
        // ASCII only: the byte offsets stay.
        text_folded = text.to_ascii_lowercase();
        word_folded = word.to_ascii_lowercase();
        (text_folded.as_str(), word_folded.as_str())
    } else {
        (text, word)
    };
    haystack
        .match_indices(needle)
        .map(|(at, _)| at)
        .filter(|at| {
            !continues(text[..*at].chars().rev()) && !continues(text[at + word.len()..].chars())
        })
        .collect()
}

/// Whether a word goes on in the characters that lead away from it.
fn continues(mut away: impl Iterator<Item = char>) -> bool {
    match away.next() {
        Some('.' | '-') => away.next().is_some_and(char::is_alphanumeric),
        Some(next) => next.is_alphanumeric() || next == '_',
        None => false,
    }
}

/// What a text speaks of as a tool: a name in backticks, with or without `(…)`, or `name(` in
/// prose, outside code blocks. Code words of many kinds stand in backticks, so a name counts
///
/// - if the word "tool" stands beside it;
/// - if it is lower case and somebody is told to use or call it ("use `fetch`"), but not in a
///   sentence about shell commands, and not if it is a word of programming languages;
/// - if it has the form `web_search`, unless the word beside it says what else it is (a
///   parameter, a field, …).
///
/// In a list ("the `read`, `write` and `grep` tools") what the words say of one they say of all.
pub(super) fn tool_mentions(text: &str) -> Vec<Mention<'_>> {
    let prose = blanked(text, code_blocks(text));
    let candidates = candidates(&prose);
    let listed = |index: usize| {
        let between = &prose[candidates[index].whole.end..candidates[index + 1].whole.start];
        is_connector(between)
    };
    let mut verdicts: Vec<Option<bool>> = candidates
        .iter()
        .map(|candidate| candidate.said_to_be_tool(&prose))
        .collect();
    for index in 1..candidates.len() {
        if verdicts[index].is_none() && listed(index - 1) {
            verdicts[index] = verdicts[index - 1];
        }
    }
    for index in (1..candidates.len()).rev() {
        if verdicts[index - 1].is_none() && listed(index - 1) {
            verdicts[index - 1] = verdicts[index];
        }
    }
    candidates
        .into_iter()
        .zip(verdicts)
        .map(|(candidate, verdict)| (&text[candidate.name.clone()], candidate, verdict))
        .filter(|(name, _, verdict)| verdict.unwrap_or_else(|| is_snake_case(name)))
        .map(|(name, candidate, _)| Mention {
            name,
            at: candidate.name.start,
        })
        .collect()
}

/// `text` with some ranges made blank; every offset stays.
pub(super) fn blanked(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut blank = String::with_capacity(text.len());
    for range in ranges {
        blank.push_str(&text[blank.len()..range.start]);
        let bytes = text[range].bytes();
        blank.extend(bytes.map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
    }
    blank.push_str(&text[blank.len()..]);
    blank
}

/// A word that could be the name of a tool.
struct Candidate {
    name: Range<usize>,
    /// With its backticks and parentheses.
    whole: Range<usize>,
}

#[expect(clippy::expect_used, reason = "a constant pattern")]
static CANDIDATE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        ` \s* (?<code> [A-Za-z][A-Za-z0-9_.-]* ) (?: \( [^`\n]* \)? )? \s* `
        | ` [^`\n]* `
        | \b (?<call> [A-Za-z][A-Za-z0-9_.-]* ) \(",
    )
    .expect("the pattern is well-formed")
});

fn candidates(prose: &str) -> Vec<Candidate> {
    CANDIDATE
        .captures_iter(prose)
        .filter_map(|captures| {
            let whole = captures.get(0)?.range();
            if let Some(name) = captures.name("code") {
                let name = name.range();
                return Some(Candidate { name, whole });
            }
            let name = captures.name("call")?.range();
            let plural = ["s)", "es)"];
            let is_plural = plural.iter().any(|end| prose[whole.end..].starts_with(end));
            (!is_plural).then_some(Candidate { name, whole })
        })
        .collect()
}

impl Candidate {
    /// What the words around say: that it is a tool, that it is something else, or nothing.
    fn said_to_be_tool(&self, prose: &str) -> Option<bool> {
        let before = word_before(&prose[..self.whole.start]);
        let after = word_after(&prose[self.whole.end..]);
        let beside = |words: &[&str]| {
            let matches =
                |word: &Option<String>| word.as_deref().is_some_and(|word| words.contains(&word));
            matches(&before) || matches(&after)
        };
        if beside(&["tool", "tools"]) {
            return Some(true);
        }
        if beside(OTHER_THINGS) {
            return Some(false);
        }
        let name = &prose[self.name.clone()];
        let is_used = before.as_deref().is_some_and(|word| USES.contains(&word));
        let could_be_tool = name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
        }) && !CODE_WORDS.contains(&name)
            && !sentence_around(prose, self.name.start)
                .split(|character: char| !character.is_alphabetic())
                .any(|word| SHELL_WORDS.contains(&word.to_lowercase().as_str()));
        (is_used && could_be_tool).then_some(true)
    }
}

/// What makes the name behind it something that is used.
const USES: &[&str] = &[
    "use", "uses", "using", "call", "calls", "calling", "invoke", "invokes", "invoking", "try",
];

/// What says of a name beside it that it is no tool.
const OTHER_THINGS: &[&str] = &[
    "argument",
    "arguments",
    "attribute",
    "attributes",
    "branch",
    "class",
    "column",
    "command",
    "commands",
    "constant",
    "crate",
    "directory",
    "environment",
    "field",
    "fields",
    "file",
    "files",
    "flag",
    "flags",
    "folder",
    "function",
    "functions",
    "key",
    "keys",
    "method",
    "methods",
    "module",
    "option",
    "options",
    "package",
    "parameter",
    "parameters",
    "property",
    "section",
    "setting",
    "settings",
    "table",
    "tag",
    "type",
    "types",
    "value",
    "values",
    "variable",
    "variables",
];

/// Words of programming languages that one is told to use.
const CODE_WORDS: &[&str] = &[
    "assert",
    "async",
    "await",
    "const",
    "dyn",
    "enum",
    "false",
    "impl",
    "let",
    "main",
    "match",
    "mut",
    "nil",
    "none",
    "null",
    "panic",
    "print",
    "println",
    "pub",
    "return",
    "self",
    "static",
    "struct",
    "super",
    "this",
    "trait",
    "true",
    "undefined",
    "unsafe",
    "unwrap",
    "var",
    "void",
    "yield",
];

/// What makes a sentence one about shell commands.
const SHELL_WORDS: &[&str] = &["cli", "command", "commands", "shell", "terminal"];

/// Words that stand between a name and what says what it is ("`plan` is the tool for plans").
const SKIPPED: &[&str] = &[
    "a", "an", "are", "called", "is", "its", "named", "our", "that", "the", "this", "your",
];

/// The word before a place, in small letters; nothing at the start of a sentence.
fn word_before(text: &str) -> Option<String> {
    let mut rest = text;
    loop {
        rest = rest.trim_end_matches(is_beside);
        let word_start = rest.trim_end_matches(char::is_alphabetic).len();
        match rest[word_start..].to_lowercase() {
            word if word.is_empty() => return None,
            word if SKIPPED.contains(&word.as_str()) => rest = &rest[..word_start],
            word => return Some(word),
        }
    }
}

/// The word after a place, in small letters; nothing at the end of a sentence.
fn word_after(text: &str) -> Option<String> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_beside);
        let next = rest.trim_start_matches(char::is_alphabetic);
        match rest[..rest.len() - next.len()].to_lowercase() {
            word if word.is_empty() => return None,
            word if SKIPPED.contains(&word.as_str()) => rest = next,
            word => return Some(word),
        }
    }
}

/// White space and emphasis, which do not part two words.
fn is_beside(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '*' | '"')
}

fn sentence_around(text: &str, at: usize) -> &str {
    const ENDS: [&str; 5] = [". ", ".\n", "\n\n", "! ", "? "];
    let start = ENDS
        .iter()
        .filter_map(|end| text[..at].rfind(end).map(|found| found + end.len()))
        .max();
    let end = ENDS.iter().filter_map(|end| text[at..].find(end)).min();
    &text[start.unwrap_or(0)..end.map_or(text.len(), |found| at + found)]
}

/// Whether two names with this between them stand in one list.
fn is_connector(between: &str) -> bool {
    between.len() <= 12
        && between.split([' ', '\n']).all(|word| {
            matches!(
                word.trim_matches(','),
                "" | "and" | "or" | "then" | "&" | "/" | "the"
            )
        })
}

fn is_snake_case(name: &str) -> bool {
    name.contains('_')
        && !name.ends_with('_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

/// The fenced code blocks of a text, from fence to fence.
fn code_blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let fence = ["```", "~~~"]
            .into_iter()
            .find(|fence| trimmed.starts_with(fence));
        match (open, fence) {
            (None, Some(fence)) => open = Some((at, fence)),
            (Some((start, with)), Some(fence)) if with == fence => {
                blocks.push(start..at + line.len());
                open = None;
            }
            _ => {}
        }
        at += line.len();
    }
    blocks.extend(open.map(|(start, _)| start..text.len()));
    blocks
}
