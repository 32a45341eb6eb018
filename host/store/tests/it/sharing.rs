//! Several processes, one file.

use std::path::PathBuf;

use raddle_core::store::{Store, StoreError};
use raddle_store::SqliteStore;

use crate::{child, header, message, store};

const FILE: &str = "RADDLE_STORE_SHARED_FILE";
const SESSION: &str = "RADDLE_STORE_SHARED_SESSION";
const EVENTS: u64 = 40;

/// One of the processes.
#[tokio::test]
async fn writer() {
    let (Some(file), Ok(session)) = (std::env::var_os(FILE), std::env::var(SESSION)) else {
        return;
    };
    let store = SqliteStore::open(PathBuf::from(file)).unwrap();
    store.create(header(&session)).await.unwrap();
    for seq in 1..=EVENTS {
        store
            .append(&session, &[message(&session, seq)])
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn processes_that_start_together_share_a_file() {
    let directory = tempfile::tempdir().unwrap();
    // Not there yet: one of them creates it.
    let file = directory.path().join("data/sessions.db");
    let writers: Vec<_> = (0..6)
        .map(|number| {
            let session = format!("s{number}");
            let variables = [(FILE, file.to_str().unwrap()), (SESSION, &session)];
            child("sharing::writer", &variables).spawn().unwrap()
        })
        .collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let store = SqliteStore::open(&file).unwrap();
    let sessions = store.sessions().await.unwrap();
    assert_eq!(sessions.len(), 6);
    assert!(sessions.iter().all(|session| session.events == EVENTS));
}

#[tokio::test]
async fn two_that_write_one_session_conflict() {
    let (one, directory) = store();
    let two = SqliteStore::open(directory.path().join("sessions.db")).unwrap();
    one.create(header("s")).await.unwrap();
    one.append("s", &[message("s", 1)]).await.unwrap();
    assert_eq!(two.events("s", 0).await.unwrap(), [message("s", 1)]);
    let conflict = |expected| StoreError::Conflict {
        session: "s".into(),
        expected,
    };
    assert_eq!(two.append("s", &[message("s", 1)]).await, Err(conflict(2)));
    two.append("s", &[message("s", 2)]).await.unwrap();
    assert_eq!(one.append("s", &[message("s", 2)]).await, Err(conflict(3)));
}

#[tokio::test]
async fn a_write_waits_for_another_process() {
    let (store, directory) = store();
    store.create(header("s")).await.unwrap();
    let other = rusqlite::Connection::open(directory.path().join("sessions.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let events = [message("s", 1)];
    let append = store.append("s", &events);
    futures::pin_mut!(append);
    assert!(futures::poll!(&mut append).is_pending());
    other.execute_batch("COMMIT").unwrap();
    append.await.unwrap();
}

#[test]
fn a_store_can_be_used_from_any_thread() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<SqliteStore>();
}
