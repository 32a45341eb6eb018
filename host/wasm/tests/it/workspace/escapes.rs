//! No path leaves the granted folders.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::workspace::{Anchors, Folder, Node, Workspace};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Deserialize;
use tokio::time::timeout;

use super::{Scratch, digest, read, refused};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    setup: String,
    tool: String,
    path: String,
    #[expect(dead_code, reason = "says more about the case to its reader")]
    note: Option<String>,
    expect: String,
}

/// Every recorded way out that other harnesses left open.
#[tokio::test]
async fn recorded_paths_are_refused_or_work_as_recorded() {
    let cases = include_str!("../../fixtures/workspace-paths.jsonl");
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let scratch = Scratch::new();
        scratch.write("secret", "secret");
        scratch.write("ws2/a.txt", "secret");
        let base = scratch.write("ws/inside.txt", "old");
        let outside = scratch.path("secret");
        let path = match case.path.as_str() {
            "/abs/outside" => outside.to_str().unwrap(),
            path => path,
        };
        if case.setup.starts_with("swap ") {
            // A race: `a_folder_swapped_for_a_link_while_writing_does_not_lead_out`.
            continue;
        }
        let setup = Command::new("sh")
            .args(["-c", &case.setup])
            .current_dir(scratch.path(""))
            .status();
        assert!(setup.unwrap().success());
        let before = scratch.tree();

        let workspace = scratch.workspace();
        let work = async {
            match case.tool.as_str() {
                "read" => read(&workspace, path).await.map(drop),
                "write" => workspace.replace(path, b"new".into(), None).await.map(drop),
                "edit" => workspace
                    .replace(path, b"new".into(), Some(&base))
                    .await
                    .map(drop),
                tool => panic!("unknown tool {tool}"),
            }
        };
        let result = timeout(Duration::from_secs(10), work)
            .await
            .unwrap_or_else(|_| panic!("hangs: {line}"));

        if case.expect.starts_with("works") {
            result.unwrap();
            assert_eq!(scratch.text("ws/inside.txt"), "new");
            assert!(scratch.path("ws").join(path).is_symlink());
        } else {
            let error = result.expect_err(line);
            assert_ne!(error.kind, ErrorKind::Failed, "{line}: {error}");
            assert_eq!(scratch.tree(), before, "{line}");
        }
    }
}

#[tokio::test]
async fn a_link_out_is_refused_in_every_operation() {
    let scratch = Scratch::new();
    let base = scratch.write("out/secret.txt", "secret");
    scratch.link(scratch.path("out"), "ws/folder");
    scratch.link("../out", "ws/relative");
    scratch.link(scratch.path("out/secret.txt"), "ws/file");
    let secret = scratch.path("out/secret.txt");
    scratch.link(format!("/proc/self/root{}", secret.display()), "ws/magic");
    let workspace = scratch.workspace();
    let before = scratch.tree();
    for path in ["folder/secret.txt", "relative/secret.txt", "file", "magic"] {
        refused(read(&workspace, path).await, ErrorKind::Denied, "outside");
        let replaced = workspace.replace(path, b"new".into(), Some(&base)).await;
        refused(replaced, ErrorKind::Denied, "outside");
        let removed = workspace.remove(path, &base).await;
        refused(removed, ErrorKind::Denied, "outside");
    }
    for path in ["folder", "relative", "folder/.", "./folder/../relative"] {
        refused(
            workspace.list_items(path).await,
            ErrorKind::Denied,
            "outside",
        );
        let glob = format!("{path}/*");
        refused(workspace.find(&glob, 9).await, ErrorKind::Denied, "outside");
        let searched = workspace.search("secret", Some(&glob), 9).await;
        refused(searched, ErrorKind::Denied, "outside");
    }
    let created = workspace
        .replace("folder/new.txt", b"new".into(), None)
        .await;
    refused(created, ErrorKind::Denied, "outside");
    assert_eq!(scratch.tree(), before);
    assert_eq!(scratch.text("out/secret.txt"), "secret");
}

#[tokio::test]
async fn a_walk_does_not_follow_links() {
    let scratch = Scratch::new();
    scratch.write("out/secret.txt", "secret");
    scratch.write("ws/a/inside.txt", "secret");
    scratch.link(scratch.path("out"), "ws/folder");
    scratch.link(scratch.path("out/secret.txt"), "ws/file.txt");
    scratch.link("a", "ws/inside");
    scratch.link(".", "ws/round");
    let workspace = scratch.workspace();
    let found = workspace.search("secret", None, 100).await.unwrap();
    let paths: Vec<_> = found.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(paths, ["a/inside.txt"]);
    let found = workspace.find("*.txt", 100).await.unwrap();
    let paths: Vec<_> = found
        .iter()
        .map(|item| (item.path.as_str(), item.node))
        .collect();
    assert_eq!(
        paths,
        [("a/inside.txt", Node::File), ("file.txt", Node::Other)]
    );
}

#[tokio::test]
async fn a_link_in_a_missing_ancestor_is_refused_and_makes_nothing() {
    let scratch = Scratch::new();
    scratch.link(scratch.path("elsewhere"), "ws/link");
    scratch.link("nowhere", "ws/inner");
    let workspace = scratch.workspace();
    let before = scratch.tree();
    for path in [
        "link/x/y.txt",
        "link/y.txt",
        "inner/../../y.txt",
        "../new/y.txt",
    ] {
        let created = workspace.replace(path, b"new".into(), None).await;
        let error = created.unwrap_err();
        assert!(
            matches!(error.kind, ErrorKind::Denied | ErrorKind::NotFound),
            "{path}: {error}"
        );
    }
    assert_eq!(scratch.tree(), before);
}

#[tokio::test]
async fn a_refused_write_makes_no_folder() {
    let scratch = Scratch::new();
    scratch.write("ws/vendor/lib.rs", "text");
    scratch.link(scratch.path("out"), "ws/link");
    let workspace = scratch.granted(&[("ws", true), ("ws/vendor", false)]);
    let before = scratch.tree();
    let long = "x".repeat(300);
    for (path, kind, code) in [
        ("new/../../y.txt", ErrorKind::Denied, "outside"),
        ("new/more/../../../y.txt", ErrorKind::Denied, "outside"),
        ("new/../link/y.txt", ErrorKind::Denied, "outside"),
        ("new/../vendor/y.txt", ErrorKind::Denied, "read-only"),
        ("new/../vendor/new/y.txt", ErrorKind::Denied, "read-only"),
        ("new/../vendor/lib.rs", ErrorKind::Denied, "read-only"),
        ("new/more/", ErrorKind::Invalid, "not-a-file"),
        ("new/more/..", ErrorKind::Invalid, "not-a-file"),
        (&format!("new/{long}/y.txt"), ErrorKind::Invalid, "path"),
        (&format!("new/more/{long}"), ErrorKind::Invalid, "path"),
    ] {
        let created = workspace.replace(path, b"new".into(), None).await;
        refused(created, kind, code);
        assert_eq!(scratch.tree(), before, "{path}");
    }
    let path = "new/../made/../kept/y.txt";
    workspace.replace(path, b"new".into(), None).await.unwrap();
    assert_eq!(scratch.text("ws/kept/y.txt"), "new");
    assert!(!scratch.path("ws/new").exists() && !scratch.path("ws/made").exists());
}

#[tokio::test]
async fn a_dangling_link_is_written_through_only_inside() {
    let scratch = Scratch::new();
    scratch.link("target.txt", "ws/inner");
    scratch.link(scratch.path("outside.txt"), "ws/outer");
    scratch.link("../outside.txt", "ws/upper");
    let workspace = scratch.workspace();
    for path in ["outer", "upper"] {
        let created = workspace.replace(path, b"new".into(), None).await;
        refused(created, ErrorKind::Denied, "outside");
    }
    workspace
        .replace("inner", b"new".into(), None)
        .await
        .unwrap();
    assert_eq!(scratch.text("ws/target.txt"), "new");
    assert!(scratch.path("ws/inner").is_symlink());
    assert!(!scratch.path("outside.txt").exists());
}

#[tokio::test]
async fn links_that_stay_inside_work_however_they_are_written() {
    let scratch = Scratch::new();
    scratch.write("ws/deep/er/file.txt", "old");
    scratch.link("deep/er/file.txt", "ws/plain");
    scratch.link(scratch.path("ws/deep"), "ws/absolute");
    scratch.link("../../absolute/er", "ws/deep/er/round");
    scratch.link("../ws/deep", "ws/leaves-and-returns");
    let workspace = scratch.workspace();
    let mut base = digest("old");
    for (number, path) in [
        "plain",
        "absolute/er/file.txt",
        "deep/er/round/file.txt",
        "deep/er/round/round/round/file.txt",
        "leaves-and-returns/er/file.txt",
        "deep/../plain",
        "deep/er/../../plain",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("version {number}");
        let replaced = workspace
            .replace(path, text.clone().into(), Some(&base))
            .await;
        base = replaced.unwrap().to_string();
        assert_eq!(scratch.text("ws/deep/er/file.txt"), text);
        assert_eq!(read(&workspace, path).await.unwrap(), text);
    }
    for link in [
        "ws/plain",
        "ws/absolute",
        "ws/deep/er/round",
        "ws/leaves-and-returns",
    ] {
        assert!(scratch.path(link).is_symlink(), "{link}");
    }
}

#[tokio::test]
async fn links_without_an_end_are_an_error() {
    let scratch = Scratch::new();
    scratch.link("b", "ws/a");
    scratch.link("a", "ws/b");
    scratch.link("self/x", "ws/self");
    let workspace = scratch.workspace();
    for path in ["a", "b/c", "self"] {
        refused(read(&workspace, path).await, ErrorKind::Invalid, "links");
    }
    assert_eq!(
        workspace.list_items(".").await.unwrap()[0].node,
        Node::Other
    );
}

#[tokio::test]
async fn absolute_paths_work_inside_a_grant_and_only_there() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "inside");
    scratch.write("ws2/a.txt", "secret");
    scratch.write("w/a.txt", "secret");
    let workspace = scratch.workspace();
    let absolute = |path: &str| scratch.path(path).to_str().unwrap().to_owned();
    for path in [
        "ws/a.txt",
        "ws/./a.txt",
        "ws/../ws/a.txt",
        "ws2/../ws/a.txt",
        "ws//a.txt",
    ] {
        let text = read(&workspace, &absolute(path)).await;
        assert_eq!(text.unwrap(), "inside", "{path}");
    }
    for path in [
        "ws2/a.txt",
        "w/a.txt",
        "ws/../ws2/a.txt",
        "ws/../../etc/passwd",
        "",
    ] {
        let result = read(&workspace, &absolute(path)).await;
        refused(result, ErrorKind::Denied, "outside");
    }
    for path in [
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/..",
        "../../../../../../etc/passwd",
    ] {
        refused(read(&workspace, path).await, ErrorKind::Denied, "outside");
    }
}

#[tokio::test]
async fn a_grant_that_goes_through_a_link_is_known_by_both_its_paths() {
    let scratch = Scratch::new();
    scratch.write("real/ws/a.txt", "inside");
    scratch.link("real", "alias");
    let given = scratch.path("alias/ws");
    let folder = Folder {
        path: given.clone(),
        writable: true,
    };
    let workspace = Workspace::open(&Anchors::default(), &given, &[folder]).unwrap();
    let paths = [
        "a.txt".into(),
        given.join("a.txt"),
        scratch.path("real/ws/a.txt"),
    ];
    for path in paths {
        let text = read(&workspace, path.to_str().unwrap()).await;
        assert_eq!(text.unwrap(), "inside", "{path:?}");
    }
}

#[tokio::test]
async fn several_grants_are_one_place_with_several_rights() {
    let scratch = Scratch::new();
    let base = scratch.write("docs/manual.md", "text");
    scratch.write("ws/vendor/lib.rs", "text");
    scratch.write("ws/vendor/patched/lib.rs", "text");
    scratch.link("../docs/manual.md", "ws/manual");
    scratch.link(scratch.path("docs"), "ws/docs");
    let workspace = scratch.granted(&[
        ("ws", true),
        ("docs", false),
        ("ws/vendor", false),
        ("ws/vendor/patched", true),
    ]);
    let manual = scratch.path("docs/manual.md");
    for path in [
        "../docs/manual.md",
        "manual",
        "docs/manual.md",
        manual.to_str().unwrap(),
    ] {
        assert_eq!(read(&workspace, path).await.unwrap(), "text", "{path}");
        let replaced = workspace.replace(path, b"new".into(), Some(&base)).await;
        refused(replaced, ErrorKind::Denied, "read-only");
    }
    refused(
        workspace
            .replace("vendor/lib.rs", b"new".into(), Some(&base))
            .await,
        ErrorKind::Denied,
        "read-only",
    );
    refused(
        workspace.remove("vendor/lib.rs", &base).await,
        ErrorKind::Denied,
        "read-only",
    );
    let before = scratch.tree();
    for path in ["vendor/new/file.rs", "docs/new/file.md", "docs/new.md"] {
        let created = workspace.replace(path, b"new".into(), None).await;
        refused(created, ErrorKind::Denied, "read-only");
    }
    assert_eq!(scratch.tree(), before);
    let patched = workspace
        .replace("vendor/patched/lib.rs", b"new".into(), Some(&base))
        .await;
    patched.unwrap();
    // The link itself may go: it stands in a writable folder.
    workspace.remove("manual", &base).await.unwrap();
    assert!(manual.exists() && !scratch.path("ws/manual").exists());
}

#[tokio::test]
async fn a_relative_path_is_refused_when_the_session_is_not_granted() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "secret");
    scratch.write("docs/a.txt", "text");
    let workspace = scratch.granted(&[("docs", false)]);
    refused(
        read(&workspace, "a.txt").await,
        ErrorKind::Denied,
        "outside",
    );
    refused(
        workspace.list_items(".").await,
        ErrorKind::Denied,
        "outside",
    );
    assert_eq!(read(&workspace, "../docs/a.txt").await.unwrap(), "text");
    let nothing = scratch.granted(&[]);
    refused(read(&nothing, "a.txt").await, ErrorKind::Denied, "outside");
}

#[tokio::test]
async fn a_missing_grant_is_unavailable() {
    let scratch = Scratch::new();
    let folder = Folder {
        path: scratch.path("missing"),
        writable: false,
    };
    let opened = Workspace::open(&Anchors::default(), &scratch.path("ws"), &[folder]);
    refused(opened, ErrorKind::Unavailable, "folder");
}

#[tokio::test]
async fn odd_paths_are_clear_errors() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "text");
    let long = "x".repeat(300);
    let workspace = scratch.workspace();
    for (path, kind, code) in [
        ("", ErrorKind::Invalid, "path"),
        ("a\0b", ErrorKind::Invalid, "path"),
        ("\0", ErrorKind::Invalid, "path"),
        (long.as_str(), ErrorKind::Invalid, "path"),
        ("~/.ssh/id", ErrorKind::NotFound, "missing"),
        ("$HOME/x", ErrorKind::NotFound, "missing"),
        ("a.txt/b", ErrorKind::Invalid, "not-a-folder"),
        ("a.txt/", ErrorKind::Invalid, "not-a-folder"),
        ("a.txt/..", ErrorKind::Invalid, "not-a-folder"),
        (".", ErrorKind::Invalid, "not-a-file"),
        ("./", ErrorKind::Invalid, "not-a-file"),
        ("missing/a.txt", ErrorKind::NotFound, "missing"),
    ] {
        refused(read(&workspace, path).await, kind, code);
    }
    let created = workspace.replace("~/x.txt", b"new".into(), None).await;
    created.unwrap();
    assert!(scratch.path("ws/~/x.txt").exists());
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_refused_at_once() {
    let scratch = Scratch::new();
    let base = digest("");
    assert!(
        Command::new("mkfifo")
            .arg(scratch.path("ws/pipe"))
            .status()
            .unwrap()
            .success()
    );
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("ws/socket")).unwrap();
    scratch.link("/dev/zero", "ws/zero");
    scratch.link("pipe", "ws/to-pipe");
    // A walk meets an ignore file that is a pipe, too.
    assert!(
        Command::new("mkfifo")
            .arg(scratch.path("ws/.gitignore"))
            .status()
            .unwrap()
            .success()
    );
    let workspace = scratch.workspace();
    let work = async {
        for path in ["pipe", "to-pipe", "socket"] {
            refused(
                read(&workspace, path).await,
                ErrorKind::Invalid,
                "not-a-file",
            );
            let replaced = workspace.replace(path, b"new".into(), Some(&base)).await;
            refused(replaced, ErrorKind::Invalid, "not-a-file");
            let created = workspace.replace(path, b"new".into(), None).await;
            refused(created, ErrorKind::Conflict, "exists");
            let removed = workspace.remove(path, &base).await;
            refused(removed, ErrorKind::Invalid, "not-a-file");
        }
        refused(read(&workspace, "zero").await, ErrorKind::Denied, "outside");
        assert!(workspace.search("x", None, 9).await.unwrap().is_empty());
        let nodes: Vec<_> = workspace.list_items(".").await.unwrap();
        assert!(
            nodes.iter().all(|item| item.node == Node::Other),
            "{nodes:?}"
        );
    };
    timeout(Duration::from_secs(10), work).await.unwrap();
    // A granted folder with real devices in it.
    let folder = Folder {
        path: "/dev".into(),
        writable: true,
    };
    let devices = Workspace::open(&Anchors::default(), "/dev".as_ref(), &[folder]).unwrap();
    for path in ["zero", "null", "tty"] {
        refused(read(&devices, path).await, ErrorKind::Invalid, "not-a-file");
        let replaced = devices.replace(path, b"x".into(), Some(&base)).await;
        refused(replaced, ErrorKind::Invalid, "not-a-file");
    }
}

/// Swaps `ws/d` for a link to a folder outside and back, as fast as it can, while `work` runs.
async fn while_swapping<F: Future<Output = ()>>(scratch: &Scratch, work: F) {
    scratch.link(scratch.path("out"), "ws/link");
    let (folder, link) = (scratch.path("ws/d"), scratch.path("ws/link"));
    let done = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&done);
    let swapping = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        }
    });
    work.await;
    done.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
}

#[tokio::test]
async fn a_folder_swapped_for_a_link_while_writing_does_not_lead_out() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("out")).unwrap();
    fs::create_dir_all(scratch.path("ws/d")).unwrap();
    let workspace = scratch.workspace();
    let mut outcomes = [0, 0];
    while_swapping(&scratch, async {
        for number in 0..1500 {
            let path = format!("d/x{number}");
            let created = workspace.replace(&path, b"new".into(), None).await;
            outcomes[usize::from(created.is_ok())] += 1;
        }
    })
    .await;
    let escaped: Vec<_> = fs::read_dir(scratch.path("out")).unwrap().collect();
    assert!(escaped.is_empty(), "{escaped:?}");
    assert!(outcomes[1] > 0, "the race was never won: {outcomes:?}");
}

#[tokio::test]
async fn a_folder_swapped_for_a_link_while_reading_does_not_lead_out() {
    let scratch = Scratch::new();
    scratch.write("out/file.txt", "secret");
    scratch.write("out/only-outside.txt", "secret");
    let base = scratch.write("ws/d/file.txt", "inside");
    let workspace = scratch.workspace();
    while_swapping(&scratch, async {
        for _ in 0..500 {
            if let Ok(text) = read(&workspace, "d/file.txt").await {
                assert_eq!(text, "inside");
            }
            let _ = workspace
                .replace("d/file.txt", b"inside".into(), Some(&base))
                .await;
            for item in workspace.find("**/*.txt", 9).await.unwrap() {
                assert!(!item.path.contains("only-outside"), "{item:?}");
            }
            let found = workspace.search("secret", None, 9).await.unwrap();
            assert_eq!(found, []);
            if let Ok(items) = workspace.list_items("d").await {
                assert!(!items.iter().any(|item| item.path.contains("only-outside")));
            }
        }
    })
    .await;
    assert_eq!(scratch.text("out/file.txt"), "secret");
}

#[tokio::test]
async fn a_grant_stays_the_folder_it_was() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "inside");
    scratch.write("out/a.txt", "secret");
    let workspace = scratch.workspace();
    fs::rename(scratch.path("ws"), scratch.path("moved")).unwrap();
    scratch.link(scratch.path("out"), "ws");
    assert_eq!(read(&workspace, "a.txt").await.unwrap(), "inside");
}
