//! The files of a session: nothing leaves the granted folders, nothing is lost.

mod escapes;
mod reading;
mod searching;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};

use raddle_core::digest::Digest;
use raddle_core::plugins::{DomainError, ErrorKind};
use raddle_wasm::imports::workspace::{Anchors, Folder, Workspace};
use tempfile::TempDir;

/// A scratch folder with the granted folder `ws` in it.
struct Scratch {
    folder: TempDir,
}

impl Scratch {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        Self { folder }
    }

    /// A path beside the granted folder, or in it: `ws/a.txt`.
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_ref()).unwrap();
        digest(text)
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn link(&self, target: impl AsRef<Path>, path: &str) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    fn workspace(&self) -> Workspace {
        self.granted(&[("ws", true)])
    }

    /// Several grants, each writable or not; the session's directory is `ws`.
    fn granted(&self, grants: &[(&str, bool)]) -> Workspace {
        let folders: Vec<Folder> = grants
            .iter()
            .map(|(path, writable)| Folder {
                path: self.path(path),
                writable: *writable,
            })
            .collect();
        Workspace::open(&Anchors::default(), &self.path("ws"), &folders).unwrap()
    }

    /// Every name below the scratch folder, links not followed, sorted.
    fn tree(&self) -> Vec<String> {
        fn walk(folder: &Path, names: &mut Vec<String>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                names.push(path.to_string_lossy().into_owned());
                if path.symlink_metadata().unwrap().is_dir() {
                    walk(&path, names);
                }
            }
        }
        let mut names = Vec::new();
        walk(self.folder.path(), &mut names);
        names.sort();
        let prefix = format!("{}/", self.folder.path().display());
        names
            .iter()
            .map(|name| name.strip_prefix(&prefix).unwrap().to_owned())
            .collect()
    }
}

fn digest(text: impl AsRef<[u8]>) -> String {
    Digest::of(text).to_string()
}

async fn read(workspace: &Workspace, path: &str) -> Result<String, DomainError> {
    let contents = workspace.read(path, 0, u32::MAX).await?;
    Ok(String::from_utf8(contents.bytes).unwrap())
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, DomainError>, kind: ErrorKind, code: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (kind, code), "{error}");
    assert!(!error.message.is_empty());
}
