//! Which version of a file the agent knows, and what happens when it is not the one there is.

use std::thread;

use raddle_sdk::ErrorKind;
use serde_json::json;

use crate::folder::{Folder, digest};

fn edit(folder: &Folder, old: &str, new: &str) -> Result<String, raddle_sdk::Error> {
    folder
        .call("edit", json!({ "path": "a", "old": old, "new": new }))
        .map(|answer| answer.text)
}

#[test]
fn an_existing_file_is_written_only_after_it_was_read() {
    let folder = Folder::new();
    folder.put("a", "theirs\n");
    let write = || folder.call("write", json!({ "path": "a", "content": "mine\n" }));

    let error = write().unwrap_err();
    assert_eq!(error.code, "not-read");
    assert!(
        error.message.contains("read it before"),
        "{}",
        error.message
    );
    assert_eq!(folder.text("a"), "theirs\n");

    folder.call("read", json!({ "path": "a" })).unwrap();
    write().unwrap();
    assert_eq!(folder.text("a"), "mine\n");
}

#[test]
fn a_new_file_is_written_and_then_known() {
    let folder = Folder::new();
    let write = |content: &str| folder.call("write", json!({ "path": "b/c", "content": content }));
    let answer = write("1\n").unwrap();
    assert_eq!(answer.file, Some(("b/c".to_owned(), digest(b"1\n"))));
    write("2\n").unwrap();
    assert_eq!(folder.text("b/c"), "2\n");
}

#[test]
fn a_change_by_somebody_else_is_noticed() {
    let folder = Folder::new();
    folder.put("a", "one\n");
    folder.call("read", json!({ "path": "a" })).unwrap();
    folder.put("a", "one\ntwo\n");

    for result in [
        edit(&folder, "one", "1"),
        folder
            .call("write", json!({ "path": "a", "content": "" }))
            .map(|answer| answer.text),
    ] {
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind, error.code.as_str()),
            (ErrorKind::Conflict, "stale")
        );
        assert!(error.message.contains("read it again"), "{}", error.message);
    }
    assert_eq!(folder.text("a"), "one\ntwo\n");

    folder
        .call("read", json!({ "path": "a", "limit": 1 }))
        .unwrap();
    edit(&folder, "one", "1").unwrap();
    edit(&folder, "two", "2").unwrap();
    assert_eq!(folder.text("a"), "1\n2\n");
}

#[test]
fn a_change_between_read_and_replacement_is_noticed() {
    let folder = Folder::new();
    folder.put("a", "one\n");
    folder.call("read", json!({ "path": "a" })).unwrap();
    let path = folder.path("a");
    folder.before_next_replacement(move || std::fs::write(path, "one\ntheirs\n").unwrap());

    let error = edit(&folder, "one", "1").unwrap_err();
    assert_eq!(error.code, "stale");
    assert_eq!(folder.text("a"), "one\ntheirs\n");
}

#[test]
fn an_edit_of_a_file_that_was_not_read_is_made_on_what_is_there() {
    let folder = Folder::new();
    folder.put("a", "one\n");
    let path = folder.path("a");
    folder.before_next_replacement(move || std::fs::write(path, "one\ntheirs\n").unwrap());

    edit(&folder, "one", "1").unwrap();
    assert_eq!(folder.text("a"), "1\ntheirs\n");
}

#[test]
fn a_file_that_is_gone_may_be_written_again() {
    let folder = Folder::new();
    folder.put("a", "one\n");
    folder.call("read", json!({ "path": "a" })).unwrap();
    std::fs::remove_file(folder.path("a")).unwrap();
    folder
        .call("write", json!({ "path": "a", "content": "two\n" }))
        .unwrap();
    assert_eq!(folder.text("a"), "two\n");
}

#[test]
fn two_ways_to_write_a_path_are_one_file() {
    let folder = Folder::new();
    folder.put("d/a", "one\n");
    let absolute = folder.path("d/a").to_str().unwrap().to_owned();
    for (index, path) in ["./d//a", &absolute, "d/./a"].into_iter().enumerate() {
        folder.call("read", json!({ "path": path })).unwrap();
        let content = format!("{index}\n");
        folder
            .call("write", json!({ "path": "d/a", "content": content }))
            .unwrap();
    }
}

#[test]
fn without_a_session_edits_work_and_nothing_is_written_over() {
    let folder = Folder::without_session();
    folder.put("a", "one\n");
    folder.call("read", json!({ "path": "a" })).unwrap();
    edit(&folder, "one", "1").unwrap();
    assert_eq!(folder.text("a"), "1\n");
    let error = folder
        .call("write", json!({ "path": "a", "content": "" }))
        .unwrap_err();
    assert_eq!(error.code, "not-read");
}

#[test]
fn two_edits_at_once_lose_nothing() {
    for _ in 0..100 {
        let folder = Folder::new();
        folder.put("a", "one\ntwo\n");
        folder.call("read", json!({ "path": "a" })).unwrap();
        let results = thread::scope(|scope| {
            [("one", "1"), ("two", "2")]
                .map(|(old, new)| scope.spawn(|| edit(&folder, old, new)))
                .map(|thread| thread.join().unwrap())
        });
        let text = folder.text("a");
        for ((old, new), result) in [("one", "1"), ("two", "2")].into_iter().zip(results) {
            match result {
                Ok(_) => assert!(text.contains(new) && !text.contains(old), "{text:?}"),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Conflict, "{error:?}");
                    assert!(text.contains(old), "{text:?}");
                }
            }
        }
        assert_ne!(text, "one\ntwo\n");
    }
}
