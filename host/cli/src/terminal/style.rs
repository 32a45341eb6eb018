//! Colours, where they are wanted, and text of others made harmless.

use std::fmt::Display;
use std::io::IsTerminal;

use crate::report::is_hidden;

/// How one stream is written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    /// Colours only on a terminal, and not when `NO_COLOR` is set.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colours: stream.is_terminal() && !refused,
        }
    }

    /// What matters.
    pub(crate) fn strong(self, text: impl Display) -> String {
        self.paint("1", text)
    }

    /// What is beside the point.
    pub(crate) fn faint(self, text: impl Display) -> String {
        self.paint("2", text)
    }

    /// What went wrong.
    pub(crate) fn wrong(self, text: impl Display) -> String {
        self.paint("31", text)
    }

    fn paint(self, code: &str, text: impl Display) -> String {
        if self.colours {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

/// `text` without hidden characters except line breaks and tabs: a model, a file or a tool
/// cannot move the cursor, rewrite what stands on the screen, or show it in another order.
pub(crate) fn harmless(text: &str) -> String {
    text.chars()
        .filter(|character| !is_hidden(*character) || matches!(character, '\n' | '\t'))
        .collect()
}

/// `text` on one line of at most `width` characters.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let mut short = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == width {
            short.pop();
            short.push('…');
            break;
        }
        match character {
            '\n' | '\t' => short.push(' '),
            other if is_hidden(other) => {}
            other => short.push(other),
        }
    }
    short
}
