//! One `posix_spawn`: a program in a new session, with the three standard streams and no other.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;

use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::SigSet;
use rustix::process::Pid;

/// What to start. Its folder is that of the calling thread.
pub(super) struct Launch<'a> {
    pub(super) program: &'a CStr,
    /// From the program's own name on.
    pub(super) arguments: &'a [CString],
    pub(super) environment: &'a [CString],
    pub(super) streams: [RawFd; 3],
    /// Descriptors that are not closed by themselves.
    pub(super) closed: &'a [RawFd],
    /// Signals it starts with blocked.
    pub(super) blocked: SigSet,
}

impl Launch<'_> {
    pub(super) fn start(&self) -> io::Result<Pid> {
        let mut actions = PosixSpawnFileActions::init()?;
        for (stream, number) in self.streams.into_iter().zip(0..) {
            actions.add_dup2(stream, number)?;
        }
        for descriptor in self.closed {
            actions.add_close(*descriptor)?;
        }

        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
                | PosixSpawnFlags::from_bits_retain(nix::libc::POSIX_SPAWN_SETSID.into()),
        )?;
        // The Rust runtime ignores SIGPIPE, which programs expect to end them. All signals rather
        // than that one, because the C library looks at each of the others before it leaves it.
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&self.blocked)?;

        let id = nix::spawn::posix_spawn(
            self.program,
            &actions,
            &attributes,
            self.arguments,
            self.environment,
        )?;
        Pid::from_raw(id.as_raw()).ok_or_else(|| io::Error::other("no process was started"))
    }
}
