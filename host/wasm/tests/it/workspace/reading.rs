//! Reading and listing.

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::workspace::Node;

use super::{Scratch, digest, refused};

#[tokio::test]
async fn a_part_of_a_file_comes_with_the_digest_of_the_whole() {
    let scratch = Scratch::new();
    // Longer than any chunk, so that parts begin and end anywhere in one.
    let text: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
    scratch.write("ws/file", &text);
    let workspace = scratch.workspace();
    let chunk = 64 * 1024;
    for offset in [0, 1, chunk - 1, chunk, chunk + 1, 799_999, 800_000, 900_000] {
        for length in [
            0,
            1,
            chunk - 1,
            chunk,
            chunk + 1,
            300_000,
            800_000,
            u32::MAX,
        ] {
            let contents = workspace.read("file", offset, length).await.unwrap();
            let start = text.len().min(offset as usize);
            let end = text.len().min(start.saturating_add(length as usize));
            assert_eq!(contents.bytes, text[start..end], "{offset} {length}");
            assert_eq!(contents.digest.to_string(), digest(&text));
            let more = u64::from(offset) + u64::from(length) < text.len() as u64;
            assert_eq!(contents.more, more, "{offset} {length}");
        }
    }
}

#[tokio::test]
async fn an_empty_file_has_contents_too() {
    let scratch = Scratch::new();
    scratch.write("ws/empty", "");
    let contents = scratch.workspace().read("empty", 0, 10).await.unwrap();
    assert_eq!((contents.bytes, contents.more), (Vec::new(), false));
    assert_eq!(contents.digest.to_string(), digest(""));
}

#[tokio::test]
async fn a_folder_lists_its_children_by_name_and_as_what_they_are() {
    let scratch = Scratch::new();
    scratch.write("ws/src/b.rs", "12345");
    scratch.write("ws/src/a/inner.rs", "");
    scratch.write("ws/src/.hidden", "");
    scratch.write("ws/src/ignored", "");
    scratch.write("ws/src/.gitignore", "ignored");
    scratch.link("b.rs", "ws/src/to-file");
    scratch.link("a", "ws/src/to-folder");
    scratch.link("/etc/passwd", "ws/src/to-outside");
    let workspace = scratch.workspace();
    let listed = |path: &'static str| {
        let workspace = workspace.clone();
        async move {
            let items = workspace.list_items(path).await.unwrap();
            items
                .into_iter()
                .map(|item| (item.path, item.node, item.size))
                .collect::<Vec<_>>()
        }
    };
    let expected = [
        (".gitignore", Node::File, 7),
        (".hidden", Node::File, 0),
        ("a", Node::Folder, 0),
        ("b.rs", Node::File, 5),
        ("ignored", Node::File, 0),
        ("to-file", Node::File, 5),
        ("to-folder", Node::Folder, 0),
        ("to-outside", Node::Other, 0),
    ];
    let items = listed("src").await;
    assert_eq!(items.len(), expected.len(), "{items:?}");
    for ((path, node, size), (name, expected_node, expected_size)) in items.iter().zip(expected) {
        assert_eq!(
            (path.as_str(), *node),
            (format!("src/{name}").as_str(), expected_node)
        );
        assert!(*node != Node::File || *size == expected_size);
    }
    assert_eq!(listed("src/to-folder").await[0].0, "src/to-folder/inner.rs");
    assert_eq!(listed(".").await[0].0, "src");
    assert_eq!(listed("./src/a").await[0].0, "src/a/inner.rs");
    let absolute = scratch.path("ws/src/a").to_str().unwrap().to_owned();
    let items = workspace.list_items(&absolute).await.unwrap();
    assert_eq!(items[0].path, format!("{absolute}/inner.rs"));
    // Each path leads there again.
    workspace.read(&items[0].path, 0, 0).await.unwrap();
}

#[tokio::test]
async fn a_time_of_change_is_rfc_3339_in_utc() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "");
    let file = std::fs::File::open(scratch.path("ws/a.txt")).unwrap();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(1_700_000_000_250);
    file.set_modified(time).unwrap();
    let items = scratch.workspace().list_items(".").await.unwrap();
    assert_eq!(
        items[0].modified.as_deref(),
        Some("2023-11-14T22:13:20.25Z")
    );
}

#[tokio::test]
async fn only_folders_are_listed() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "");
    let workspace = scratch.workspace();
    refused(
        workspace.list_items("a.txt").await,
        ErrorKind::Invalid,
        "not-a-folder",
    );
    refused(
        workspace.list_items("missing").await,
        ErrorKind::NotFound,
        "missing",
    );
    refused(workspace.list_items("").await, ErrorKind::Invalid, "path");
}

#[tokio::test]
async fn a_large_file_does_not_hold_up_the_runtime() {
    let scratch = Scratch::new();
    std::fs::File::create(scratch.path("ws/large"))
        .unwrap()
        .set_len(512 * 1024 * 1024)
        .unwrap();
    let workspace = scratch.workspace();
    let mut reading = Box::pin(workspace.read("large", 0, 10));
    // One thread runs both: this turn can only come while the file is being read.
    let mut turns = 0;
    tokio::select! {
        biased;
        _ = async { while turns < 3 { turns += 1; tokio::task::yield_now().await; } } => {}
        _ = &mut reading => {}
    }
    assert_eq!(turns, 3);
    drop(reading);
}
