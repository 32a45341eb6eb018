//! The front matter of a `SKILL.md`: the flat part of YAML that the public format uses. Every value
//! is a text, a list of texts, or (once) a map of those; nothing is a number or a truth value, so
//! that a skill may be called `no`. What YAML has beyond that is refused by name, and where a field
//! is not ours it is skipped.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::scalar;

/// A file in its two parts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// The lines between the fences; the first is line 2 of the file.
    pub(crate) front: Vec<&'a str>,
    /// What follows the closing fence.
    pub(crate) body: &'a str,
}

/// One field: its key, and the lines of its value, unread.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    pub(crate) key: &'a str,
    /// The line of the key, from 1 for the file's first.
    pub(crate) line: usize,
    /// The first character of the key in that line, from 1.
    column: usize,
    /// What stands behind the colon.
    rest: &'a str,
    /// The lines below it that belong to it, with the number of the first.
    block: &'a [&'a str],
    first: usize,
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<String>),
}

/// A value with what is odd about how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) oddity: Option<Finding>,
}

/// Takes a file apart. `text` has plain line ends and no byte order mark.
pub(crate) fn split(text: &str) -> Result<Parts<'_>, Finding> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if !is_fence(first) {
        let message = "the file has to begin with a line `---`, its fields, and another line `---`";
        return Err(Finding::refused(1, message));
    }
    let mut front = Vec::new();
    let mut at = first.len();
    for line in lines {
        at += line.len();
        if is_fence(line) {
            let body = &text[at..];
            return Ok(Parts { front, body });
        }
        front.push(line.trim_end_matches('\n'));
    }
    let message = "the front matter is not closed: a line `---` is missing";
    Err(Finding::refused(front.len() + 1, message))
}

/// The fields of a map whose lines start at `first`; a key stands at the start of its line.
pub(crate) fn fields<'a>(lines: &'a [&'a str], first: usize) -> Result<Vec<Field<'a>>, Finding> {
    let Some(indent) = lines.iter().find(|line| !is_empty(line)).copied() else {
        return Ok(Vec::new());
    };
    let indent = indentation(indent);
    let mut fields = Vec::new();
    let mut keys = BTreeSet::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let number = first + at;
        if is_empty(line) {
            at += 1;
            continue;
        }
        refuse_tab(line, number)?;
        if indentation(line) != indent {
            let message = "the line is indented otherwise than the one it belongs to";
            return Err(Finding::refused(number, message));
        }
        let (key, rest) = key(&line[indent..], number)?;
        if !keys.insert(key) {
            return Err(Finding::refused(number, format!("`{key}` is there twice")));
        }
        let mut end = at + 1;
        while lines
            .get(end)
            .is_some_and(|line| is_empty(line) || belongs(line, indent))
        {
            end += 1;
        }
        // Comments before the next key are not part of the value.
        let is_loose = |line: &str| is_empty(line) && indentation(line) <= indent;
        while end > at + 1 && is_loose(lines[end - 1]) {
            end -= 1;
        }
        fields.push(Field {
            key,
            line: number,
            column: indent + 1,
            rest,
            block: &lines[at + 1..end],
            first: number + 1,
        });
        at = end;
    }
    Ok(fields)
}

impl<'a> Field<'a> {
    /// Whether lines below it hold fields of its own.
    pub(crate) fn is_map(&self) -> bool {
        let first = self.block.iter().find(|line| !is_empty(line));
        let holds_key = |line: &&str| !is_item(line) && key(line.trim_start(), 0).is_ok();
        matches!(without_comment(self.rest), "" | "{}") && first.is_none_or(holds_key)
    }

    /// The fields below it.
    pub(crate) fn fields(&self) -> Result<Vec<Field<'a>>, Finding> {
        fields(self.block, self.first)
    }

    /// The value, as one that this format knows.
    pub(crate) fn read(&self) -> Result<Read, Finding> {
        let plain = |value| Read {
            value,
            oddity: None,
        };
        let start = self.rest.chars().next();
        match start {
            Some('|' | '>') => {
                scalar::block(self.rest, self.block, self.line).map(|text| plain(Value::Text(text)))
            }
            Some(quote @ ('"' | '\'')) => scalar::quoted(&self.joined(), quote, self.line)
                .map(|text| plain(Value::Text(text))),
            Some('[') => Ok(Read {
                value: Value::List(scalar::flow(&self.joined(), self.line)?),
                oddity: Some(Finding::invalid(
                    self.line,
                    format!(
                        "write the list `{}` as lines that begin with `- `",
                        self.key
                    ),
                )),
            }),
            Some('{') => {
                Err(self.refused("a map in braces is not read: write its fields as lines"))
            }
            Some('&' | '*' | '!') => Err(self.refused("anchors, aliases and tags are not read")),
            Some('%' | '@' | '`') => Err(self.refused("the value has to stand in quotes")),
            _ if without_comment(self.rest).is_empty() && self.block.iter().any(|l| is_item(l)) => {
                Ok(plain(Value::List(self.items()?)))
            }
            _ => self.plain(),
        }
    }

    fn items(&self) -> Result<Vec<String>, Finding> {
        let mut items = Vec::new();
        for (index, line) in self.block.iter().enumerate() {
            let number = self.first + index;
            if is_empty(line) {
                continue;
            }
            refuse_tab(line, number)?;
            let Some(item) = line.trim().strip_prefix('-') else {
                let message = "a list has one text a line, behind `- `";
                return Err(Finding::refused(number, message));
            };
            items.push(scalar::item(item.trim(), number)?);
        }
        Ok(items)
    }

    /// Text without quotes, over one line or several.
    fn plain(&self) -> Result<Read, Finding> {
        for (index, line) in self.block.iter().enumerate() {
            if !is_empty(line) {
                refuse_tab(line, self.first + index)?;
            }
        }
        let lines = std::iter::once(self.rest).chain(self.block.iter().map(|line| line.trim()));
        let words: Vec<&str> = lines
            .map(without_comment)
            .filter(|line| !line.is_empty())
            .collect();
        let text = words.join(" ");
        // YAML would read a map in the middle of the text.
        let is_map = text.contains(": ") || text.ends_with(':');
        let is_mark = text.starts_with("- ") || text.starts_with("? ") || text == "-";
        let oddity = (is_map || is_mark).then(|| {
            let column = self.column + self.key.chars().count() + 2;
            let what = if is_map {
                "its colon begins a map"
            } else {
                "it begins something else"
            };
            let message = format!("quote the {}: without quotes {what}", self.key);
            Finding::invalid(self.line, message).at_column(column)
        });
        Ok(Read {
            value: Value::Text(text),
            oddity,
        })
    }

    /// All lines of the value as one.
    fn joined(&self) -> String {
        let lines = std::iter::once(self.rest).chain(self.block.iter().map(|line| line.trim()));
        lines
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    pub(crate) fn refused(&self, message: &str) -> Finding {
        Finding::refused(self.line, format!("`{}`: {message}", self.key))
    }
}

/// A key and what stands behind its colon.
fn key(line: &str, number: usize) -> Result<(&str, &str), Finding> {
    if line.starts_with("<<") {
        let message = "merged maps (`<<:`) are not read: write the fields out";
        return Err(Finding::refused(number, message));
    }
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inside = line.strip_prefix(quote)?;
        inside.split_once(quote)
    });
    let (key, behind) = quoted.unwrap_or_else(|| {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let length = line.find(|c| !is_part(c)).unwrap_or(line.len());
        line.split_at(length)
    });
    let rest = behind.trim_start_matches(' ').strip_prefix(':');
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    match rest {
        Some(rest) if !key.is_empty() => Ok((key, rest.trim())),
        _ => {
            let message = "expected a field: a name, `: ` and its value";
            Err(Finding::refused(number, message))
        }
    }
}

/// Whether a line is a fence: `---` at its start, and nothing behind it.
fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn is_empty(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn is_item(line: &str) -> bool {
    let line = line.trim();
    line == "-" || line.starts_with("- ")
}

/// Whether a line is part of the value of a key with this indentation. A list may stand right
/// below its key.
fn belongs(line: &str, indent: usize) -> bool {
    let own = indentation(line);
    own > indent || line[own..].starts_with('\t') || own == indent && is_item(line)
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn refuse_tab(line: &str, number: usize) -> Result<(), Finding> {
    if line.trim_start_matches(' ').starts_with('\t') {
        let message = "a tab cannot indent a line: use spaces";
        return Err(Finding::refused(number, message));
    }
    Ok(())
}

/// A plain value without the comment behind it.
fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    value.find(" #").map_or(value, |at| &value[..at]).trim()
}
