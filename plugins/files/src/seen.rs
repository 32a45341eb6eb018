//! Which version of each file the agent knows: the digest it last read or wrote in this session.
//!
//! A change is made against that version, so that a change by somebody else in between is noticed
//! and never overwritten. Nothing is remembered outside a session.

use raddle_sdk::{Error, ErrorKind};

use crate::host::Host;

/// The version of one file that the agent knows.
pub(crate) struct Seen<'a, H: Host> {
    host: &'a H,
    key: String,
    /// Digest of that version; none if the file was not read in this session.
    pub(crate) digest: Option<String>,
}

impl<'a, H: Host> Seen<'a, H> {
    /// Looks `path` up. Both ways to write a path in `folder` mean the same file.
    pub(crate) fn of(host: &'a H, folder: Option<&str>, path: &str) -> Result<Self, Error> {
        let key = format!("seen:{}", normal(folder, path));
        let digest = match host.get(&key) {
            Err(error) if error.kind == ErrorKind::Unavailable => None,
            other => other?,
        };
        Ok(Self { host, key, digest })
    }

    /// The agent has read version `digest`.
    pub(crate) fn read(&self, digest: &str) -> Result<(), Error> {
        if self.digest.as_deref() == Some(digest) {
            return Ok(());
        }
        within_session(self.host.set(&self.key, digest))
    }

    /// The agent has made version `digest` of the version looked up. If another of its calls has
    /// recorded a version meanwhile, that one is newer and stays.
    pub(crate) fn written(&self, digest: &str) -> Result<(), Error> {
        let expected = self.digest.as_deref();
        within_session(self.host.swap(&self.key, expected, digest).map(|_| ()))
    }
}

fn within_session(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind == ErrorKind::Unavailable => Ok(()),
        other => other,
    }
}

/// `path` relative to `folder` where it is inside, without `.` and empty parts. A name for the
/// plugin's own keys only: which file a path means is the host's to say.
fn normal(folder: Option<&str>, path: &str) -> String {
    let inside = folder
        .and_then(|folder| path.strip_prefix(folder.trim_end_matches('/')))
        .and_then(|rest| rest.strip_prefix('/'));
    let root = if inside.is_none() && path.starts_with('/') {
        "/"
    } else {
        ""
    };
    let parts: Vec<&str> = inside
        .unwrap_or(path)
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    format!("{root}{}", parts.join("/"))
}
