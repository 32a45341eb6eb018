//! The world around a session: time, platform, git branch.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};

use raddle_core::surroundings::Surroundings;

/// The machine this runs on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine;

impl Surroundings for Machine {
    fn now(&self) -> String {
        format!("{:.3}", jiff::Timestamp::now())
    }

    fn platform(&self) -> String {
        format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
    }

    /// 64 random bits: short enough to type the beginning of, and no two alike.
    fn new_id(&self) -> Option<String> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).ok()?;
        Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(time).boxed()
    }

    fn tokens(&self, text: &str) -> u64 {
        let count = tiktoken_rs::o200k_base_singleton()
            .encode_ordinary(text)
            .len();
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    /// Read from the repository's files: starting git would cost more than a whole step.
    fn branch(&self, directory: &Path) -> Option<String> {
        let head = std::fs::read_to_string(git_folder(directory)?.join("HEAD")).ok()?;
        let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
        (!branch.is_empty()).then(|| branch.to_owned())
    }
}

/// The `.git` folder of the repository that `directory` is in; in a linked worktree and in a
/// submodule `.git` is a file that names it.
fn git_folder(directory: &Path) -> Option<PathBuf> {
    let git = directory
        .ancestors()
        .map(|folder| folder.join(".git"))
        .find(|git| git.exists())?;
    if git.is_dir() {
        return Some(git);
    }
    let link = std::fs::read_to_string(&git).ok()?;
    let target = link.trim_end().strip_prefix("gitdir: ")?;
    Some(git.parent()?.join(target))
}
