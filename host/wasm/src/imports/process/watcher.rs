//! Ending what runs when the host itself is killed.
//!
//! A host that is killed ends nothing any more, and what `posix_spawn` starts cannot be told to end
//! with its parent (`PR_SET_PDEATHSIG` is for forks). So a second process, the watcher, waits for
//! the host to be gone, however that comes, and then reads in the host's list what still runs. It
//! sleeps for as long as the host lives.
//!
//! What holds: the calls that the host did not finish end as if their futures had been dropped,
//! and what has left a call that did end goes on, as always. Only from the start of the very first
//! program to that of the watcher, less than a millisecond, is nobody there; nor is where somebody
//! kills the watcher too.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{PidfdFlags, pidfd_open};

use super::launch::Launch;
use super::ledger::{self, Running};
use super::{mark, tree};

/// How long a program may take to be one, once it is being started.
const STARTING: Duration = Duration::from_millis(100);

/// What to start as the watcher. It has to call [`watch`] with its last argument, the name of this
/// process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watcher {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Its arguments, from its own name on, but for that last one.
    pub arguments: Vec<OsString>,
}

/// Waits until `host` is gone, and ends what it left running. Called in the watcher, as the host
/// has started it.
///
/// # Errors
/// The host cannot be watched, or its list, the standard input, cannot be read.
pub fn watch(host: &str) -> io::Result<()> {
    let (id, started) = mark::parse(host)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "that is no host's name"))?;
    // Nobody should be kept from removing the folder it was started in.
    std::env::set_current_dir("/")?;
    match pidfd_open(id, PidfdFlags::empty()) {
        // Another process has its number by now.
        Ok(_) if tree::started(id).is_some_and(|now| now != started) => {}
        Ok(handle) => {
            let mut gone = [PollFd::new(&handle, PollFlags::IN)];
            while let Err(errno) = poll(&mut gone, None) {
                if errno != Errno::INTR {
                    return Err(errno.into());
                }
            }
        }
        Err(Errno::SRCH) => {}
        Err(errno) => return Err(errno.into()),
    }
    let running = ledger::read(io::stdin())?;
    if running.iter().any(|running| running.leader.is_none()) {
        // It has no mark yet, and is on its way to get one.
        std::thread::sleep(STARTING);
    }
    for Running { number, leader } in running {
        tree::kill(leader, mark::of(host, number).as_bytes());
    }
    Ok(())
}

impl Watcher {
    /// Starts it for this process. It outlives what ends this one: it has a session of its own,
    /// signals are blocked, and it has no mark, for where this host is itself a program of another.
    pub(super) fn start(&self, inherited: &[RawFd]) -> io::Result<()> {
        let list = ledger::file().ok_or_else(|| io::Error::other("there is no list"))?;
        let nowhere = File::options().write(true).open("/dev/null")?;
        let name = OsString::from(mark::host());
        let arguments = self.arguments.iter().chain([&name]);
        Launch {
            program: &CString::new(self.program.as_os_str().as_bytes())?,
            arguments: &arguments
                .map(|argument| CString::new(argument.as_bytes()))
                .collect::<Result<Vec<_>, _>>()?,
            environment: &[],
            streams: [list.as_raw_fd(), nowhere.as_raw_fd(), nowhere.as_raw_fd()],
            closed: inherited,
            blocked: SigSet::all(),
        }
        .start()
        .map(drop)
    }
}
