//! The task list: changed by calls, kept by the log.

use std::future::pending;
use std::sync::Arc;

use raddle_core::agent::{Action, Cancel, Rule};
use raddle_core::plugins::{Caller, DomainError, Fault, Outcome, PluginError};
use raddle_core::session::tasks::{Task, TaskStatus};
use raddle_core::session::{EndCause, Event, EventData};
use serde_json::{Value, json};
use tokio::sync::{Barrier, Notify};

use crate::support::{MemoryPlugin, Model, Stage, Turn, said};

/// The list of one task called `path`, made from the revision `count`.
fn replace(arguments: &Value, caller: &Caller) -> Result<Outcome, PluginError> {
    let revision = u32::try_from(arguments["count"].as_u64().unwrap()).unwrap();
    let task = Task {
        id: "t".to_owned(),
        label: arguments["path"].as_str().unwrap().to_owned(),
        status: TaskStatus::InProgress,
        note: None,
        step: None,
    };
    let session = caller.session.as_ref().unwrap();
    let replaced = session.replace_tasks(revision, vec![task]);
    let list = replaced.map_err(failed)?;
    said(&format!("revision {}", list.revision))
}

fn failed(error: DomainError) -> PluginError {
    PluginError {
        plugin: "tasks".to_owned(),
        interface: "tools".to_owned(),
        function: "call".to_owned(),
        fault: Fault::Domain(error),
    }
}

/// `replace` changes the list, `meet` does when two calls are there, `hang` does and never ends.
fn stage() -> Stage {
    stage_telling(&Arc::default())
}

/// The same, which tells when the call that hangs has made its change.
fn stage_telling(changed: &Arc<Notify>) -> Stage {
    let changed = Arc::clone(changed);
    let barrier = Arc::new(Barrier::new(2));
    let plugin = MemoryPlugin::new("tasks")
        .tool_in_session("replace", &[], |arguments, caller| async move {
            replace(&arguments, &caller)
        })
        .tool_in_session("meet", &[], move |arguments, caller| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                replace(&arguments, &caller)
            }
        })
        .tool_in_session("hang", &[], move |arguments, caller| {
            let changed = Arc::clone(&changed);
            async move {
                replace(&arguments, &caller)?;
                changed.notify_one();
                pending().await
            }
        });
    let mut stage = Stage::with([plugin]);
    stage.rules = vec![Rule::new("**", None, Action::Allow).unwrap()];
    stage
}

async fn lists(stage: &Stage) -> Vec<(u32, String)> {
    let events = stage.store.events("s1", 0).await.unwrap();
    let list = |event: Event| match event.data {
        EventData::TasksChanged(list) => Some((list.revision, list.tasks[0].label.clone())),
        _ => None,
    };
    events.into_iter().filter_map(list).collect()
}

#[tokio::test]
async fn of_two_changes_from_one_revision_one_is_made_and_the_other_is_stale() {
    let stage = stage();
    let calls = vec![
        ("meet", r#"{"path":"one","count":0}"#),
        ("meet", r#"{"path":"two","count":0}"#),
    ];
    let model = Model::told([Turn::Call(calls), Turn::Say("ok")]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let mut results = stage.seen.results();
    results.sort();
    assert_eq!(results[0], "revision 1");
    let told: Value = serde_json::from_str(&results[1]).unwrap();
    assert_eq!(told["code"], "stale");
    assert_eq!(told["message"], "the list is at revision 1, not 0");
    let logged = lists(&stage).await;
    assert_eq!(logged.len(), 1);
    assert_eq!(agent.controller().tasks().tasks[0].label, logged[0].1);
}

#[tokio::test]
async fn a_revision_from_before_a_restart_is_stale_after_it() {
    let stage = stage();
    let change = |arguments| Turn::Call(vec![("replace", arguments)]);
    let model = Model::told([
        change(r#"{"path":"one","count":0}"#),
        change(r#"{"path":"two","count":1}"#),
        Turn::Say("ok"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    drop(agent);
    model.then([
        change(r#"{"path":"three","count":1}"#),
        change(r#"{"path":"four","count":2}"#),
        Turn::Say("ok"),
    ]);
    let mut agent = stage.open(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let results = stage.seen.results();
    assert!(
        results[2].contains("the list is at revision 2, not 1"),
        "{results:?}"
    );
    let expected = [(1, "one"), (2, "two"), (3, "four")];
    assert_eq!(
        lists(&stage).await,
        expected.map(|(number, label)| (number, label.to_owned()))
    );
}

#[tokio::test]
async fn cancelling_after_a_change_keeps_the_change() {
    let changed = Arc::default();
    let stage = stage_telling(&changed);
    let model = Model::told([Turn::Call(vec![("hang", r#"{"path":"one","count":0}"#)])]);
    let mut agent = stage.start(&model).await;
    let cancel = Cancel::new();
    let watch = async {
        changed.notified().await;
        cancel.cancel();
    };
    let (cause, ()) = tokio::join!(agent.run("go", &cancel), watch);
    assert_eq!(cause.unwrap(), EndCause::Cancelled);
    assert_eq!(lists(&stage).await, [(1, "one".to_owned())]);
    drop(agent);
    let agent = stage.open(&model).await;
    assert_eq!(agent.controller().tasks().revision, 1);
}

#[tokio::test]
async fn an_older_list_later_in_the_log_is_no_news() {
    let stage = stage();
    let model = Model::default();
    drop(stage.start(&model).await);
    let event = |seq: u64, revision: u32, label: &str| -> Event {
        let task = json!({"id": "t", "label": label, "status": "pending"});
        serde_json::from_value(json!({
            "seq": seq, "time": "2026-01-31T12:00:00.000Z", "session": "s1", "run": 0, "step": 0,
            "type": "task.changed", "data": {"revision": revision, "tasks": [task]},
            "display": true,
        }))
        .unwrap()
    };
    let logged = [event(1, 1, "one"), event(2, 3, "three"), event(3, 2, "two")];
    stage.store.append("s1", &logged).await.unwrap();
    model.then([
        Turn::Call(vec![("replace", r#"{"path":"four","count":3}"#)]),
        Turn::Say("ok"),
    ]);
    let mut agent = stage.open(&model).await;
    let list = agent.controller().tasks().clone();
    assert_eq!((list.revision, &*list.tasks[0].label), (3, "three"));
    agent.run("go", &Cancel::new()).await.unwrap();
    assert_eq!(stage.seen.results(), ["revision 4"]);
}
