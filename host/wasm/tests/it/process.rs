//! Programs of the host, with a real bash.

mod cases;
mod ending;
mod output;
mod permissions;
mod sandbox;
mod talking;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use raddle_core::plugins::{DomainError, ErrorKind, Fact};
use raddle_wasm::imports::process::{Command, Completed, Permissions, Processes};
use raddle_wasm::imports::workspace::Anchors;
use tempfile::TempDir;

/// Runs bash for one test, and knows what it left behind.
struct Shell {
    folder: TempDir,
    processes: Processes,
    mark: String,
}

impl Shell {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = TempDir::new().unwrap();
        let processes = Processes::open(&Anchors::default(), &permissions(folder.path())).unwrap();
        Self {
            folder,
            processes,
            mark: format!("{}.{number}", std::process::id()),
        }
    }

    fn command(&self, script: &str) -> Command {
        Command {
            program: "bash".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: vec![fact("TEST_MARK", &self.mark)],
            timeout: Some(Duration::from_secs(120)),
            max_output: 100_000,
            ..Command::default()
        }
    }

    async fn try_run(&self, command: &Command) -> Result<Completed, DomainError> {
        // Far more than anything here takes; a hang must not hang the tests.
        let running = self.processes.run(command, None);
        tokio::time::timeout(Duration::from_secs(60), running)
            .await
            .expect("hangs")
    }

    async fn run(&self, script: &str) -> Completed {
        self.try_run(&self.command(script)).await.unwrap()
    }

    /// Living processes that this shell started, by name. Zombies are those of the init process.
    fn left(&self) -> Vec<String> {
        let mark = format!("TEST_MARK={}", self.mark);
        living(|id| {
            let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|pair| pair == mark.as_bytes())
        })
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        for process in self.left() {
            let id = process.split(' ').next().unwrap_or_default();
            drop(
                std::process::Command::new("kill")
                    .args(["-KILL", id])
                    .status(),
            );
        }
    }
}

fn permissions(folder: &Path) -> Permissions {
    Permissions {
        programs: vec!["bash".to_owned()],
        directory: folder.to_owned(),
        environment: vec!["TEST_MARK".to_owned()],
        withheld: Vec::new(),
        host_environment: BTreeMap::from([("PATH".to_owned(), std::env::var_os("PATH").unwrap())]),
        watcher: None,
        policy: None,
    }
}

fn fact(name: &str, value: &str) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

/// Processes that `wanted` picks by id and that are no zombies, as `ID NAME`.
fn living(wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let name = entry.unwrap().file_name();
        let id = name.to_str().unwrap();
        if id.bytes().all(|byte| byte.is_ascii_digit()) && wanted(id) {
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
            if !status.is_empty() && !status.contains("State:\tZ") {
                let name = status.lines().next().unwrap_or_default();
                found.push(format!("{id} {name}"));
            }
        }
    }
    found
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, DomainError>, kind: ErrorKind, code: &str) {
    let error = result.unwrap_err();
    assert_eq!((error.kind, error.code.as_str()), (kind, code), "{error}");
}
