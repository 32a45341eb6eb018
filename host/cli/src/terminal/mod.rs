//! What people see and type.

mod input;
mod progress;
mod screen;
mod style;

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use anyhow::Context as _;

pub(crate) use input::{Input, Line, TerminalAsker};
pub(crate) use progress::CompileProgress;
pub(crate) use screen::{JsonLines, Screen};
pub(crate) use style::{Style, shortened};

use crate::failure::Failure;

/// Prints `text` on stdout, as it is. That nobody reads on is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error)
            .context("stdout cannot be written")
            .map_err(Failure::from),
        _ => Ok(()),
    }
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
