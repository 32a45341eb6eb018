//! One process at a time in a session: its log has one writer.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A session that belongs to this process. The system gives it back even when the process is
/// killed; only its file then stays, and is taken over by whoever comes next.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Held for as long as it is open.
    _file: File,
}

/// Another process has the session.
#[derive(Debug)]
pub(crate) struct InUse(String);

impl std::error::Error for InUse {}

impl std::fmt::Display for InUse {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "session `{}` is in use by another process",
            self.0
        )
    }
}

impl Lock {
    /// Takes the session `id`, whose lock file is in `folder`.
    pub(crate) fn take(folder: &Path, id: &str) -> Result<Self> {
        let path = folder.join(id);
        let place = || path.display().to_string();
        fs::create_dir_all(folder).with_context(place)?;
        loop {
            let file = File::create(&path).with_context(place)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(InUse(id.to_owned()).into());
                }
                Err(TryLockError::Error(error)) => return Err(error).with_context(place),
            }
            // Between opening and locking, the one who held it may have removed the file: a lock
            // on it would keep nobody out.
            let held = file.metadata().with_context(place)?;
            match fs::metadata(&path) {
                Ok(there) if is_same(&there, &held) => return Ok(Self { path, _file: file }),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(place),
            }
        }
    }
}

impl Drop for Lock {
    /// The file goes while it is still locked: nobody can have locked one of the same name.
    fn drop(&mut self) {
        // One that stays is in nobody's way.
        let _ = fs::remove_file(&self.path);
    }
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_session_is_held_once_and_its_file_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let held = Lock::take(folder.path(), "s").unwrap();
        let refused = Lock::take(folder.path(), "s").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "session `s` is in use by another process"
        );
        drop(Lock::take(folder.path(), "t").unwrap());
        drop(held);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        // As a killed process leaves it.
        File::create(folder.path().join("s")).unwrap();
        Lock::take(folder.path(), "s").unwrap();
    }

    /// The moment between opening and locking is short: many threads look for it.
    #[test]
    fn files_that_come_and_go_let_nobody_in_beside_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = Lock::take(folder.path(), "s") else {
                            continue;
                        };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        taken.fetch_add(1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
