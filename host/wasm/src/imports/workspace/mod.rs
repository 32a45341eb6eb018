//! The files of a session, only in granted folders.
//!
//! A path is walked one name at a time, each relative to the handle of the folder before it and
//! never through a link the system would follow by itself: links are read and walked here. So
//! whatever is swapped for whatever while a path is walked, the end of the walk lies in a granted
//! folder. A link that leads to a granted folder works, any other is refused.
//!
//! Everything runs on the blocking pool; dropping a future stops its work at the next file.

mod anchors;
mod errors;
mod ignored;
mod open;
mod place;
mod search;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use raddle_core::digest::Digest;
use raddle_core::plugins::{DomainError, ErrorKind};

pub use self::anchors::Anchors;
use self::errors::Failure;
use self::place::Place;
pub(super) use self::place::{Folders, Link, Missing};

/// A granted folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its absolute path.
    pub path: PathBuf,
    /// Whether files in it may be replaced and removed.
    pub writable: bool,
}

/// The granted folders of one session. Cheap to clone.
///
/// The folders are opened once and stay those they were, whatever later stands at their paths.
#[derive(Debug, Clone)]
pub struct Workspace {
    folders: Arc<Folders>,
}

/// What [`Workspace::list_items`] and [`Workspace::find`] give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// A path that leads to it again.
    pub path: String,
    /// What it is, links followed as far as the granted folders go.
    pub node: Node,
    /// In bytes; saturates.
    pub size: u32,
    /// RFC 3339, UTC.
    pub modified: Option<String>,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Node {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything else: a link that leads nowhere granted, a pipe, a socket, a device.
    Other,
}

/// Part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The bytes asked for.
    pub bytes: Vec<u8>,
    /// Of the whole file.
    pub digest: Digest,
    /// Whether the file goes on after these bytes.
    pub more: bool,
}

/// A line that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// A path that leads to the file.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// The line without its end, invalid UTF-8 replaced. Of a long line, what stands around the
    /// match, with `…` where it was cut.
    pub text: String,
}

impl Workspace {
    /// Opens the granted `folders`, unless `anchors` has them already. Relative paths start at
    /// `base`, the session's directory.
    ///
    /// # Errors
    /// `unavailable` when a folder cannot be opened.
    pub fn open(anchors: &Anchors, base: &Path, folders: &[Folder]) -> Result<Self, DomainError> {
        Ok(Self {
            folders: Arc::new(Folders::open(anchors, base, folders)?),
        })
    }

    /// Reads up to `length` bytes from `offset`. Only regular files are read.
    pub async fn read(
        &self,
        path: &str,
        offset: u32,
        length: u32,
    ) -> Result<Contents, DomainError> {
        let path = path.to_owned();
        self.run(move |folders, stop| open::read(folders, &path, offset, length, stop))
            .await
    }

    /// The direct children of a folder, sorted by name. Nothing is ignored.
    pub async fn list_items(&self, path: &str) -> Result<Vec<Item>, DomainError> {
        let path = path.to_owned();
        self.run(move |folders, stop| walk::list(folders, &path, stop))
            .await
    }

    /// The files that `glob` matches, ignore files respected, in the order of their paths (name
    /// by name). At most `limit` and at most 10,000.
    ///
    /// A glob without a slash matches names at any depth below the session's directory; one with
    /// a slash matches whole paths. The names before its first wildcard choose the folder that is
    /// walked, so `/granted/docs/**/*.md` works too, and an ignored folder can be asked for.
    /// `*` and `?` do not match slashes.
    pub async fn find(&self, glob: &str, limit: u32) -> Result<Vec<Item>, DomainError> {
        let glob = glob.to_owned();
        self.run(move |folders, stop| search::find(folders, &glob, limit, stop))
            .await
    }

    /// The lines that `pattern` matches in the files that `glob` matches (all without one), in the
    /// order of paths and lines. At most `limit` and at most 10,000. Lines are matched one by
    /// one; binary files and files over 32 MiB are left out.
    pub async fn search(
        &self,
        pattern: &str,
        glob: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Match>, DomainError> {
        let (pattern, glob) = (pattern.to_owned(), glob.map(str::to_owned));
        self.run(move |folders, stop| {
            search::search(folders, &pattern, glob.as_deref(), limit, stop)
        })
        .await
    }

    /// Puts `bytes` in the place of a file in one move: whoever reads it sees the old or the new
    /// bytes, also when this process is killed meanwhile. Mode and, where permitted, owner stay.
    /// Through a link, the file it leads to is replaced; another name of the same file (a hard
    /// link) keeps the old bytes. Not forced to the disk: a power cut may lose the last moments.
    ///
    /// `base` is the digest of the bytes this replaces; without it the file must be new, and
    /// missing folders are made, and none is left by a write that is refused or fails. Returns the
    /// new digest.
    ///
    /// # Errors
    /// `conflict`: code `stale` when the file is not what `base` says, `exists` when it should be
    /// new. `denied`: `read-only` in a folder that is granted for reading or on a file without
    /// write permission.
    pub async fn replace(
        &self,
        path: &str,
        bytes: Vec<u8>,
        base: Option<&str>,
    ) -> Result<Digest, DomainError> {
        let (path, base) = (path.to_owned(), base.map(digest).transpose()?);
        self.run(move |folders, _| write::replace(folders, &path, &bytes, base))
            .await
    }

    /// Removes a file whose digest is `base`. Of a link, the link itself.
    pub async fn remove(&self, path: &str, base: &str) -> Result<(), DomainError> {
        let (path, base) = (path.to_owned(), digest(base)?);
        self.run(move |folders, _| write::remove(folders, &path, base))
            .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Folders, &Stop) -> Result<T, DomainError> + Send + 'static,
    ) -> Result<T, DomainError> {
        let folders = Arc::clone(&self.folders);
        let stop = Stop::default();
        let _stopped_on_drop = StopOnDrop(stop.clone());
        match tokio::task::spawn_blocking(move || work(&folders, &stop)).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(stopped()),
        }
    }
}

/// Tells work on the blocking pool that nobody waits for it any more.
#[derive(Debug, Clone, Default)]
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn check(&self) -> Result<(), DomainError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        Ok(())
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

fn stopped() -> DomainError {
    DomainError::new(ErrorKind::Cancelled, "cancelled", "cancelled")
}

fn digest(text: &str) -> Result<Digest, DomainError> {
    text.parse()
        .map_err(|error| DomainError::new(ErrorKind::Invalid, "digest", format!("base: {error}")))
}
