//! Programs of the host, only those that are granted.
//!
//! A program gets an argument list, never a shell line of ours; a folder inside the granted one; an
//! environment that is built up from nothing; no terminal, so that nothing can ask a person behind
//! our back; and a session of its own, so that it can be ended with all it started.
//!
//! What is left when the program itself has exited: whatever is still in its process group, or
//! still holds its output, is ended after a short while in which late output is taken along. A
//! process that has left both (`setsid server >log 2>&1 &`) goes on. After a timeout, and when the
//! future is dropped, everything it started is ended, wherever it went; and likewise when this
//! process is killed, if there is a [`Watcher`].
//!
//! Where there is a [`Policy`], it changes files only in granted folders, and has no network that is not
//! granted.
//!
//! Linux only: pidfds, `/proc`, memfds.

mod capture;
mod companion;
mod environment;
mod launch;
mod ledger;
mod mark;
mod program;
mod sandbox;
mod spawn;
mod tree;
mod watcher;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use raddle_core::plugins::{DomainError, ErrorKind, Fact};
use tokio::time::{Instant, sleep, timeout};

use self::capture::{Outputs, Written};
pub use self::companion::{Companion, Heard};
use self::environment::Environment;
pub use self::sandbox::{NoSandbox, Policy, support};
use self::spawn::{Order, Starter};
use self::tree::{Status, Which};
pub use self::watcher::{Watcher, watch};
use super::workspace::{Anchors, Folder, Folders, Link, Missing};

/// Bytes of output a command may ask to keep, of each stream.
pub const MAX_OUTPUT: u32 = 16 * 1024 * 1024;

/// How long what is told to terminate may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How long output is waited for after the program has exited, and how long what still holds it
/// then may take to terminate.
const DRAIN: Duration = Duration::from_millis(250);

/// How long what is on its way out of the group, and away from the output, may take beyond that: a
/// program that was started last may not even have begun to run, on a machine that is busy.
const LEAVING: Duration = Duration::from_millis(750);

/// How often it is looked whether it has left.
const GLANCE: Duration = Duration::from_millis(20);

/// What a plugin may run: its `grants.process`, and what the host adds.
#[derive(Debug, Clone, Default)]
pub struct Permissions {
    /// Names of programs, found on the host's `PATH`, or absolute paths. A command names one of
    /// them, in the same words.
    pub programs: Vec<String>,
    /// Where programs run: an absolute path.
    pub directory: PathBuf,
    /// Variables that are passed on from the host's environment, and that a command may set,
    /// beyond the harmless ones.
    pub environment: Vec<String>,
    /// Variables that are never passed on, granted or not: those that hold provider keys.
    pub withheld: Vec<String>,
    /// The host's environment.
    pub host_environment: BTreeMap<String, OsString>,
    /// What ends programs when this process is killed. One is started, with the first program.
    pub watcher: Option<Watcher>,
    /// What they are held to; nothing without it.
    pub policy: Option<Policy>,
}

/// Runs programs for one plugin in one session.
#[derive(Debug)]
pub struct Processes {
    programs: Vec<String>,
    folders: Folders,
    environment: Environment,
    starter: Starter,
}

/// A program to run.
#[derive(Debug, Clone, Default)]
pub struct Command {
    /// Which, as the grant names it.
    pub program: String,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<String>,
    /// Inside the granted folder; `None` is the folder itself.
    pub cwd: Option<String>,
    /// Set on top of the host's: names that are granted or harmless (`CI`, `COLUMNS`, `LANG`,
    /// `LC_ALL`, `LINES`, `NO_COLOR`, `TERM`, `TZ`).
    pub environment: Vec<Fact>,
    /// What it reads on standard input; then the end.
    pub input: Vec<u8>,
    /// When to end it. `None`: when the future is dropped.
    pub timeout: Option<Duration>,
    /// Bytes kept of each stream, at most [`MAX_OUTPUT`]. Of more, the first half (rounded up) and
    /// the last half are kept, so the gap lies after byte `max_output.div_ceil(2)`.
    pub max_output: u32,
    /// Both streams in [`Completed::output`], in the order written.
    pub merge: bool,
}

/// How a program ended. Exactly one of `code` and `signal` is there; neither after a timeout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Completed {
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// Standard output, cut as [`Command::max_output`] says.
    pub output: Vec<u8>,
    /// Standard error, cut likewise; empty if merged.
    pub errors: Vec<u8>,
    /// Bytes left out of both streams.
    pub omitted: u64,
}

/// Takes output as it comes, as text: invalid UTF-8 replaced, never cut inside a character.
pub type Live<'a> = &'a mut (dyn FnMut(&str) + Send);

impl Processes {
    /// Opens the granted directory, unless `anchors` has it already.
    ///
    /// # Errors
    /// `unavailable` when the directory cannot be opened, or the policy cannot be held: code
    /// `sandbox`.
    pub fn open(anchors: &Anchors, permissions: &Permissions) -> Result<Self, DomainError> {
        let folder = Folder {
            path: permissions.directory.clone(),
            writable: false,
        };
        Ok(Self {
            programs: permissions.programs.clone(),
            folders: Folders::open(anchors, &permissions.directory, &[folder])?,
            environment: Environment::new(permissions),
            starter: Starter::open(permissions.policy.clone(), permissions.watcher.clone())?,
        })
    }

    /// Runs a program to its end. `live` is also given its output, up to 1 MiB.
    ///
    /// Dropping the future ends the program with everything it started.
    ///
    /// # Errors
    /// `denied`: `program` or `variable` when it is not granted, `outside` when `cwd` leaves the
    /// granted folder. `not-found`: `program` when there is none on the path. `limit`:
    /// `max-output`, `arguments`. A program that ran is no error, however it ended.
    pub async fn run(
        &self,
        command: &Command,
        live: Option<Live<'_>>,
    ) -> Result<Completed, DomainError> {
        let (order, mut outputs) = self.prepare(command, live)?;
        let mut tree = self
            .starter
            .start(order)
            .await
            .map_err(|error| spawn::failure(&command.program, &error))?;
        let limit = command.timeout.unwrap_or(Duration::MAX);
        let exited = outputs.during(timeout(limit, tree.exited())).await;
        let status = match exited {
            Ok(exited) => {
                exited.map_err(|error| spawn::failure(&command.program, &error))?;
                let mut closed = outputs.drain(DRAIN).await;
                let status = tree.reap().ok_or_else(|| {
                    let lost = std::io::Error::other("how it ended was not to be learned");
                    spawn::failure(&command.program, &lost)
                })?;
                let patience = Instant::now() + LEAVING;
                while !(closed && tree.group_is_empty()) && Instant::now() < patience {
                    outputs.during(sleep(GLANCE)).await;
                    closed = outputs.drain(Duration::ZERO).await;
                }
                if !closed || !tree.group_is_empty() {
                    let attached = Which::Attached(outputs.pipes());
                    outputs.during(tree.end(attached, DRAIN)).await;
                    outputs.drain(DRAIN).await;
                }
                Some(status)
            }
            Err(_) => {
                outputs.during(tree.end(Which::All, GRACE)).await;
                outputs.drain(DRAIN).await;
                tree.reap();
                None
            }
        };
        tree.finish();
        Ok(outputs.complete(status))
    }

    /// Starts a program to talk with. Of `command`, input, timeout and what is said of the output
    /// count for nothing.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn open_companion(&self, command: &Command) -> Result<Companion, DomainError> {
        let (ends, input, written) = companion::pipes().map_err(|error| no_streams(&error))?;
        let order = self.order(command, input, written)?;
        let tree = self.starter.start(order).await;
        let tree = tree.map_err(|error| spawn::failure(&command.program, &error))?;
        Ok(Companion::new(tree, ends))
    }

    fn prepare<'a>(
        &self,
        command: &Command,
        live: Option<Live<'a>>,
    ) -> Result<(Order, Outputs<'a>), DomainError> {
        let input = program::input(&command.input).map_err(|error| no_streams(&error))?;
        let outputs = Outputs::open(command.max_output, command.merge, live);
        let (outputs, written) = outputs.map_err(|error| no_streams(&error))?;
        Ok((self.order(command, input, written)?, outputs))
    }

    /// What to start, if it may be started.
    fn order(
        &self,
        command: &Command,
        input: OwnedFd,
        written: Written,
    ) -> Result<Order, DomainError> {
        if !self.programs.contains(&command.program) {
            return Err(DomainError::new(
                ErrorKind::Denied,
                "program",
                format!(
                    "program {:?} is not in grants.process.programs",
                    command.program
                ),
            ));
        }
        if command.max_output > MAX_OUTPUT {
            return Err(DomainError::new(
                ErrorKind::Limit,
                "max-output",
                format!("max-output is {}, over {MAX_OUTPUT}", command.max_output),
            ));
        }
        let cwd = command.cwd.as_deref().unwrap_or(".");
        let folder = self
            .folders
            .walk(cwd, Link::Follow, Missing::Refuse)
            .and_then(|place| place.folder().cloned())
            .map_err(|failure| failure.at(cwd))?;
        let environment = self.environment.with(&command.environment)?;
        let path = program::find(&command.program, environment.get("PATH"))?;
        Order::new(&path, command, &environment, folder, input, written)
    }
}

fn no_streams(error: &std::io::Error) -> DomainError {
    DomainError::new(ErrorKind::Unavailable, "streams", error.to_string())
}

impl Outputs<'_> {
    fn complete(self, status: Option<Status>) -> Completed {
        let (output, errors, omitted) = self.finish();
        Completed {
            code: status.and_then(|status| status.code),
            signal: status.and_then(|status| status.signal),
            timed_out: status.is_none(),
            output,
            errors,
            omitted,
        }
    }
}
