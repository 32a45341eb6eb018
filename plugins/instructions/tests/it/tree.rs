//! A folder on disk, seen as the host shows a granted one.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use raddle_plugin_instructions::Tree;
use raddle_sdk::Error;
use raddle_sdk::workspace::Contents;

/// A scratch folder, of which a part is granted.
pub(crate) struct Disk {
    folder: tempfile::TempDir,
    granted: PathBuf,
    left_out: RefCell<Vec<String>>,
}

impl Disk {
    /// Everything is granted.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let granted = folder.path().to_owned();
        Self {
            folder,
            granted,
            left_out: RefCell::default(),
        }
    }

    /// Only `path` and what is below it is granted.
    pub(crate) fn grant(mut self, path: &str) -> Self {
        self.granted = self.folder.path().join(path);
        self
    }

    pub(crate) fn with(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        fs::write(path, text).expect("a file");
        self
    }

    pub(crate) fn with_folder(self, path: &str) -> Self {
        fs::create_dir_all(self.folder.path().join(path)).expect("a folder");
        self
    }

    pub(crate) fn path(&self, below: &str) -> String {
        let path = self.folder.path().join(below);
        path.to_str().expect("UTF-8").to_owned()
    }

    /// What the operator was told, without the scratch folder's own path.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.left_out.borrow().clone()
    }

    /// Outside the grant it does not matter whether there is anything.
    fn check(&self, path: &str) -> Result<(), Error> {
        let outside = || Error::denied("outside", "outside the granted folders");
        if !Path::new(path).starts_with(&self.granted) {
            return Err(outside());
        }
        let real = Path::new(path).canonicalize();
        let real = real.map_err(|error| Error::not_found("missing", error.to_string()))?;
        let granted = self.granted.canonicalize().expect("the grant exists");
        real.starts_with(granted).then_some(()).ok_or_else(outside)
    }
}

impl Tree for Disk {
    fn read(&self, path: &str, length: u32) -> Result<Contents, Error> {
        self.check(path)?;
        if Path::new(path).is_dir() {
            return Err(Error::invalid("not-a-file", "not a regular file"));
        }
        let bytes =
            fs::read(path).map_err(|error| Error::denied("permission", error.to_string()))?;
        let kept = bytes.len().min(length as usize);
        Ok(Contents {
            // Good enough a digest for files this small: equal exactly when the files are.
            digest: format!("{bytes:?}"),
            more: kept < bytes.len(),
            bytes: bytes[..kept].to_vec(),
        })
    }

    fn left_out(&self, path: &str, reason: &str) {
        let path = Path::new(path);
        let below = path.strip_prefix(self.folder.path()).unwrap_or(path);
        let line = format!("{}: {reason}", below.display());
        self.left_out.borrow_mut().push(line);
    }
}
