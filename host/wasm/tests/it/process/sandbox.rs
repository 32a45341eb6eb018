//! A program changes files only where its grant says, and has no network that is not granted,
//! whatever it is told to do. Where the kernel cannot hold it, nothing runs that must be held.

use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::process::{Command, Completed, Permissions, Policy, Processes, support};
use raddle_wasm::imports::workspace::Anchors;

use super::{permissions, refused, text};

/// A folder that is not the one for temporary files, which all may change.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("sandbox")
        .join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(folder.join("own")).unwrap();
    fs::create_dir_all(folder.join("other")).unwrap();
    fs::write(folder.join("other/known"), "as it was").unwrap();
    folder
}

fn held(folder: &Path, network: bool) -> Permissions {
    Permissions {
        policy: Some(Policy {
            write: vec![folder.join("own")],
            network,
        }),
        ..permissions(&folder.join("own"))
    }
}

async fn bash(permissions: &Permissions, line: &str) -> Option<Completed> {
    let opened = Processes::open(&Anchors::default(), permissions);
    if let Err(why) = support() {
        // It says so, and nothing runs.
        refused(opened, ErrorKind::Unavailable, "sandbox");
        assert!(!why.to_string().is_empty());
        return None;
    }
    let command = Command {
        program: "bash".to_owned(),
        arguments: ["-c", line].map(str::to_owned).to_vec(),
        max_output: 64 * 1024,
        merge: true,
        ..Command::default()
    };
    Some(opened.unwrap().run(&command, None).await.unwrap())
}

#[tokio::test]
async fn files_are_changed_only_in_granted_folders() {
    let folder = folder("files");
    let permissions = held(&folder, false);
    let line = "echo mine > here && mkdir -p deep/er && mv here deep/er/ && cat ../other/known \
                && echo x > /dev/null";
    let Some(done) = bash(&permissions, line).await else {
        return;
    };
    assert_eq!((done.code, text(&done.output)), (Some(0), "as it was"));
    for line in [
        "echo new > ../other/new",
        "echo more >> ../other/known",
        ": > ../other/known",
        "truncate -s 0 ../other/known",
        "rm ../other/known",
        "mv ../other/known here",
        "ln ../other/known here && echo x > here",
        "mkdir ../other/folder",
        "ln -s ../other/known link; echo x > link",
        "bash -c 'setsid -w bash -c \"echo x > ../other/known\"'",
        "chmod 600 /etc/passwd 2>/dev/null; echo x >> /etc/passwd",
    ] {
        let done = bash(&permissions, line).await.unwrap();
        assert_ne!(done.code, Some(0), "{line}: {}", text(&done.output));
    }
    assert_eq!(
        fs::read_to_string(folder.join("other/known")).unwrap(),
        "as it was"
    );
    assert_eq!(fs::read_dir(folder.join("other")).unwrap().count(), 1);
}

#[tokio::test]
async fn the_network_is_a_grant_of_its_own() {
    let folder = folder("network");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo hello >&3");
    let Some(done) = bash(&held(&folder, false), &line).await else {
        return;
    };
    assert_ne!(done.code, Some(0));
    assert!(
        text(&done.output).contains("not permitted"),
        "{}",
        text(&done.output)
    );
    let udp = format!("exec 3<>/dev/udp/127.0.0.1/{port}");
    assert_ne!(
        bash(&held(&folder, false), &udp).await.unwrap().code,
        Some(0)
    );

    let done = bash(&held(&folder, true), &line).await.unwrap();
    assert_eq!(done.code, Some(0), "{}", text(&done.output));
    let mut heard = String::new();
    listener
        .accept()
        .unwrap()
        .0
        .read_to_string(&mut heard)
        .unwrap();
    assert_eq!(heard, "hello\n");
}

/// What holds one program holds no other one, and not this process.
#[tokio::test]
async fn only_the_programs_of_the_policy_are_held() {
    let folder = folder("others");
    let line = "echo new > ../other/new";
    let Some(done) = bash(&held(&folder, false), line).await else {
        return;
    };
    assert_ne!(done.code, Some(0));
    let free = bash(&permissions(&folder.join("own")), line).await.unwrap();
    assert_eq!(free.code, Some(0), "{}", text(&free.output));
    fs::write(folder.join("other/new"), "by the test").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0");
    assert!(listener.is_ok());
}
