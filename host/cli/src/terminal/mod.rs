//! What people see and type.

mod input;
mod output;
mod progress;
mod screen;
mod style;

use std::fmt::Display;
use std::io::Write as _;

use anyhow::Context as _;
use raddle_core::agent::Observer;

pub(crate) use input::{Input, Line, TerminalAsker};
pub(crate) use output::print;
pub(crate) use progress::CompileProgress;
pub(crate) use screen::{JsonLines, Screen};
pub(crate) use style::{Style, shortened};

use crate::failure::Failure;

/// Shows events as they happen.
pub(crate) trait FrontEnd: Observer {
    /// Fails if something could not be shown.
    fn end(&self) -> Result<(), Failure>;
}

/// Prints a value as JSON on stdout.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).context("there is no JSON of this")?;
    text.push('\n');
    print(&text)
}

/// Prints a line on stderr.
pub(crate) fn notice(line: impl Display) {
    // With stderr gone there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Prints what went wrong on stderr, one line each.
pub(crate) fn complain(failure: &Failure) {
    // Who interrupted knows.
    if matches!(failure, Failure::Interrupted) {
        return;
    }
    let style = Style::of(&std::io::stderr());
    for line in failure.to_string().lines() {
        notice(format!("{} {line}", style.wrong("error:")));
    }
}
