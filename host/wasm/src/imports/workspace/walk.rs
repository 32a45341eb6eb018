//! Listing a folder, and walking everything below it.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use raddle_core::plugins::{DomainError, ErrorKind};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use super::ignored::Rules;
use super::open::item;
use super::place::{Link, Missing, open_folder};
use super::{Failure, Folders, Item, Place, Stop};

/// Entries that one listing or one walk looks at, so that none grows without bound.
const MAX_ENTRIES: usize = 1_000_000;

/// Folders within folders that a walk goes down: each holds a file descriptor.
const MAX_DEPTH: usize = 128;

/// A file that a walk came across.
pub(super) struct Found<'a> {
    /// The folder it is in.
    pub(super) folder: &'a OwnedFd,
    /// Its name in there.
    pub(super) name: &'a OsStr,
    /// Its path below the folder the walk started at.
    pub(super) path: &'a Path,
}

/// The direct children of the folder at `path`.
pub(super) fn list(folders: &Folders, path: &str, stop: &Stop) -> Result<Vec<Item>, DomainError> {
    let failed = |failure: Failure| failure.at(path);
    let place = folders
        .walk(path, Link::Follow, Missing::Refuse)
        .map_err(failed)?;
    let folder = place.folder().map_err(failed)?;
    let mut items = Vec::new();
    for name in names(folder).map_err(failed)? {
        stop.check()?;
        if items.len() == MAX_ENTRIES {
            return Err(too_many(path));
        }
        let shown = shown(Path::new(path), Path::new(&name));
        // Gone since its name was read: as if it had never been there.
        if let Some(stat) = look(folders, folder, &name, &shown) {
            items.push(item(shown, &stat));
        }
    }
    Ok(items)
}

/// Walks the files below `place` in the order of their paths, name by name; never through links.
/// Ignored files and folders are left out, and folders that cannot be read.
pub(super) fn walk(
    place: &Place,
    stop: &Stop,
    visit: &mut dyn FnMut(&Found<'_>) -> Result<ControlFlow<()>, DomainError>,
) -> Result<(), DomainError> {
    let (rules, start) = Rules::along(&place.trail);
    let folder = place.folder().map_err(|failure| failure.at("."))?;
    let mut walk = Walk {
        start,
        rules,
        stop,
        left: MAX_ENTRIES,
        visit,
    };
    walk.below(folder, Path::new(""), MAX_DEPTH).map(|_| ())
}

/// What stands at an entry of `folder`: behind a link, what it leads to in the granted folders,
/// else the link.
pub(super) fn look(folders: &Folders, folder: &OwnedFd, name: &OsStr, path: &str) -> Option<Stat> {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
        return Some(stat);
    }
    let target = folders.walk(path, Link::Follow, Missing::Refuse).ok();
    let followed = target.and_then(|place| match place.file() {
        Ok((folder, name)) => rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok(),
        Err(_) => rustix::fs::fstat(place.folder().ok()?).ok(),
    });
    Some(followed.unwrap_or(stat))
}

/// The path to show for what lies at `below` in the folder asked for as `folder`.
pub(super) fn shown(folder: &Path, below: &Path) -> String {
    let folder = folder.strip_prefix(".").unwrap_or(folder);
    folder.join(below).to_string_lossy().into_owned()
}

struct Walk<'a> {
    /// Path of the first folder in its granted folder.
    start: PathBuf,
    rules: Rules,
    stop: &'a Stop,
    left: usize,
    visit: &'a mut dyn FnMut(&Found<'_>) -> Result<ControlFlow<()>, DomainError>,
}

impl Walk<'_> {
    fn below(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        depth: usize,
    ) -> Result<ControlFlow<()>, DomainError> {
        for name in names(folder).unwrap_or_default() {
            self.stop.check()?;
            self.left = self
                .left
                .checked_sub(1)
                .ok_or_else(|| too_many(&path.to_string_lossy()))?;
            let path = path.join(&name);
            let granted = self.start.join(&path);
            if let Ok(inner) = open_folder(folder, &name) {
                if depth == 0 || self.rules.ignores(&granted, true) {
                    continue;
                }
                let before = self.rules.enter(&inner, &granted);
                let flow = self.below(&inner, &path, depth - 1)?;
                self.rules.leave(before);
                if flow.is_break() {
                    return Ok(flow);
                }
            } else if !self.rules.ignores(&granted, false) {
                let found = Found {
                    folder,
                    name: &name,
                    path: &path,
                };
                if (self.visit)(&found)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The names in `folder`, sorted.
fn names(folder: &OwnedFd) -> Result<Vec<OsString>, Failure> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(folder, ".", flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." && names.len() <= MAX_ENTRIES {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn too_many(path: &str) -> DomainError {
    DomainError::new(
        ErrorKind::Limit,
        "entries",
        format!("{path:?}: more than {MAX_ENTRIES} entries"),
    )
}
