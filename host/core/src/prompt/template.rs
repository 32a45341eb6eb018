//! The template grammar: `<<name>>` in the text of a section.
//!
//! Strict: what looks like a reference and is none is a fault, never text that ships by accident.
//!
//! | text | is |
//! |---|---|
//! | `<<model>>` | the value of variable `model`, inserted as it is, never scanned again |
//! | `\<<` | a literal `<<` |
//! | `<<` with no `>>` anywhere after it | prose (`cat <<EOF`, `x << 2`) |
//! | a complete group that is no name (`<< model >>`) | a fault |
//! | `<<` that opens no complete group while a `>>` follows (`<<<model>>>`) | a fault |
//!
//! A complete group is `<<`, then neither `<` nor `>`, then `>>`. A backslash means something only
//! in front of `<<`.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::plugins::Lifetime;

/// A parsed text: scanned once, rendered often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    source: Arc<str>,
    pieces: Vec<Piece>,
    references: Vec<Reference>,
}

/// One `<<name>>` in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// The variable's name.
    pub name: Box<str>,
    /// Byte offset of its `<<` in the source.
    pub at: usize,
}

/// A template with its values filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// What it was made of, in order and without gaps.
    pub pieces: Vec<RenderedPiece>,
}

/// A piece of a rendered text. It starts where the one before it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderedPiece {
    /// Byte offset of its end in the text.
    pub end: usize,
    /// Index of the reference it is the value of; `None` is the section's own text.
    pub reference: Option<usize>,
}

/// A place in a text, for people: from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// Why a text is not a valid template, or has no rendering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateFault {
    /// `<<name>>` where no variable has the name.
    Unknown {
        /// The name.
        name: String,
        /// The variable that was probably meant.
        near: Option<String>,
    },
    /// `<<name>>` where the variable has no value for this prompt.
    Valueless {
        /// The name.
        name: String,
        /// The plugin that owns the variable.
        owner: String,
    },
    /// A complete `<<…>>` group that is no well-formed name.
    Malformed {
        /// The group, brackets included.
        group: String,
    },
    /// A `<<` that opens no complete group while a `>>` still follows.
    Unbalanced,
    /// `<<name>>` where the variable lives shorter than the section promises to.
    ShorterLived {
        /// The name.
        name: String,
        /// The plugin that owns the variable.
        owner: String,
        /// How long the variable's value stays.
        lifetime: Lifetime,
        /// How long the section's text stays.
        promised: Lifetime,
        /// Whether the section declares its lifetime (a tool's guidance and a persona do not:
        /// they live for the session).
        declared: bool,
    },
}

/// A fault with its place in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFault {
    /// Where its `<<` stands.
    pub position: Position,
    /// What is wrong.
    pub fault: TemplateFault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Range<usize>),
    Reference(usize),
}

impl Template {
    /// Scans `source`. All faults of form are found, in order; whether the names exist is for
    /// whoever knows the variables.
    pub fn parse(source: impl Into<Arc<str>>) -> Result<Self, Vec<PlacedFault>> {
        let (template, faults) = Self::scan(source);
        if faults.is_empty() {
            Ok(template)
        } else {
            Err(faults)
        }
    }

    /// Scans `source`; what is no valid reference is a fault and left in the text.
    pub(crate) fn scan(source: impl Into<Arc<str>>) -> (Self, Vec<PlacedFault>) {
        let source = source.into();
        let (pieces, references, faults) = scan(&source);
        let template = Self {
            source,
            pieces,
            references,
        };
        (template, faults)
    }

    /// Takes `source` as it is: nothing in it is a reference or an escape.
    pub fn verbatim(source: impl Into<Arc<str>>) -> Self {
        let source = source.into();
        Self {
            pieces: vec![Piece::Text(0..source.len())],
            references: Vec::new(),
            source,
        }
    }

    /// The text it was parsed from.
    pub fn source(&self) -> &Arc<str> {
        &self.source
    }

    /// Its references, in order.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The pieces that are the author's own text, each with its byte offset in the source.
    pub fn literals(&self) -> impl Iterator<Item = (usize, &str)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(range) => Some((range.start, &self.source[range.clone()])),
            Piece::Reference(_) => None,
        })
    }

    /// Fills in values, given by index of the reference. The error is the index of the first
    /// reference without one.
    pub fn render<'a>(
        &self,
        mut value: impl FnMut(usize) -> Option<&'a str>,
    ) -> Result<Rendered, usize> {
        let mut rendered = Rendered {
            text: String::with_capacity(self.source.len() + 32 * self.references.len()),
            pieces: Vec::with_capacity(self.pieces.len()),
        };
        for piece in &self.pieces {
            match piece {
                Piece::Text(range) => rendered.push(&self.source[range.clone()], None),
                Piece::Reference(index) => {
                    rendered.push(value(*index).ok_or(*index)?, Some(*index));
                }
            }
        }
        Ok(rendered)
    }
}

impl Rendered {
    fn push(&mut self, text: &str, reference: Option<usize>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.pieces.last_mut() {
            Some(last) if last.reference.is_none() && reference.is_none() => last.end = end,
            _ => self.pieces.push(RenderedPiece { end, reference }),
        }
    }
}

/// `text` written so that a template renders it back as it is.
pub fn escape(text: &str) -> String {
    text.replace("<<", r"\<<")
}

/// Whether `name` is one that a template can refer to: `[a-z][a-z0-9_]*`.
pub fn is_variable_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
}

impl Position {
    /// The position of a byte offset, which must lie on a character's start or at the end.
    pub fn of(text: &str, at: usize) -> Self {
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

fn scan(source: &str) -> (Vec<Piece>, Vec<Reference>, Vec<PlacedFault>) {
    let mut pieces = Vec::new();
    let mut references: Vec<Reference> = Vec::new();
    let mut faults = Vec::new();
    let mut fault_at = |at: usize, fault: TemplateFault| {
        faults.push(PlacedFault {
            position: Position::of(source, at),
            fault,
        });
    };
    let last_close = source.rfind(">>").unwrap_or(0);
    let mut text_start = 0;
    let mut next = 0;
    while let Some(found) = source[next..].find("<<") {
        let open = next + found;
        let inside = open + 2;
        next = inside;
        if source[text_start..open].ends_with('\\') {
            push_text(&mut pieces, text_start..open - 1);
            text_start = open;
            continue;
        }
        if last_close < inside {
            continue;
        }
        let content = &source[inside..];
        let content = &content[..content.find(['<', '>']).unwrap_or(content.len())];
        let end = inside + content.len();
        if !source[end..].starts_with(">>") {
            fault_at(open, TemplateFault::Unbalanced);
            continue;
        }
        next = end + 2;
        if !is_variable_name(content) {
            let group = source[open..next].to_owned();
            fault_at(open, TemplateFault::Malformed { group });
            continue;
        }
        push_text(&mut pieces, text_start..open);
        pieces.push(Piece::Reference(references.len()));
        references.push(Reference {
            name: content.into(),
            at: open,
        });
        text_start = next;
    }
    push_text(&mut pieces, text_start..source.len());
    (pieces, references, faults)
}

fn push_text(pieces: &mut Vec<Piece>, range: Range<usize>) {
    if !range.is_empty() {
        pieces.push(Piece::Text(range));
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for TemplateFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name, near } => {
                write!(formatter, "`<<{name}>>` names no variable")?;
                if let Some(near) = near {
                    write!(formatter, "; did you mean `<<{near}>>`?")?;
                }
            }
            Self::Valueless { name, owner } => write!(
                formatter,
                "`<<{name}>>` has no value for this prompt: plugin `{owner}` owns it and gave none"
            )?,
            Self::Malformed { group } => write!(
                formatter,
                "`{}` is no reference: between the brackets stands a name of the form \
                 [a-z][a-z0-9_]*, without spaces",
                Excerpt(group)
            )?,
            Self::Unbalanced => formatter.write_str(
                "`<<` opens no complete `<<name>>`, and a `>>` follows later in the text",
            )?,
            Self::ShorterLived {
                name,
                owner,
                lifetime,
                promised,
                declared,
            } => {
                write!(
                    formatter,
                    "`<<{name}>>` of plugin `{owner}` lives for a {lifetime}, the section for a \
                     {promised}: "
                )?;
                let tail = if *promised <= Lifetime::Session && *lifetime >= Lifetime::Turn {
                    ", which moves it to the tail,"
                } else {
                    ""
                };
                if *declared {
                    write!(formatter, "declare the section `{lifetime}`{tail}")?;
                } else {
                    write!(
                        formatter,
                        "say it in a section of its own that is declared `{lifetime}`{tail}"
                    )?;
                }
                formatter.write_str(" or use another variable")?;
            }
        }
        Ok(())
    }
}

/// The known name that `name` was probably meant to be.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = 1 + name.chars().count() / 4;
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Foreign text in a one-line message: short, and without line breaks.
struct Excerpt<'a>(&'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 40;
        for (index, character) in self.0.chars().enumerate() {
            if index == LONGEST {
                return formatter.write_str("…");
            }
            if character.is_control() {
                write!(formatter, "{}", character.escape_debug())?;
            } else {
                write!(formatter, "{character}")?;
            }
        }
        Ok(())
    }
}
