//! The tools' results.

use raddle_sdk::ErrorKind;
use serde_json::json;

use crate::folder::Folder;

#[test]
fn an_edit_says_where_and_echoes_no_text() {
    let folder = Folder::new();
    folder.put("long", format!("{}\nx end\n", "k".repeat(300_000)));
    let answer = folder
        .call(
            "edit",
            json!({ "path": "long", "old": " end", "new": " END" }),
        )
        .unwrap();
    assert_eq!(answer.text, "edited long: 1 place, line 2");

    folder.put("many", "v = 1\nw\nv = 1\n");
    let answer = folder
        .call(
            "edit",
            json!({ "path": "many", "old": "v = 1", "new": "v = 2", "replace_all": true }),
        )
        .unwrap();
    assert_eq!(answer.text, "edited many: 2 places, lines 1 to 3");
    assert_eq!(
        serde_json::to_string(&answer.details).unwrap(),
        r#"{"path":"many","lines":[1,3]}"#
    );
}

#[test]
fn a_write_counts_in_words() {
    let folder = Folder::new();
    for (content, told) in [
        ("", "wrote new: 0 lines, 0 bytes"),
        ("x", "wrote new: 1 line, 1 byte"),
        ("x\ny\n", "wrote new: 2 lines, 4 bytes"),
    ] {
        let arguments = json!({ "path": "new", "content": content });
        assert_eq!(folder.call("write", arguments).unwrap().text, told);
    }
}

#[test]
fn an_edit_that_fails_names_the_file_and_leaves_it() {
    let folder = Folder::new();
    folder.put("a", "text\n");
    let error = folder
        .call("edit", json!({ "path": "a", "old": "test", "new": "x" }))
        .unwrap_err();
    assert_eq!(
        (error.kind, error.code.as_str()),
        (ErrorKind::Invalid, "no-match")
    );
    assert!(
        error.message.starts_with("a: old text not found"),
        "{}",
        error.message
    );
    assert_eq!(folder.text("a"), "text\n");
}

#[test]
fn a_folder_is_listed_by_name() {
    let folder = Folder::new();
    folder.put("src/b.rs", "12345");
    folder.put("src/c", "1");
    folder.put("src/a/x", "");
    let answer = folder.call("list", json!({ "path": "src" })).unwrap();
    assert_eq!(answer.text, "a/\nb.rs\t5 bytes\nc\t1 byte\n");
    assert_eq!(folder.call("list", json!({})).unwrap().text, "src/\n");

    std::fs::create_dir(folder.path("empty")).unwrap();
    let answer = folder.call("list", json!({ "path": "empty" })).unwrap();
    assert_eq!(answer.text, "[the folder is empty]\n");
}

#[test]
fn finding_and_searching_say_when_there_is_more() {
    let folder = Folder::new();
    for index in 0..4 {
        folder.put(&format!("{index}.rs"), "needle\nhay\nneedle\n");
    }
    let answer = folder
        .call("find", json!({ "glob": "*.rs", "limit": 3 }))
        .unwrap();
    assert_eq!(
        answer.text,
        "0.rs\t18 bytes\n1.rs\t18 bytes\n2.rs\t18 bytes\n[first 3; there are more]\n"
    );
    let answer = folder
        .call("search", json!({ "pattern": "needle", "limit": 2 }))
        .unwrap();
    assert_eq!(
        answer.text,
        "0.rs:1: needle\n0.rs:3: needle\n[first 2; there are more]\n"
    );
    let answer = folder
        .call("search", json!({ "pattern": "needle", "limit": 8 }))
        .unwrap();
    assert!(!answer.text.contains('['), "{}", answer.text);
    let answer = folder.call("find", json!({ "glob": "*.py" })).unwrap();
    assert_eq!(answer.text, "[no file matches]\n");
}

#[test]
fn a_long_line_that_was_found_is_cut() {
    let folder = Folder::new();
    folder.put("a", format!("語{}\n", "語".repeat(1000)));
    let answer = folder.call("search", json!({ "pattern": "語" })).unwrap();
    assert_eq!(answer.text, format!("a:1: {} […]\n", "語".repeat(512)));
}
