//! What is damaged is named, and costs no more than itself.

use raddle_core::store::{Store, StoreError, Unreadable};
use raddle_store::SqliteStore;

use crate::{header, message, store};

/// A store with two sessions of three messages each, after `damage` was done to its file.
async fn damaged(damage: &str) -> (SqliteStore, tempfile::TempDir) {
    let (store, directory) = store();
    for id in ["s", "t"] {
        store.create(header(id)).await.unwrap();
        let events: Vec<_> = (1..=3).map(|seq| message(id, seq)).collect();
        store.append(id, &events).await.unwrap();
    }
    let file = rusqlite::Connection::open(directory.path().join("sessions.db")).unwrap();
    file.execute_batch(damage).unwrap();
    (store, directory)
}

#[tokio::test]
async fn a_damaged_event_is_named() {
    for (column, value) in [
        ("data", "'{\"text\": \"cut o'"),
        ("data", "'{}'"),
        ("data", "'{}, \"x\": 1'"),
        ("data", "''"),
        ("data", "CAST(x'ff' AS TEXT)"),
        ("time", "CAST(x'ff' AS TEXT)"),
        ("run", "-1"),
        ("step", "5000000000"),
    ] {
        let damage = format!("UPDATE event SET {column} = {value} WHERE session = 1 AND seq = 2");
        let (store, _directory) = damaged(&damage).await;
        let error = store.events("s", 0).await.unwrap_err();
        let StoreError::Damaged {
            session,
            seq,
            message,
        } = &error
        else {
            panic!("{column} = {value}: {error}");
        };
        assert_eq!((session.as_str(), *seq), ("s", 2), "{column} = {value}");
        assert!(!message.is_empty());
        // What stands around it, and the other session, can still be read.
        let entries = store.entries("s", 0).await.unwrap();
        let damage = Unreadable::damaged(2, message);
        let whole = |seq| Ok(crate::message("s", seq));
        assert_eq!(entries, [whole(1), Err(damage), whole(3)]);
        assert_eq!(store.events("s", 2).await.unwrap().len(), 1);
        assert_eq!(store.events("t", 0).await.unwrap().len(), 3);
        store.append("s", &[crate::message("s", 4)]).await.unwrap();
    }
}

/// Only the place in the row's JSON is left out, whatever else the reason says.
#[tokio::test]
async fn the_reason_is_told_whole() {
    let (store, _directory) = damaged(
        r#"UPDATE event SET type = 'run.ended', data = '{"cause": "cut at line 7 of it"}'
           WHERE session = 1 AND seq = 2"#,
    )
    .await;
    let told = store.events("s", 0).await.unwrap_err().to_string();
    let whole = "session `s`, event 2: unknown variant `cut at line 7 of it`, expected one of ";
    assert!(told.starts_with(whole), "{told}");
    assert!(told.ends_with('`'), "{told}");
}

#[tokio::test]
async fn a_lost_event_is_named() {
    let (store, _directory) = damaged("DELETE FROM event WHERE session = 1 AND seq = 2").await;
    let error = store.events("s", 0).await.unwrap_err();
    assert_eq!(error.to_string(), "session `s`, event 2: missing");

    let (store, _directory) = damaged("DELETE FROM event WHERE session = 1 AND seq < 3").await;
    let entries = store.entries("s", 0).await.unwrap();
    let reason = "missing, as are all up to event 2";
    let left = [
        Err(Unreadable::damaged(1, reason)),
        Ok(crate::message("s", 3)),
    ];
    assert_eq!(entries, left);
}

#[tokio::test]
async fn an_event_of_a_newer_release_is_kept_whole_and_is_no_damage() {
    let unheard = r#"UPDATE event SET type = 'message.unheard', data = '{"z":1,"a":[2.50]}'
                     WHERE session = 1 AND seq = 2"#;
    let (store, _directory) = damaged(unheard).await;
    let entries = store.entries("s", 0).await.unwrap();
    let newer = entries[1].as_ref().unwrap_err();
    assert!(!newer.is_damage());
    assert_eq!(
        newer.newer.as_ref().unwrap().to_string(),
        r#"{"seq":2,"time":"2026-01-31T12:00:00.002Z","session":"s","run":1,"step":0,"type":"message.unheard","data":{"z":1,"a":[2.5]},"display":true}"#
    );
    // Who needs all of the log still cannot do without it.
    assert_eq!(
        store.events("s", 0).await.unwrap_err().to_string(),
        "session `s`, event 2: its type `message.unheard` is not known here: use the newer \
         release that wrote it"
    );
}

#[tokio::test]
async fn a_damaged_row_does_not_hide_the_other_sessions() {
    for (damage, listed) in [
        (
            "UPDATE event SET data = 'x' WHERE session = 1 AND seq = 1",
            2,
        ),
        (
            "UPDATE event SET data = CAST(x'ff' AS TEXT) WHERE session = 1 AND seq = 1",
            2,
        ),
        (
            "UPDATE event SET time = CAST(x'ff' AS TEXT) WHERE session = 1 AND seq = 3",
            2,
        ),
        (
            "UPDATE session SET variant = CAST(x'ff' AS TEXT) WHERE number = 1",
            1,
        ),
    ] {
        let (store, _directory) = damaged(damage).await;
        let sessions = store.sessions().await.unwrap();
        assert_eq!(sessions.len(), listed, "{damage}");
        let whole = sessions
            .iter()
            .find(|session| session.header.id == "t")
            .unwrap();
        assert_eq!(whole.title.as_deref(), Some("message 1"));
        assert_eq!(whole.events, 3);
    }
}

#[tokio::test]
async fn a_damaged_text_is_not_handed_out() {
    let (store, directory) = store();
    let digest = store.put_text("as written").await.unwrap();
    let file = rusqlite::Connection::open(directory.path().join("sessions.db")).unwrap();
    file.execute_batch("UPDATE text SET body = 'changed'")
        .unwrap();
    let error = store.text(digest).await.unwrap_err();
    assert!(error.to_string().contains(&digest.to_string()), "{error}");
}
