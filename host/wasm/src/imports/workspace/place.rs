//! From a path to a place in a granted folder.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use raddle_core::plugins::DomainError;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::anchors::{Anchor, Anchors};
use super::{Failure, Folder};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// The granted folders, each held by a handle.
#[derive(Debug)]
pub(in crate::imports) struct Folders {
    base: PathBuf,
    roots: Vec<Root>,
}

#[derive(Debug)]
struct Root {
    anchor: Anchor,
    writable: bool,
}

/// Where a path leads: a folder, or an entry of a folder that may or may not exist. Never a link,
/// unless links were to be kept.
#[derive(Debug)]
pub(in crate::imports) struct Place {
    /// From the granted folder down to the last folder of the path that exists; never empty.
    pub(super) trail: Vec<Step>,
    /// Folders to be made below that one.
    pub(super) missing: Vec<OsString>,
    /// The last name, unless the path leads to the last folder itself.
    pub(super) entry: Option<OsString>,
    /// Whether the grant allows writing here.
    pub(super) writable: bool,
}

/// A folder on the way, and its name in the one before.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) name: OsString,
    pub(super) handle: Arc<OwnedFd>,
}

/// What to do when the last name is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::imports) enum Link {
    Follow,
    Keep,
}

/// What to do when a folder on the way does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::imports) enum Missing {
    Refuse,
    /// Goes on as if it were there: nothing is made before the whole path is known to be allowed.
    Plan,
}

impl Folders {
    pub(in crate::imports) fn open(
        anchors: &Anchors,
        base: &Path,
        folders: &[Folder],
    ) -> Result<Self, DomainError> {
        let roots = folders
            .iter()
            .map(|folder| {
                Ok(Root {
                    anchor: anchors.open(&folder.path)?,
                    writable: folder.writable,
                })
            })
            .collect::<Result<_, DomainError>>()?;
        Ok(Self {
            base: base.to_owned(),
            roots,
        })
    }

    /// Walks `path` to its end. The system follows no link for us: every name is opened relative
    /// to the handle of the folder before it.
    pub(in crate::imports) fn walk(
        &self,
        path: &str,
        link: Link,
        missing: Missing,
    ) -> Result<Place, Failure> {
        if path.is_empty() {
            return Err(Failure::Empty);
        }
        if path.contains('\0') {
            return Err(Failure::Nul);
        }
        let must_be_folder = path.ends_with('/') || path.ends_with("/.");
        let mut walk = Walk::start(self, &self.base.join(path))?;
        while let Some(name) = walk.names.pop() {
            if name == ".." {
                walk.up()?;
                continue;
            }
            let last = walk.names.is_empty();
            if !walk.missing.is_empty() {
                if last && !must_be_folder {
                    return Ok(walk.end(Some(name)));
                }
                walk.missing.push(name);
                continue;
            }
            match open_folder(walk.handle(), &name) {
                Ok(handle) => walk.trail.push(Step {
                    name,
                    handle: Arc::new(handle),
                }),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    match rustix::fs::readlinkat(walk.handle(), &name, Vec::new()) {
                        Ok(_) if last && link == Link::Keep && !must_be_folder => {
                            return Ok(walk.end(Some(name)));
                        }
                        Ok(target) => walk.follow(OsString::from_vec(target.into_bytes()))?,
                        Err(Errno::INVAL) if last && !must_be_folder => {
                            return Ok(walk.end(Some(name)));
                        }
                        Err(Errno::INVAL) => return Err(Failure::NotFolder),
                        Err(errno) => return Err(errno.into()),
                    }
                }
                Err(Errno::NOENT) if last && !must_be_folder => return Ok(walk.end(Some(name))),
                Err(Errno::NOENT) if missing == Missing::Plan => walk.missing.push(name),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(walk.end(None))
    }

    /// The granted folder that holds `path`, by whole names, and the names below it, last first.
    /// Of folders within folders, the innermost.
    fn locate(&self, path: &Path) -> Option<(usize, Vec<OsString>)> {
        let below = |root: &Root| {
            let given = path.strip_prefix(&root.anchor.given).ok();
            given.or_else(|| path.strip_prefix(&root.anchor.real).ok())
        };
        self.roots
            .iter()
            .enumerate()
            .filter_map(|(index, root)| Some((index, below(root)?)))
            .min_by_key(|(_, below)| below.components().count())
            .map(|(index, below)| (index, names(below)))
    }

    /// Whether the innermost grant that holds the real path `path` allows writing. Of two grants
    /// for one folder, the narrower counts.
    fn writable(&self, path: &Path) -> bool {
        self.roots
            .iter()
            .filter(|root| path.starts_with(&root.anchor.real))
            .max_by_key(|root| (root.anchor.real.components().count(), !root.writable))
            .is_some_and(|root| root.writable)
    }
}

impl Place {
    /// The folder this is.
    pub(in crate::imports) fn folder(&self) -> Result<&Arc<OwnedFd>, Failure> {
        match &self.entry {
            None => Ok(self.parent()),
            Some(name) => Err(
                match rustix::fs::statat(self.parent(), name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                {
                    Ok(_) => Failure::NotFolder,
                    Err(errno) => errno.into(),
                },
            ),
        }
    }

    /// The last folder that exists, and the name of the file this is, or could be.
    pub(super) fn file(&self) -> Result<(&Arc<OwnedFd>, &OsStr), Failure> {
        let name = self.entry.as_deref().ok_or(Failure::NotFile)?;
        Ok((self.parent(), name))
    }

    fn parent(&self) -> &Arc<OwnedFd> {
        &self.trail[self.trail.len() - 1].handle
    }
}

/// A walk under way.
struct Walk<'a> {
    folders: &'a Folders,
    root: usize,
    trail: Vec<Step>,
    /// Folders below the last step that do not exist.
    missing: Vec<OsString>,
    /// Still to go, last first.
    names: Vec<OsString>,
    links: usize,
}

impl<'a> Walk<'a> {
    fn start(folders: &'a Folders, path: &Path) -> Result<Self, Failure> {
        let mut walk = Self {
            folders,
            root: 0,
            trail: Vec::new(),
            missing: Vec::new(),
            names: Vec::new(),
            links: 0,
        };
        walk.restart(path)?;
        Ok(walk)
    }

    /// Goes on at an absolute path: in a granted folder or nowhere. What lies outside is only
    /// ever compared, never touched.
    fn restart(&mut self, path: &Path) -> Result<(), Failure> {
        let (root, names) = self
            .folders
            .locate(path)
            .or_else(|| self.folders.locate(&without_dots(path)))
            .ok_or(Failure::Outside)?;
        self.root = root;
        self.names = names;
        self.trail = vec![Step {
            name: OsString::new(),
            handle: Arc::clone(&self.folders.roots[root].anchor.handle),
        }];
        Ok(())
    }

    fn up(&mut self) -> Result<(), Failure> {
        if self.missing.pop().is_some() {
            return Ok(());
        }
        if self.trail.len() > 1 {
            self.trail.pop();
            return Ok(());
        }
        self.count_link()?;
        let mut path = self.folders.roots[self.root].anchor.real.clone();
        path.pop();
        path.extend(self.names.iter().rev());
        self.restart(&path)
    }

    fn follow(&mut self, target: OsString) -> Result<(), Failure> {
        self.count_link()?;
        let target = PathBuf::from(target);
        if target.is_absolute() {
            let mut path = target;
            path.extend(self.names.iter().rev());
            return self.restart(&path);
        }
        self.names.extend(names(&target));
        Ok(())
    }

    fn count_link(&mut self) -> Result<(), Failure> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Failure::Links);
        }
        Ok(())
    }

    fn handle(&self) -> &OwnedFd {
        &self.trail[self.trail.len() - 1].handle
    }

    fn real(&self) -> PathBuf {
        let mut path = self.folders.roots[self.root].anchor.real.clone();
        path.extend(self.trail.iter().skip(1).map(|step| &step.name));
        path
    }

    fn end(self, entry: Option<OsString>) -> Place {
        let mut real = self.real();
        // To make a folder is to write to the one above it.
        let may_make = self.missing.is_empty() || self.folders.writable(&real);
        real.extend(self.missing.iter().chain(&entry));
        Place {
            writable: may_make && self.folders.writable(&real),
            trail: self.trail,
            missing: self.missing,
            entry,
        }
    }
}

/// Only to walk on from; needs no permission to read the folder.
pub(super) const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

pub(super) fn open_folder(parent: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    rustix::fs::openat(parent, name, FOLDER, Mode::empty())
}

fn names(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        })
        .collect()
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}
