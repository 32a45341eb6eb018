//! What is wrong with a skill.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The line of the file, from 1; absent when it is about the whole.
    pub line: Option<usize>,
    /// The character in that line, from 1, where it is about one.
    pub column: Option<usize>,
    /// What, and how to mend it: one line.
    pub message: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The skill could be better.
    Advice,
    /// The skill is loaded, but the public validator of Agent Skills does not accept it.
    Invalid,
    /// The skill is not loaded.
    Refused,
}

impl Finding {
    /// A finding about a place, or about the whole file.
    pub fn new(
        severity: Severity,
        line: impl Into<Option<usize>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            line: line.into(),
            column: None,
            message: message.into(),
        }
    }

    pub(crate) fn advice(line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Advice, line, message)
    }

    pub(crate) fn invalid(line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Invalid, line, message)
    }

    pub(crate) fn refused(line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Self::new(Severity::Refused, line, message)
    }

    /// The same, about one character of its line.
    pub(crate) fn at_column(self, column: usize) -> Self {
        Self {
            column: Some(column),
            ..self
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => match self.column {
                Some(column) => write!(formatter, "line {line}:{column}: {}", self.message),
                None => write!(formatter, "line {line}: {}", self.message),
            },
            None => formatter.write_str(&self.message),
        }
    }
}
