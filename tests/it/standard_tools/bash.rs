//! `bash`: real processes.

use std::fs;
use std::time::{Duration, Instant};

use raddle_core::plugins::ErrorKind;
use serde_json::{Value, json};

use super::{Bench, Directory, Grants, Limits, ProcessGrant};

async fn bash(programs: &[&str], settings: Value) -> Bench {
    let grants = Grants {
        process: Some(ProcessGrant {
            programs: programs.iter().map(|name| (*name).to_owned()).collect(),
            directory: Directory::Session,
            environment: Vec::new(),
            ..ProcessGrant::default()
        }),
        ..Grants::default()
    };
    Bench::of("bash", settings, grants, Limits::default()).await
}

async fn run(bash: &Bench, command: &str) -> String {
    bash.call("bash", json!({ "command": command }))
        .await
        .unwrap()
}

/// Whether the process whose id a command wrote into `file` still runs.
fn runs(bash: &Bench, file: &str) -> bool {
    let id = bash.text(file);
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim()));
    // One that has ended and was not waited for yet does not run.
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Processes end a moment after they are told to.
fn assert_ends(bash: &Bench, file: &str) {
    let start = Instant::now();
    while runs(bash, file) {
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{file} still runs"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn every_result_ends_with_the_marker() {
    let bash = bash(&["bash"], json!({})).await;
    assert_eq!(run(&bash, "true").await, "[exit code: 0]");
    assert_eq!(run(&bash, "exit 3").await, "[exit code: 3]");
    assert_eq!(
        run(&bash, "echo out; echo err >&2; kill -9 $$").await,
        "out\nerr\n[ended by signal 9]\n[exit code: 137]"
    );
    assert_eq!(run(&bash, "cat").await, "[exit code: 0]");
    let text = run(&bash, "cd /nonexistent").await;
    assert!(text.contains("No such file or directory"), "{text}");
    assert!(text.ends_with("\n[exit code: 1]"), "{text}");
}

#[tokio::test]
async fn commands_run_in_the_session_and_are_seen_as_they_run() {
    let bash = bash(&["bash"], json!({})).await;
    bash.put("here", "");
    assert_eq!(run(&bash, "ls").await, "here\n[exit code: 0]");
    assert_eq!(*bash.session.output.lock().unwrap(), "here\n");
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let bash = bash(&["bash"], json!({})).await;
    let text = bash
        .call(
            "bash",
            json!({
                "command": "echo so far; trap '' TERM; echo $$ > parent; \
                    (trap '' TERM; echo $BASHPID > child; while :; do sleep 1; done) & \
                    while :; do sleep 1; done",
                "timeout_seconds": 1,
            }),
        )
        .await
        .unwrap();
    assert_eq!(
        text,
        "so far\n[ended after 1 seconds: timeout]\n[exit code: 124]"
    );
    assert_ends(&bash, "parent");
    assert_ends(&bash, "child");
}

#[tokio::test]
async fn background_children_hold_nothing_up() {
    let bash = bash(&["bash"], json!({})).await;
    for command in [
        "sleep 300 & echo $! > child; echo started",
        "setsid sleep 300 & echo $! > child; echo started",
    ] {
        let start = Instant::now();
        assert_eq!(run(&bash, command).await, "started\n[exit code: 0]");
        assert!(start.elapsed() < Duration::from_secs(20), "{command}");
        assert_ends(&bash, "child");
    }
}

#[tokio::test]
async fn much_output_is_cut_and_binary_is_named() {
    let bash = bash(&["bash"], json!({})).await;
    assert_eq!(
        run(&bash, "head -c 50000000 /dev/zero").await,
        "[binary output of 50000000 bytes, not shown]\n[exit code: 0]"
    );
    let text = run(&bash, "yes 語 | head -c 40000000").await;
    assert!(text.len() < 33_000, "{}", text.len());
    assert!(text.contains("bytes left out]\n"), "{text}");
    assert!(!text.contains('\u{FFFD}'));
    assert!(text.ends_with("\n[exit code: 0]"));
}

#[tokio::test]
async fn only_granted_programs_run() {
    let bash = bash(&["sh"], json!({})).await;
    let error = bash
        .call("bash", json!({ "command": "true" }))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Denied, "{error}");
}
