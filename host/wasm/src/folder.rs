//! The text files below a folder that a setting names.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of all files together that the settings of one plugin may name.
pub const MAX_FILES: u64 = 8 << 20;

/// The most entries that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// The text files below a folder, by their paths inside it. Hidden entries are not looked at.
#[derive(Debug, Default)]
pub struct Folder {
    /// Each file with its text.
    pub files: Vec<(PathBuf, String)>,
    /// What is there and was not read, with the reason.
    pub left_out: Vec<(PathBuf, Reason)>,
}

/// Why something in a folder is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// It is not UTF-8.
    NotText,
    /// A link to something outside of the folder: what a folder offers is what lies in it.
    Outside,
    /// A link to nothing, or to itself.
    Nowhere,
    /// A link to a folder that is read already.
    Again,
}

impl Folder {
    /// Reads a folder. Links are followed as long as they stay inside; each folder is read once,
    /// so that no link can make it endless. What is read is taken off `left`.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is too large.
    pub fn read(folder: &Path, left: &mut u64) -> Result<Self, String> {
        let root = folder.canonicalize().map_err(|error| error.to_string())?;
        let mut walk = Walk {
            seen: BTreeSet::from([root.clone()]),
            found: Vec::new(),
            links: Vec::new(),
            entries: 0,
            root,
        };
        let mut read = Self::default();
        walk.list(&walk.root.clone(), Path::new(""))?;
        // Folders before the links to them, so that a skill has the path where it really lies.
        while !walk.links.is_empty() {
            let mut links = std::mem::take(&mut walk.links);
            links.sort();
            for (link, path) in links {
                if let Err(reason) = walk.follow(&link, &path)? {
                    read.left_out.push((path, reason));
                }
            }
        }
        walk.found.sort_by(|one, other| one.1.cmp(&other.1));
        for (file, path) in walk.found {
            match String::from_utf8(read_limited(&file, left)?) {
                Ok(text) => read.files.push((path, text)),
                Err(_) => read.left_out.push((path, Reason::NotText)),
            }
        }
        Ok(read)
    }
}

impl Reason {
    /// Whether a link is the reason.
    pub fn is_about_links(self) -> bool {
        matches!(self, Self::Outside | Self::Nowhere)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotText => "it is not UTF-8 text",
            Self::Outside => "it is a link that leads out of its folder",
            Self::Nowhere => "it is a link that leads nowhere",
            Self::Again => "it is a link to a folder that is read already",
        })
    }
}

/// The bytes of a regular file, as long as it fits.
pub(crate) fn read_limited(path: &Path, left: &mut u64) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    *left = left
        .checked_sub(metadata.len())
        .ok_or_else(|| format!("the files of the settings are over {} MiB", MAX_FILES >> 20))?;
    fs::read(path).map_err(|error| error.to_string())
}

/// On the way through a folder. Everything is kept as the real path, and the path inside.
struct Walk {
    root: PathBuf,
    seen: BTreeSet<PathBuf>,
    found: Vec<(PathBuf, PathBuf)>,
    links: Vec<(PathBuf, PathBuf)>,
    entries: usize,
}

impl Walk {
    fn list(&mut self, folder: &Path, inside: &Path) -> Result<(), String> {
        let mut folders = vec![(folder.to_owned(), inside.to_owned())];
        while let Some((folder, inside)) = folders.pop() {
            for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
                let entry = entry.map_err(|error| error.to_string())?;
                let kind = entry.file_type().map_err(|error| error.to_string())?;
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    return Err(format!("there are over {MAX_ENTRIES} entries in it"));
                }
                let name = entry.file_name();
                if name.as_encoded_bytes().starts_with(b".") {
                    continue;
                }
                let found = (entry.path(), inside.join(&name));
                if kind.is_symlink() {
                    self.links.push(found);
                } else if kind.is_file() {
                    self.found.push(found);
                } else if kind.is_dir() && self.seen.insert(found.0.clone()) {
                    folders.push(found);
                }
            }
        }
        Ok(())
    }

    fn follow(&mut self, link: &Path, inside: &Path) -> Result<Result<(), Reason>, String> {
        let Ok(target) = link.canonicalize() else {
            return Ok(Err(Reason::Nowhere));
        };
        if !target.starts_with(&self.root) {
            return Ok(Err(Reason::Outside));
        }
        if target.is_dir() {
            if !self.seen.insert(target.clone()) {
                return Ok(Err(Reason::Again));
            }
            self.list(&target, inside)?;
        } else if target.is_file() {
            self.found.push((target, inside.to_owned()));
        }
        Ok(Ok(()))
    }
}
