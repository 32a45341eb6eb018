//! Replacing and removing.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::workspace::{Anchors, Folder, Workspace};

use super::{Scratch, digest, refused};

#[tokio::test]
async fn a_new_file_comes_with_its_folders_and_only_once() {
    let scratch = Scratch::new();
    let workspace = scratch.workspace();
    let path = "a/b/c/new.txt";
    let new = workspace.replace(path, b"text".into(), None).await.unwrap();
    assert_eq!(new.to_string(), digest("text"));
    assert_eq!(scratch.text("ws/a/b/c/new.txt"), "text");
    let again = workspace.replace(path, b"other".into(), None).await;
    refused(again, ErrorKind::Conflict, "exists");
    refused(
        workspace.replace("a/b", b"x".into(), None).await,
        ErrorKind::Invalid,
        "not-a-file",
    );
    assert_eq!(scratch.text("ws/a/b/c/new.txt"), "text");
    assert_eq!(
        scratch.tree(),
        ["ws", "ws/a", "ws/a/b", "ws/a/b/c", "ws/a/b/c/new.txt"]
    );
}

#[tokio::test]
async fn a_deep_path_is_made_whole() {
    let scratch = Scratch::new();
    let path = format!("{}new.txt", "x/".repeat(100));
    let workspace = scratch.workspace();
    workspace
        .replace(&path, b"text".into(), None)
        .await
        .unwrap();
    assert_eq!(scratch.text(&format!("ws/{path}")), "text");
}

#[tokio::test]
async fn a_new_file_has_the_mode_any_new_file_has() {
    let scratch = Scratch::new();
    scratch.write("ws/usual", "");
    scratch
        .workspace()
        .replace("new", b"".into(), None)
        .await
        .unwrap();
    let mode = |path| fs::metadata(scratch.path(path)).unwrap().mode();
    assert_eq!(mode("ws/new"), mode("ws/usual"));
}

#[tokio::test]
async fn what_changed_in_the_meantime_is_stale() {
    let scratch = Scratch::new();
    let base = scratch.write("ws/a.txt", "old");
    let workspace = scratch.workspace();
    scratch.write("ws/a.txt", "theirs");
    let replaced = workspace
        .replace("a.txt", b"ours".into(), Some(&base))
        .await;
    refused(replaced, ErrorKind::Conflict, "stale");
    refused(
        workspace.remove("a.txt", &base).await,
        ErrorKind::Conflict,
        "stale",
    );
    assert_eq!(scratch.text("ws/a.txt"), "theirs");
    fs::remove_file(scratch.path("ws/a.txt")).unwrap();
    let replaced = workspace
        .replace("a.txt", b"ours".into(), Some(&base))
        .await;
    refused(replaced, ErrorKind::Conflict, "stale");
    let replaced = workspace
        .replace("gone/a.txt", b"ours".into(), Some(&base))
        .await;
    refused(replaced, ErrorKind::Conflict, "stale");
    assert_eq!(scratch.tree(), ["ws"]);
}

#[tokio::test]
async fn a_base_that_is_no_digest_is_invalid() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "old");
    let workspace = scratch.workspace();
    let replaced = workspace
        .replace("a.txt", b"new".into(), Some("sha256:old"))
        .await;
    refused(replaced, ErrorKind::Invalid, "digest");
    refused(
        workspace.remove("a.txt", "").await,
        ErrorKind::Invalid,
        "digest",
    );
}

#[tokio::test]
async fn mode_and_owner_stay() {
    let scratch = Scratch::new();
    let workspace = scratch.workspace();
    let path = scratch.path("ws/tool");
    let mut base = scratch.write("ws/tool", "old");
    // Only root may give files away.
    let (owner, group) = match std::os::unix::fs::chown(&path, Some(1234), Some(4321)) {
        Ok(()) => (1234, 4321),
        Err(_) => {
            let metadata = fs::metadata(&path).unwrap();
            (metadata.uid(), metadata.gid())
        }
    };
    for mode in [0o755, 0o600, 0o640, 0o4755, 0o2775, 0o666] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let text = format!("mode {mode:o}");
        let new = workspace
            .replace("tool", text.clone().into(), Some(&base))
            .await;
        base = new.unwrap().to_string();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.mode() & 0o7777, mode);
        assert_eq!((metadata.uid(), metadata.gid()), (owner, group));
        assert_eq!(scratch.text("ws/tool"), text);
    }
}

#[tokio::test]
async fn a_file_without_write_permission_is_read_only() {
    let scratch = Scratch::new();
    let base = scratch.write("ws/locked", "old");
    fs::set_permissions(scratch.path("ws/locked"), fs::Permissions::from_mode(0o444)).unwrap();
    let may_write = fs::OpenOptions::new()
        .write(true)
        .open(scratch.path("ws/locked"))
        .is_ok();
    let workspace = scratch.workspace();
    let replaced = workspace
        .replace("locked", b"new".into(), Some(&base))
        .await;
    // Root may write to it, and so may we then.
    if may_write {
        replaced.unwrap();
    } else {
        refused(replaced, ErrorKind::Denied, "read-only");
    }
}

#[tokio::test]
async fn a_grant_for_reading_only_reads() {
    let scratch = Scratch::new();
    let base = scratch.write("ws/a.txt", "old");
    let workspace = scratch.granted(&[("ws", false)]);
    let before = scratch.tree();
    for path in ["new.txt", "x/y/new.txt"] {
        let created = workspace.replace(path, b"new".into(), None).await;
        refused(created, ErrorKind::Denied, "read-only");
    }
    let replaced = workspace.replace("a.txt", b"new".into(), Some(&base)).await;
    refused(replaced, ErrorKind::Denied, "read-only");
    refused(
        workspace.remove("a.txt", &base).await,
        ErrorKind::Denied,
        "read-only",
    );
    workspace.read("a.txt", 0, 1).await.unwrap();
    assert_eq!(scratch.tree(), before);
    assert_eq!(scratch.text("ws/a.txt"), "old");
}

#[tokio::test]
async fn removing_a_link_leaves_what_it_leads_to() {
    let scratch = Scratch::new();
    let base = scratch.write("ws/a.txt", "text");
    scratch.write("ws/folder/b.txt", "text");
    scratch.link("a.txt", "ws/link");
    let workspace = scratch.workspace();
    workspace.remove("link", &base).await.unwrap();
    assert_eq!(scratch.text("ws/a.txt"), "text");
    workspace.remove("a.txt", &base).await.unwrap();
    refused(
        workspace.remove("a.txt", &base).await,
        ErrorKind::NotFound,
        "missing",
    );
    refused(
        workspace.remove("folder", &base).await,
        ErrorKind::Invalid,
        "not-a-file",
    );
    refused(
        workspace.remove(".", &base).await,
        ErrorKind::Invalid,
        "not-a-file",
    );
    assert_eq!(scratch.tree(), ["ws", "ws/folder", "ws/folder/b.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_writers_on_one_file_one_wins_each_time() {
    let scratch = Scratch::new();
    let mut base = scratch.write("ws/a.txt", "start");
    for round in 0..20 {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (workspace, base) = (scratch.workspace(), base.clone());
                tokio::spawn(async move {
                    let text = format!("round {round}, writer {writer}");
                    workspace.replace("a.txt", text.into(), Some(&base)).await
                })
            })
            .collect();
        let mut won = Vec::new();
        for writer in writers {
            match writer.await.unwrap() {
                Ok(digest) => won.push(digest.to_string()),
                Err(error) => assert_eq!(error.code, "stale"),
            }
        }
        assert_eq!(won.len(), 1);
        base = digest(scratch.text("ws/a.txt"));
        assert_eq!(won[0], base);
    }
    assert_eq!(scratch.tree(), ["ws", "ws/a.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_creators_of_one_file_one_wins() {
    let scratch = Scratch::new();
    for round in 0..20 {
        let path = format!("new/{round}.txt");
        let creators: Vec<_> = (0..8)
            .map(|creator| {
                let (workspace, path) = (scratch.workspace(), path.clone());
                tokio::spawn(async move {
                    workspace
                        .replace(&path, format!("{creator}").into(), None)
                        .await
                })
            })
            .collect();
        let mut won = 0;
        for creator in creators {
            match creator.await.unwrap() {
                Ok(_) => won += 1,
                Err(error) => assert_eq!(error.code, "exists"),
            }
        }
        assert_eq!(won, 1);
    }
}

/// A program rewrites the file an edit is about.
#[tokio::test]
async fn an_edit_beside_a_program_that_rewrites_the_file_loses_nothing() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "0\n");
    let script = "for i in $(seq 1 400); do echo line $i > next; mv next a.txt; done";
    let mut program = Command::new("bash")
        .args(["-c", script])
        .current_dir(scratch.path("ws"))
        .spawn()
        .unwrap();
    let workspace = scratch.workspace();
    while program.try_wait().unwrap().is_none() {
        let Ok(seen) = workspace.read("a.txt", 0, 100).await else {
            continue;
        };
        let base = seen.digest.to_string();
        let edited = workspace
            .replace("a.txt", b"edited\n".into(), Some(&base))
            .await;
        assert!(edited.is_ok() || edited.unwrap_err().code == "stale");
    }
    // Whatever happened in between, it is one of the two whole texts.
    let text = scratch.text("ws/a.txt");
    assert!(text == "line 400\n" || text == "edited\n", "{text:?}");
    assert_eq!(scratch.tree(), ["ws", "ws/a.txt"]);
}

/// Readers see the old or the new bytes, never a part.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_never_see_half_a_file() {
    let scratch = Scratch::new();
    let texts = ["a".repeat(300_000), "b".repeat(200_000)];
    let mut base = scratch.write("ws/a.txt", &texts[0]);
    let path = scratch.path("ws/a.txt");
    let expected = texts.clone();
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let reader = std::thread::spawn(move || {
        let mut reads = 0;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(expected.contains(&text), "{} bytes", text.len());
            reads += 1;
        }
        reads
    });
    let workspace = scratch.workspace();
    for number in 1..100 {
        let text = texts[number % 2].clone();
        let new = workspace.replace("a.txt", text.into(), Some(&base)).await;
        base = new.unwrap().to_string();
    }
    drop(stop);
    assert!(reader.join().unwrap() > 0);
}

#[tokio::test]
async fn a_write_that_fails_leaves_nothing_behind() {
    let scratch = Scratch::new();
    let base = scratch.write("ws/a.txt", "old");
    // Nothing can be written to a folder that is gone but still open.
    let workspace = scratch.workspace();
    fs::remove_file(scratch.path("ws/a.txt")).unwrap();
    fs::remove_dir(scratch.path("ws")).unwrap();
    let created = workspace.replace("b.txt", b"new".into(), None).await;
    assert!(created.is_err());
    let replaced = workspace.replace("a.txt", b"new".into(), Some(&base)).await;
    refused(replaced, ErrorKind::Conflict, "stale");
    assert_eq!(scratch.tree(), [""; 0]);
}

/// The process is killed while it writes.
#[test]
fn a_killed_writer_leaves_a_whole_file_with_its_mode() {
    const FOLDER: &str = "TEST_KILLED_WRITER";
    const NAME: &str = "workspace::writing::a_killed_writer_leaves_a_whole_file_with_its_mode";
    if let Some(folder) = std::env::var_os(FOLDER) {
        write_for_ever(folder.as_ref());
    }
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "a".repeat(1_000_000));
    let path = scratch.path("ws/a.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    for round in 0..10 {
        let before = digest(fs::read(&path).unwrap());
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", NAME])
            .env(FOLDER, scratch.path("ws"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while digest(fs::read(&path).unwrap()) == before {
            assert!(writer.try_wait().unwrap().is_none(), "the writer gave up");
        }
        std::thread::sleep(std::time::Duration::from_micros(700 * round));
        writer.kill().unwrap();
        writer.wait().unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 1_000_000);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    }
}

/// Replaces `a.txt` again and again, until it is killed.
fn write_for_ever(folder: &Path) -> ! {
    let granted = Folder {
        path: folder.to_owned(),
        writable: true,
    };
    let workspace = Workspace::open(&Anchors::default(), folder, &[granted]).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        loop {
            for letter in *b"bcdefgh" {
                let seen = workspace.read("a.txt", 0, 0).await.unwrap();
                let base = seen.digest.to_string();
                let bytes = vec![letter; 1_000_000];
                workspace
                    .replace("a.txt", bytes, Some(&base))
                    .await
                    .unwrap();
            }
        }
    })
}
