//! A program that is talked with: its input stays open, and what it writes is read as it comes.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use raddle_core::plugins::{DomainError, ErrorKind};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe::Sender;
use tokio::time::timeout;

use super::capture::{Stream, Written};
use super::tree::{Tree, Which};
use super::{Completed, GRACE, LEAVING};

/// Bytes of what it wrote that wait to be read, while it is written to.
const MAX_WAITING: usize = 1024 * 1024;

/// Bytes that are kept of its standard error: the first and the last half of them.
const KEPT_ERRORS: usize = 64 * 1024;

/// A running program. Dropping it kills it, with everything it started.
pub struct Companion {
    tree: Tree,
    /// `None` when it takes nothing more.
    input: Option<Sender>,
    output: Stream,
    /// Read of its output, and not yet asked for.
    waiting: VecDeque<u8>,
    errors: Stream,
}

/// What a program wrote on its standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Not empty.
    Output(Vec<u8>),
    /// Nothing in that time.
    Silence,
    /// It will write nothing more.
    End,
}

/// Our ends of the pipes to a program.
pub(super) struct Ends {
    input: Sender,
    output: Stream,
    errors: Stream,
}

impl Companion {
    pub(super) fn new(tree: Tree, ends: Ends) -> Self {
        Self {
            tree,
            input: Some(ends.input),
            output: ends.output,
            waiting: VecDeque::new(),
            errors: ends.errors,
        }
    }

    /// Writes all of `bytes` on its standard input, and takes in meanwhile what it writes itself: a
    /// program that is not listened to stops listening.
    ///
    /// # Errors
    /// `unavailable`, code `ended`, when it takes nothing more.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), DomainError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let Self { input, output, .. } = self;
            let Some(pipe) = input else {
                let message = "the program takes no more input";
                return Err(DomainError::new(ErrorKind::Unavailable, "ended", message));
            };
            tokio::select! {
                written = pipe.write(rest) => match written {
                    Ok(count) => rest = &rest[count..],
                    Err(_) => *input = None,
                },
                count = output.read(), if self.waiting.len() < MAX_WAITING => {
                    self.waiting.extend(output.bytes(count));
                }
                () = self.errors.keep() => {}
            }
        }
        Ok(())
    }

    /// What it wrote, as soon as there is something: at most `max` bytes.
    pub async fn read(&mut self, max: usize, limit: Duration) -> Heard {
        let more = async {
            while self.waiting.is_empty() && !self.output.is_closed() {
                tokio::select! {
                    count = self.output.read() => self.waiting.extend(self.output.bytes(count)),
                    () = self.errors.keep() => {}
                }
            }
        };
        let in_time = timeout(limit, more).await.is_ok();
        if !self.waiting.is_empty() {
            let count = self.waiting.len().min(max.max(1));
            return Heard::Output(self.waiting.drain(..count).collect());
        }
        match in_time {
            true => Heard::End,
            false => Heard::Silence,
        }
    }

    /// Ends its input, waits a moment for it to end by itself, and ends what is left of it and of what
    /// it started. The output that nobody read is gone.
    pub async fn close(mut self) -> Completed {
        self.input = None;
        let left = timeout(LEAVING, async {
            tokio::select! {
                ended = self.tree.exited() => ended.is_ok(),
                () = take_in(&mut self.output, &mut self.errors) => false,
            }
        });
        let status = match left.await {
            Ok(true) => self.tree.reap(),
            _ => None,
        };
        tokio::select! {
            () = self.tree.end(Which::All, GRACE) => {}
            () = take_in(&mut self.output, &mut self.errors) => {}
        }
        let status = status.or_else(|| self.tree.reap());
        // What it wrote last may still be on its way.
        let rest = async {
            while !self.errors.is_closed() {
                self.errors.keep().await;
            }
        };
        drop(timeout(Duration::ZERO, rest).await);
        self.tree.finish();
        let (errors, omitted) = self.errors.kept();
        Completed {
            code: status.and_then(|status| status.code),
            signal: status.and_then(|status| status.signal),
            timed_out: status.is_none(),
            output: Vec::new(),
            errors,
            omitted,
        }
    }
}

/// Reads what a program still writes; never ends.
async fn take_in(output: &mut Stream, errors: &mut Stream) {
    loop {
        tokio::select! {
            _ = output.read() => {}
            () = errors.keep() => {}
        }
    }
}

/// Opens the pipes to a program: our ends of them, and its own: its input, and what it writes to.
pub(super) fn pipes() -> io::Result<(Ends, OwnedFd, Written)> {
    let (read, write) = io::pipe()?;
    let (output, output_written) = Stream::open(0)?;
    let (errors, errors_written) = Stream::open(KEPT_ERRORS)?;
    let ends = Ends {
        input: Sender::from_owned_fd(write.into())?,
        output,
        errors,
    };
    let written = Written {
        output: output_written,
        errors: Some(errors_written),
    };
    Ok((ends, read.into(), written))
}
