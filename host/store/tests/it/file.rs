//! The file: created privately, recognised, versioned.

use std::path::Path;

use raddle_core::store::{Store, StoreError};
use raddle_store::SqliteStore;

use crate::{header, store};

fn refused(path: &Path) -> String {
    match SqliteStore::open(path).map(drop).unwrap_err() {
        StoreError::Io { place, message } => {
            assert_eq!(place, path.display().to_string());
            message
        }
        other => panic!("{other}"),
    }
}

#[cfg(unix)]
#[tokio::test]
async fn it_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("share/raddle/sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    store.create(header("s")).await.unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory.path().join("share")), 0o700);
    assert_eq!(mode(&directory.path().join("share/raddle")), 0o700);
    for name in ["sessions.db", "sessions.db-wal", "sessions.db-shm"] {
        assert_eq!(mode(&path.with_file_name(name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn no_file_name_is_special() {
    let directory = tempfile::tempdir().unwrap();
    for name in [
        ":memory:",
        "file:sessions.db?mode=memory",
        "with space 'and quote.db",
    ] {
        let path = directory.path().join(name);
        SqliteStore::open(&path)
            .unwrap()
            .create(header("s"))
            .await
            .unwrap();
        let again = SqliteStore::open(&path).unwrap();
        assert!(again.header("s").await.unwrap().is_some(), "{name}");
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions.db");
    std::fs::write(&path, "").unwrap();
    SqliteStore::open(&path).unwrap();
}

#[test]
fn a_file_of_another_kind_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    let text = "Not a database. ".repeat(500);
    std::fs::write(&path, &text).unwrap();
    assert!(refused(&path).contains("not a Raddle session store"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

    let path = directory.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE session (id)").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    assert!(refused(&path).contains("not a Raddle session store"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let directory = tempfile::tempdir().unwrap();
    assert!(!refused(directory.path()).is_empty());
    std::fs::write(directory.path().join("file"), "").unwrap();
    assert!(!refused(&directory.path().join("file/sessions.db")).is_empty());
}

#[test]
fn a_newer_file_is_refused() {
    let (store, directory) = store();
    drop(store);
    let path = directory.path().join("sessions.db");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.pragma_update(None, "user_version", 7).unwrap();
    drop(file);
    let message = refused(&path);
    assert!(
        message.contains("newer release (schema 7, this one knows 3)"),
        "{message}"
    );
}

/// A set-up cut off half way is finished by the next start.
#[tokio::test]
async fn an_interrupted_creation_is_taken_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sessions.db");
    let file = rusqlite::Connection::open(&path).unwrap();
    file.pragma_update(None, "journal_mode", "WAL").unwrap();
    drop(file);
    let store = SqliteStore::open(&path).unwrap();
    store.create(header("s")).await.unwrap();
}
