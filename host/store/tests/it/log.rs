//! Sessions and their events.

use raddle_core::digest::Digest;
use raddle_core::message::{AssistantMessage, Finish, Part, ToolCall};
use raddle_core::provider::Usage;
use raddle_core::session::{CacheBreak, EndCause, EventData, Generation, LoadedPlugin};
use raddle_core::store::{Store, StoreError};
use raddle_store::SqliteStore;
use serde_json::json;

use crate::{event, header, message, store};

/// One of every kind that is logged, with texts that are hard to keep.
fn all_kinds() -> Vec<EventData> {
    let digest = Digest::of("x");
    let call = ToolCall {
        id: "call_1".into(),
        name: "bash".into(),
        arguments: r#"{"command":"printf '\u0000\\n'"}"#.into(),
    };
    vec![
        EventData::RunStarted {},
        EventData::Generation(Generation {
            injection_kinds: Vec::new(),
            plugins: vec![LoadedPlugin {
                id: "bash".into(),
                digest,
            }],
            agent: Some("coding-agent".into()),
            provider: "replay".into(),
            model: "m".into(),
            options: json!({"z": 1, "a": {"b": [1.5e300, null]}})
                .as_object()
                .unwrap()
                .clone(),
            system: digest,
            tools: digest,
        }),
        EventData::UserMessage {
            text: "\u{0}\r\n\u{2028}'; DROP TABLE event; -- 🧵 \"quoted\" \\".into(),
        },
        EventData::Context {
            section: "date".into(),
            plugin: "facts".into(),
            text: "<context section=\"date\">today</context>".into(),
        },
        EventData::AssistantMessage {
            message: AssistantMessage {
                parts: vec![
                    Part::Reasoning {
                        item: json!({"type": "reasoning", "encrypted_content": "…", "b": 1, "a": 2}),
                    },
                    Part::Text {
                        text: "Hello".into(),
                    },
                    Part::Call(call.clone()),
                ],
                finish: Finish::Other("pause".into()),
            },
            request: digest,
        },
        EventData::Usage(Usage {
            input_tokens: u64::MAX,
            ..Usage::default()
        }),
        EventData::ToolCall {
            call,
            plugin: Some("bash".into()),
        },
        EventData::ToolResult {
            call_id: "call_1".into(),
            text: "[exit code: 0]".into(),
            is_error: true,
            details: Some(json!({"z": 0, "a": 1})),
            artifact: None,
        },
        EventData::Permission {
            call_id: "call_1".into(),
            tool: "bash".into(),
            allowed: true,
            by: "rule".into(),
        },
        EventData::CacheBreak(CacheBreak {
            part: "system".into(),
            plugin: None,
            name: None,
            at: 7,
        }),
        EventData::Error {
            code: "plugin-trap".into(),
            message: String::new(),
        },
        EventData::RunEnded {
            cause: EndCause::StepLimit,
        },
        EventData::Done {
            message: "Hello".into(),
            intent: EventData::ANSWER.into(),
        },
    ]
}

#[tokio::test]
async fn events_come_back_as_they_were() {
    let (store, directory) = store();
    store.create(header("s")).await.unwrap();
    let events: Vec<_> = (1..)
        .zip(all_kinds())
        .map(|(seq, data)| event("s", seq, data))
        .collect();
    store.append("s", &events).await.unwrap();
    assert_eq!(store.events("s", 0).await.unwrap(), events);
    assert_eq!(store.events("s", 3).await.unwrap(), events[3..]);
    assert_eq!(store.events("s", 1000).await.unwrap(), []);
    assert_eq!(store.events("s", u64::MAX).await.unwrap(), []);

    drop(store);
    let store = SqliteStore::open(directory.path().join("sessions.db")).unwrap();
    assert_eq!(store.events("s", 0).await.unwrap(), events);
    // The bytes of what is kept do not depend on the way through the store.
    assert_eq!(
        serde_json::to_string(&store.events("s", 0).await.unwrap()).unwrap(),
        serde_json::to_string(&events).unwrap()
    );
}

#[tokio::test]
async fn a_store_in_memory_works_alike() {
    let store = SqliteStore::open_in_memory().unwrap();
    store.create(header("s")).await.unwrap();
    store.append("s", &[message("s", 1)]).await.unwrap();
    assert_eq!(store.events("s", 0).await.unwrap(), [message("s", 1)]);
}

#[tokio::test]
async fn a_sequence_has_no_gap_and_no_fork() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let conflict = |expected| {
        Err(StoreError::Conflict {
            session: "s".into(),
            expected,
        })
    };
    assert_eq!(store.append("s", &[message("s", 0)]).await, conflict(1));
    assert_eq!(store.append("s", &[message("s", 2)]).await, conflict(1));
    store.append("s", &[message("s", 1)]).await.unwrap();
    assert_eq!(store.append("s", &[message("s", 1)]).await, conflict(2));
    assert_eq!(
        store.append("s", &[message("s", u64::MAX)]).await,
        conflict(2)
    );
    store.append("s", &[]).await.unwrap();
    assert_eq!(store.events("s", 0).await.unwrap(), [message("s", 1)]);
}

#[tokio::test]
async fn a_batch_is_kept_whole_or_not_at_all() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let batch = [message("s", 1), message("s", 2), message("s", 4)];
    assert_eq!(
        store.append("s", &batch).await,
        Err(StoreError::Conflict {
            session: "s".into(),
            expected: 3
        })
    );
    assert_eq!(store.events("s", 0).await.unwrap(), []);
    store.append("s", &batch[..2]).await.unwrap();
    assert_eq!(store.events("s", 0).await.unwrap(), batch[..2]);
}

#[tokio::test]
async fn an_event_of_another_session_is_refused() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let error = store.append("s", &[message("t", 1)]).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "session `s`, event 1: belongs to session `t`"
    );
}

#[tokio::test]
async fn calls_at_once_do_not_disturb_each_other() {
    let (store, _directory) = store();
    let sessions: Vec<String> = (0..50).map(|number| format!("s{number}")).collect();
    futures::future::try_join_all(sessions.iter().map(|id| store.create(header(id))))
        .await
        .unwrap();
    // In one queue: good appends, some that conflict, and reads.
    let batches: Vec<_> = sessions
        .iter()
        .map(|id| [message(id, 1), message(id, 2)])
        .collect();
    let outcomes =
        futures::future::join_all(sessions.iter().zip(&batches).map(|(id, batch)| async {
            let (first, again, read) = futures::join!(
                store.append(id, batch),
                store.append(id, batch),
                store.events(id, 0)
            );
            (first, again, read.unwrap().len())
        }))
        .await;
    for (id, (first, again, _)) in sessions.iter().zip(outcomes) {
        assert_eq!(first, Ok(()));
        assert_eq!(
            again,
            Err(StoreError::Conflict {
                session: id.clone(),
                expected: 3
            })
        );
    }
    for (id, batch) in sessions.iter().zip(&batches) {
        assert_eq!(store.events(id, 0).await.unwrap(), batch);
    }
}

#[tokio::test]
async fn a_session_is_created_once() {
    let (store, _directory) = store();
    let mut first = header("s");
    first.parent = Some("parent".into());
    store.create(first.clone()).await.unwrap();
    assert_eq!(
        store.create(header("s")).await,
        Err(StoreError::Exists("s".into()))
    );
    assert_eq!(store.header("s").await.unwrap(), Some(first));
    assert_eq!(store.header("t").await.unwrap(), None);
}

#[tokio::test]
async fn an_unknown_session_is_an_error() {
    let (store, _directory) = store();
    let missing = StoreError::Missing("s".into());
    assert_eq!(
        store.append("s", &[message("s", 1)]).await,
        Err(missing.clone())
    );
    assert_eq!(store.events("s", 0).await, Err(missing.clone()));
    assert_eq!(store.get_state("s", "p", "k").await, Err(missing.clone()));
    assert_eq!(
        store.set_state("s", "p", "k", None).await,
        Err(missing.clone())
    );
    assert_eq!(
        store
            .lease("s", "o", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z")
            .await,
        Err(missing)
    );
}

#[tokio::test]
async fn sessions_are_listed_newest_first() {
    let (store, _directory) = store();
    assert_eq!(store.sessions().await.unwrap(), []);
    for (id, created) in [
        ("b", "2026-01-02T00:00:00.000Z"),
        ("c", "2026-01-03T00:00:00.000Z"),
        ("a", "2026-01-01T00:00:00.000Z"),
        ("later", "2026-01-03T00:00:00.000Z"),
    ] {
        let mut header = header(id);
        header.created = created.into();
        store.create(header).await.unwrap();
    }
    let events = [
        event("b", 1, EventData::RunStarted {}),
        message("b", 2),
        message("b", 3),
    ];
    store.append("b", &events).await.unwrap();

    let sessions = store.sessions().await.unwrap();
    let ids: Vec<&str> = sessions
        .iter()
        .map(|session| session.header.id.as_str())
        .collect();
    assert_eq!(ids, ["later", "c", "b", "a"]);
    assert_eq!(sessions[2].events, 3);
    assert_eq!(
        sessions[2].last.as_deref(),
        Some("2026-01-31T12:00:00.003Z")
    );
    assert_eq!(sessions[2].title.as_deref(), Some("message 2"));
    assert_eq!(
        (sessions[3].events, &sessions[3].last, &sessions[3].title),
        (0, &None, &None)
    );
}

#[tokio::test]
async fn a_text_is_kept_once() {
    let (store, directory) = store();
    let text = "A system prompt. ".repeat(1000);
    let digest = store.put_text(&text).await.unwrap();
    assert_eq!(digest, Digest::of(&text));
    assert_eq!(store.put_text(&text).await.unwrap(), digest);
    assert_eq!(
        store.text(digest).await.unwrap().as_deref(),
        Some(text.as_str())
    );
    assert_eq!(store.text(Digest::of("other")).await.unwrap(), None);

    let file = rusqlite::Connection::open(directory.path().join("sessions.db")).unwrap();
    let count: i64 = file
        .query_row("SELECT count(*) FROM text", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 1);
}
