//! `files`: real files, and ways out of the granted folder.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use raddle_core::plugins::ErrorKind;
use serde_json::{Value, json};

use super::{Access, Bench, Directory, Grants, Limits, WorkspaceGrant};

async fn files(access: Access) -> Bench {
    let grants = Grants {
        workspace: vec![WorkspaceGrant {
            directory: Directory::Session,
            access,
        }],
        ..Grants::default()
    };
    Bench::of("files", json!({}), grants, Limits::default()).await
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "path": path, "old": old, "new": new })
}

#[tokio::test]
async fn a_file_is_read_edited_and_written() {
    let files = files(Access::ReadWrite).await;
    files.put("a.txt", "one\r\ntwo\r\n");
    fs::set_permissions(files.path("a.txt"), fs::Permissions::from_mode(0o750)).unwrap();

    let text = files
        .call("read", json!({ "path": "a.txt" }))
        .await
        .unwrap();
    assert_eq!(text, "1\tone\n2\ttwo\n[line ends: CRLF]\n");
    let text = files
        .call("edit", edit("a.txt", "one\ntwo", "1\n2\n3"))
        .await
        .unwrap();
    assert_eq!(text, "edited a.txt: 1 place, line 1");
    assert_eq!(files.text("a.txt"), "1\r\n2\r\n3\r\n");
    let mode = fs::metadata(files.path("a.txt")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o750);

    files
        .call("write", json!({ "path": "a.txt", "content": "new\n" }))
        .await
        .unwrap();
    files
        .call("write", json!({ "path": "b/c/d.txt", "content": "deep\n" }))
        .await
        .unwrap();
    assert_eq!(files.text("a.txt"), "new\n");
    assert_eq!(files.text("b/c/d.txt"), "deep\n");
    let text = files.call("list", json!({})).await.unwrap();
    assert_eq!(text, "a.txt\t4 bytes\nb/\n");
    let text = files
        .call("find", json!({ "glob": "**/*.txt" }))
        .await
        .unwrap();
    assert_eq!(text, "a.txt\t4 bytes\nb/c/d.txt\t5 bytes\n");
    let text = files
        .call("search", json!({ "pattern": "^(new|de+p)$" }))
        .await
        .unwrap();
    assert_eq!(text, "a.txt:1: new\nb/c/d.txt:1: deep\n");
}

#[tokio::test]
async fn what_somebody_else_wrote_is_not_written_over() {
    let files = files(Access::ReadWrite).await;
    files.put("a", "one\n");
    let write = json!({ "path": "a", "content": "mine\n" });

    let error = files.call("write", write.clone()).await.unwrap_err();
    assert_eq!(error.code, "not-read");
    files.call("read", json!({ "path": "a" })).await.unwrap();
    files.put("a", "one\ntheirs\n");
    for (tool, arguments) in [("write", write.clone()), ("edit", edit("a", "one", "1"))] {
        let error = files.call(tool, arguments).await.unwrap_err();
        assert_eq!(
            (error.kind, error.code.as_str()),
            (ErrorKind::Conflict, "stale")
        );
        assert!(error.message.contains("read it again"), "{error}");
    }
    assert_eq!(files.text("a"), "one\ntheirs\n");
    files.call("read", json!({ "path": "a" })).await.unwrap();
    files.call("edit", edit("a", "one", "1")).await.unwrap();
    assert_eq!(files.text("a"), "1\ntheirs\n");

    fs::remove_file(files.path("a")).unwrap();
    files.call("write", write).await.unwrap();
    assert_eq!(files.text("a"), "mine\n");
}

#[tokio::test]
async fn two_edits_at_once_lose_nothing() {
    let files = files(Access::ReadWrite).await;
    for _ in 0..20 {
        files.put("a", "one\ntwo\n");
        files.call("read", json!({ "path": "a" })).await.unwrap();
        let (first, second) = tokio::join!(
            files.call("edit", edit("a", "one", "1")),
            files.call("edit", edit("a", "two", "2"))
        );
        let text = files.text("a");
        for ((old, new), result) in [("one", "1"), ("two", "2")]
            .into_iter()
            .zip([first, second])
        {
            match result {
                Ok(_) => assert!(text.contains(new) && !text.contains(old), "{text:?}"),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
                    assert!(text.contains(old), "{text:?}");
                }
            }
        }
        assert_ne!(text, "one\ntwo\n");
    }
}

#[tokio::test]
async fn no_path_leaves_the_folder() {
    let files = files(Access::ReadWrite).await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret\n").unwrap();
    let folder = files.path("");
    let sibling = folder.with_extension("2");
    fs::create_dir(&sibling).unwrap();
    fs::write(sibling.join("a.txt"), "secret\n").unwrap();
    symlink(outside.path(), files.path("link")).unwrap();
    symlink(outside.path().join("nothing"), files.path("dangling")).unwrap();
    symlink(outside.path().join("secret"), files.path("file")).unwrap();
    let sibling_name = sibling.file_name().unwrap().to_str().unwrap();
    let absolute = outside.path().join("secret");

    for path in [
        "link/secret",
        "link/new/file",
        "dangling",
        "file",
        "../secret",
        &format!("../{sibling_name}/a.txt"),
        absolute.to_str().unwrap(),
        "/etc/passwd",
        "a\0b",
    ] {
        for (tool, arguments) in [
            ("read", json!({ "path": path })),
            ("write", json!({ "path": path, "content": "x" })),
            ("edit", edit(path, "secret", "x")),
            ("list", json!({ "path": path })),
        ] {
            let result = files.call(tool, arguments).await;
            let error = result.expect_err(path);
            assert!(
                !error.message.contains("secret\n"),
                "{tool} {path}: {error}"
            );
        }
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(&absolute).unwrap(), "secret\n");
    assert_eq!(
        fs::read_to_string(sibling.join("a.txt")).unwrap(),
        "secret\n"
    );
    fs::remove_dir_all(sibling).unwrap();
}

#[tokio::test]
async fn what_is_no_regular_file_is_refused_and_home_is_not_expanded() {
    let files = files(Access::ReadWrite).await;
    let fifo = files.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    fs::create_dir(files.path("folder")).unwrap();
    let error = files
        .call("read", json!({ "path": "fifo" }))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
    let error = files
        .call("read", json!({ "path": "folder" }))
        .await
        .unwrap_err();
    assert_eq!(error.code, "folder");
    let error = files
        .call("read", json!({ "path": "~/.ssh/id" }))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn an_edit_through_a_link_leaves_the_link() {
    let files = files(Access::ReadWrite).await;
    files.put("inside.txt", "one\n");
    symlink("inside.txt", files.path("alias")).unwrap();
    files
        .call("edit", edit("alias", "one", "two"))
        .await
        .unwrap();
    assert_eq!(files.text("inside.txt"), "two\n");
    assert!(
        fs::symlink_metadata(files.path("alias"))
            .unwrap()
            .is_symlink()
    );
}

#[tokio::test]
async fn a_folder_granted_for_reading_is_not_written() {
    let files = files(Access::Read).await;
    files.put("a", "one\n");
    files.call("read", json!({ "path": "a" })).await.unwrap();
    for (tool, arguments) in [
        ("write", json!({ "path": "a", "content": "" })),
        ("write", json!({ "path": "new", "content": "" })),
        ("edit", edit("a", "one", "two")),
    ] {
        let error = files.call(tool, arguments).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Denied, "{error}");
    }
    assert_eq!(files.text("a"), "one\n");
}

#[tokio::test]
async fn the_largest_file_is_edited_within_the_usual_memory() {
    let files = files(Access::ReadWrite).await;
    let text = "0123456789abcd\r\n".repeat(1 << 19);
    files.put("large", format!("x{}", &text[1..]));
    files
        .call("read", json!({ "path": "large" }))
        .await
        .unwrap();
    files
        .call("edit", edit("large", "x123", "y\n123"))
        .await
        .unwrap();
    let edited = files.text("large");
    assert_eq!(edited.len(), (8 << 20) + 2);
    assert!(edited.starts_with("y\r\n123456789abcd\r\n"));
}
