//! Folders that stay those they were when they were first opened.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use raddle_core::plugins::{DomainError, ErrorKind};
use rustix::fs::Mode;

use super::place::FOLDER;

/// Opened folders by their path. Who asks first opens the folder; everybody after gets the same
/// one, whatever stands at the path by then.
#[derive(Debug, Default)]
pub struct Anchors {
    opened: Mutex<BTreeMap<PathBuf, Anchor>>,
}

/// One opened folder.
#[derive(Debug, Clone)]
pub(super) struct Anchor {
    pub(super) handle: Arc<OwnedFd>,
    /// As the deployment wrote it; may go through links.
    pub(super) given: PathBuf,
    /// Where it was when it was opened.
    pub(super) real: PathBuf,
}

impl Anchors {
    pub(super) fn open(&self, path: &Path) -> Result<Anchor, DomainError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(anchor) = opened.get(path) {
            return Ok(anchor.clone());
        }
        let anchor = Anchor::open(path).map_err(|error| {
            DomainError::new(
                ErrorKind::Unavailable,
                "folder",
                format!("granted folder {path:?}: {error}"),
            )
        })?;
        opened.insert(path.to_owned(), anchor.clone());
        Ok(anchor)
    }
}

impl Anchor {
    fn open(path: &Path) -> std::io::Result<Self> {
        let real = path.canonicalize()?;
        Ok(Self {
            handle: Arc::new(rustix::fs::open(&real, FOLDER, Mode::empty())?),
            given: path.to_owned(),
            real,
        })
    }
}
