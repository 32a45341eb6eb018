//! The cases other systems got wrong, and the list as the model reads it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_todo::change::{Arguments, shown};
use raddle_sdk::tasks::{Status, Task, TaskList};
use raddle_sdk::{Error, ErrorKind};
use serde_json::{Value, json};

fn list() -> TaskList {
    let task = |id: &str, status| Task {
        id: id.to_owned(),
        label: format!("Do {id}"),
        status,
        note: None,
        step: None,
    };
    TaskList {
        revision: 3,
        tasks: vec![task("a", Status::InProgress), task("b", Status::Pending)],
    }
}

fn call(arguments: Value) -> Result<Option<Vec<Task>>, Error> {
    let arguments: Arguments = serde_json::from_value(arguments).unwrap();
    arguments.applied(&list())
}

fn refusal(arguments: Value) -> Error {
    call(arguments).unwrap_err()
}

#[test]
fn an_unknown_task_is_answered_with_the_list() {
    let error = refusal(json!({"update": [{"id": "nope", "status": "complete"}]}));
    assert_eq!(
        (error.kind, error.code.as_str()),
        (ErrorKind::NotFound, "unknown-task")
    );
    assert_eq!(
        error.message,
        "there is no task `nope`; nothing changed\n\
         revision 3\na [in_progress] Do a\nb [pending] Do b"
    );
}

#[test]
fn an_unknown_status_is_answered_with_those_there_are() {
    let error = refusal(json!({"update": [{"id": "a", "status": "done"}]}));
    assert!(
        error.message.starts_with(
            "`done` is not a status: there are pending, in_progress, complete, blocked"
        ),
        "{}",
        error.message
    );
}

#[test]
fn what_changes_nothing_is_no_change() {
    assert_eq!(
        call(json!({"update": [{"id": "a", "status": "in_progress"}]})),
        Ok(None)
    );
    assert_eq!(call(json!({})), Ok(None));
}

#[test]
fn a_stale_revision_is_a_conflict_with_the_list() {
    let error = refusal(json!({"revision": 2, "update": [{"id": "a", "status": "complete"}]}));
    assert_eq!(
        (error.kind, error.code.as_str()),
        (ErrorKind::Conflict, "stale")
    );
    assert!(
        error.message.ends_with("b [pending] Do b"),
        "{}",
        error.message
    );
}

#[test]
fn tasks_are_set_and_updated() {
    let set =
        json!({"tasks": [{"id": "x", "label": "Do x", "status": "blocked", "note": "no key"}]});
    let tasks = call(set).unwrap().unwrap();
    let shown = shown(&TaskList { revision: 4, tasks });
    assert_eq!(shown, "revision 4\nx [blocked] Do x: no key");
    let both = json!({"tasks": [], "update": []});
    assert_eq!(refusal(both).code, "arguments");
    let updated = call(json!({"update": [
        {"id": "a", "status": "complete"},
        {"id": "b", "status": "in_progress", "label": "Do it"},
    ]}));
    let tasks = updated.unwrap().unwrap();
    assert_eq!(
        (tasks[0].status, tasks[1].status),
        (Status::Complete, Status::InProgress)
    );
    assert_eq!(tasks[1].label, "Do it");
}
