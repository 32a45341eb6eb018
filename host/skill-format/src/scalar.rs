//! Texts in the ways YAML writes them.

use crate::finding::Finding;

/// A text of lines, behind `|` (as they are) or `>` (folded).
pub(crate) fn block(header: &str, lines: &[&str], number: usize) -> Result<String, Finding> {
    let folded = header.starts_with('>');
    let indicator = header[1..].split('#').next().unwrap_or_default().trim();
    if !indicator
        .chars()
        .all(|c| matches!(c, '+' | '-') || c.is_ascii_digit())
    {
        let message = format!("`{header}` does not begin a block of text");
        return Err(Finding::refused(number, message));
    }
    let blank = |line: &&str| line.trim().is_empty();
    let first = lines.iter().find(|line| !blank(line));
    let indent = first.map_or(0, |line| line.len() - line.trim_start_matches(' ').len());
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        let line = if blank(line) {
            ""
        } else {
            // A line that is indented less ends the text; it would have to be a comment.
            line.get(indent..)
                .filter(|_| {
                    line.starts_with(&" ".repeat(indent)) && !line[indent..].starts_with('\t')
                })
                .ok_or_else(|| {
                    let message = "the line is indented less than the text, or with a tab";
                    Finding::refused(number + 1 + index, message)
                })?
        };
        let joins = folded && !line.is_empty() && !text.is_empty() && !text.ends_with('\n');
        match joins {
            true => text.push(' '),
            false if !folded && index > 0 => text.push('\n'),
            false if folded && line.is_empty() && !text.is_empty() => text.push('\n'),
            false => {}
        }
        text.push_str(line);
    }
    Ok(text.trim_end().to_owned())
}

/// A text in quotes, and nothing behind it but a comment.
pub(crate) fn quoted(text: &str, quote: char, number: usize) -> Result<String, Finding> {
    let (value, rest) = take_quoted(text, quote, number)?;
    match rest.trim() {
        rest if rest.is_empty() || rest.starts_with('#') => Ok(value),
        rest => {
            let message = format!("`{rest}` stands behind the closing quote");
            Err(Finding::refused(number, message))
        }
    }
}

/// A list in brackets, of texts.
pub(crate) fn flow(text: &str, number: usize) -> Result<Vec<String>, Finding> {
    let mut items = Vec::new();
    let mut rest = text[1..].trim_start();
    loop {
        if let Some(behind) = rest.strip_prefix(']') {
            let behind = behind.trim();
            if behind.is_empty() || behind.starts_with('#') {
                return Ok(items);
            }
            return Err(Finding::refused(number, "something stands behind the list"));
        }
        let start = rest.chars().next();
        let value = match start {
            None => {
                return Err(Finding::refused(
                    number,
                    "the list is not closed: `]` is missing",
                ));
            }
            Some(quote @ ('"' | '\'')) => {
                let (value, behind) = take_quoted(rest, quote, number)?;
                rest = behind;
                value
            }
            Some('[' | '{') => {
                let message = "a list or a map inside a list is not read";
                return Err(Finding::refused(number, message));
            }
            Some(_) => {
                let end = rest.find([',', ']']).unwrap_or(rest.len());
                let value = rest[..end].trim().to_owned();
                rest = &rest[end..];
                value
            }
        };
        if !value.is_empty() {
            items.push(value);
        }
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(',') {
            rest = behind.trim_start();
        } else if !rest.is_empty() && !rest.starts_with(']') {
            let message = "the texts of a list stand between commas";
            return Err(Finding::refused(number, message));
        }
    }
}

/// A text of a list.
pub(crate) fn item(text: &str, number: usize) -> Result<String, Finding> {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(text, quote, number),
        Some('[' | '{' | '&' | '*' | '!' | '|' | '>') => {
            Err(Finding::refused(number, "a list holds plain texts only"))
        }
        Some(_) if text.contains(": ") || text.ends_with(':') || text.starts_with("- ") => {
            Err(Finding::refused(number, "a list holds plain texts only"))
        }
        _ => Ok(text
            .find(" #")
            .map_or(text, |at| &text[..at])
            .trim()
            .to_owned()),
    }
}

/// The text that begins with `quote`, and what stands behind its end.
fn take_quoted(text: &str, quote: char, number: usize) -> Result<(String, &str), Finding> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' if quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
                value.push('\'');
            }
            end if end == quote => return Ok((value, &text[at + 1..])),
            '\\' if quote == '"' => value.push(escape(&mut characters, number)?),
            other => value.push(other),
        }
    }
    Err(Finding::refused(number, "the closing quote is missing"))
}

fn escape(
    characters: &mut impl Iterator<Item = (usize, char)>,
    number: usize,
) -> Result<char, Finding> {
    let mut next = || characters.next().map(|(_, character)| character);
    let name = next();
    let digits = match name {
        Some('n') => return Ok('\n'),
        Some('t') => return Ok('\t'),
        Some('r') => return Ok('\r'),
        Some(same @ ('"' | '\\' | '/' | ' ' | '\'')) => return Ok(same),
        Some('x') => 2,
        Some('u') => 4,
        Some('U') => 8,
        _ => 0,
    };
    let code: String = (0..digits).filter_map(|_| next()).collect();
    u32::from_str_radix(&code, 16)
        .ok()
        .filter(|_| code.len() == digits)
        .and_then(char::from_u32)
        .ok_or_else(|| {
            let shown = name.map(String::from).unwrap_or_default();
            Finding::refused(number, format!("`\\{shown}{code}` is no escape"))
        })
}
