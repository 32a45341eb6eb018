//! What goes to stdout.

use std::io::{Error, ErrorKind, Write as _};

use anyhow::Context as _;

use crate::failure::Failure;

/// Prints `text` on stdout, as it is. That nobody reads on is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    told(write(text))
}

/// Text that is printed as events come. Where that fails a run goes on, for its log, and the
/// failure is told at the end.
#[derive(Debug, Default)]
pub(super) struct Output {
    failure: Option<Error>,
}

impl Output {
    pub(super) fn print(&mut self, text: &str) {
        if self.failure.is_none() {
            self.failure = write(text).err();
        }
    }

    /// The failure, if there was one.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        told(self.failure.take().map_or(Ok(()), Err))
    }
}

fn write(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn told(written: Result<(), Error>) -> Result<(), Failure> {
    written
        .context("stdout cannot be written")
        .map_err(Failure::from)
}
