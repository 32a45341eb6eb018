//! Errors of the workspace: one code for each thing that can be wrong.

use raddle_core::plugins::{DomainError, ErrorKind};
use rustix::io::Errno;

/// Ways a path or a file can be refused.
#[derive(Debug, Clone, Copy)]
pub(in crate::imports) enum Failure {
    Empty,
    Nul,
    Outside,
    Links,
    Missing,
    NotFile,
    NotFolder,
    ReadOnly,
    Stale,
    Exists,
    Io(Errno),
}

impl Failure {
    /// The error for `path`, as it was asked for.
    pub(in crate::imports) fn at(self, path: &str) -> DomainError {
        let (kind, code, what) = match self {
            Self::Empty => {
                return DomainError::new(ErrorKind::Invalid, "path", "the path is empty");
            }
            Self::Nul => (ErrorKind::Invalid, "path", "the path contains a NUL byte"),
            Self::Outside => (ErrorKind::Denied, "outside", "outside the granted folders"),
            Self::Links => (ErrorKind::Invalid, "links", "too many links"),
            Self::Missing => (ErrorKind::NotFound, "missing", "no such file or folder"),
            Self::NotFile => (ErrorKind::Invalid, "not-a-file", "not a regular file"),
            Self::NotFolder => (ErrorKind::Invalid, "not-a-folder", "not a folder"),
            Self::ReadOnly => (ErrorKind::Denied, "read-only", "read-only"),
            Self::Stale => (ErrorKind::Conflict, "stale", "changed since it was read"),
            Self::Exists => (ErrorKind::Conflict, "exists", "exists already"),
            Self::Io(errno) => return io(errno, path),
        };
        DomainError::new(kind, code, format!("{path:?}: {what}"))
    }
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Self::Missing,
            Errno::NOTDIR => Self::NotFolder,
            Errno::ISDIR => Self::NotFile,
            Errno::ROFS => Self::ReadOnly,
            other => Self::Io(other),
        }
    }
}

fn io(errno: Errno, path: &str) -> DomainError {
    let (kind, code) = match errno {
        Errno::ACCESS | Errno::PERM => (ErrorKind::Denied, "permission"),
        Errno::NAMETOOLONG => (ErrorKind::Invalid, "path"),
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG => (ErrorKind::Limit, "space"),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM => (ErrorKind::Unavailable, "resources"),
        _ => (ErrorKind::Failed, "io"),
    };
    let reason = std::io::Error::from(errno);
    DomainError::new(kind, code, format!("{path:?}: {reason}"))
}
