//! Ignore files: `.gitignore` and `.ignore`, from the granted folder down. Those above it are
//! outside the grant and not read.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::open::open_file;
use super::place::Step;

/// More is no ignore file.
const MAX_SIZE: u64 = 1024 * 1024;

/// The rules that hold in a folder: its own and those of the folders above it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// Outermost first, each with the path of its folder.
    levels: Vec<(PathBuf, Gitignore)>,
}

impl Rules {
    /// The rules that hold in the last folder of `trail`, and its path in the granted folder.
    pub(super) fn along(trail: &[Step]) -> (Self, PathBuf) {
        let mut rules = Self::default();
        let mut path = PathBuf::new();
        for step in trail {
            path.push(&step.name);
            rules.enter(&step.handle, &path);
        }
        (rules, path)
    }

    /// Adds the rules of `folder`; says how many levels there were before.
    pub(super) fn enter(&mut self, folder: &OwnedFd, path: &Path) -> usize {
        let before = self.levels.len();
        let mut builder = GitignoreBuilder::new("");
        // What comes later wins: `.ignore` over `.gitignore`.
        for name in [".gitignore", ".ignore"] {
            for line in text(folder, name.as_ref()).lines() {
                // A line that is no glob ignores nothing, as in git.
                drop(builder.add_line(None, line));
            }
        }
        if let Ok(rules) = builder.build()
            && !rules.is_empty()
        {
            self.levels.push((path.to_owned(), rules));
        }
        before
    }

    /// Goes back to the rules of a folder above.
    pub(super) fn leave(&mut self, before: usize) {
        self.levels.truncate(before);
    }

    /// Whether the entry at `path` (in the granted folder) is left out. `.git` always is.
    pub(super) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        if path.file_name() == Some(OsStr::new(".git")) {
            return true;
        }
        self.levels
            .iter()
            .rev()
            .find_map(|(folder, rules)| {
                let matched = rules.matched(path.strip_prefix(folder).ok()?, is_folder);
                (!matched.is_none()).then(|| matched.is_ignore())
            })
            .unwrap_or(false)
    }
}

fn text(folder: &OwnedFd, name: &OsStr) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = open_file(folder, name) {
        // An ignore file that cannot be read ignores nothing.
        drop(file.take(MAX_SIZE).read_to_end(&mut bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
