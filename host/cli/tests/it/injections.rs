//! Another process tells a session what happened.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Done, Home};

const DEPLOYMENT: &str = r#"
[plugins.bash]
source = "std:bash"
grants.process = { programs = ["bash"], cwd = "<session>" }

[plugins.injections]
source = "std:injections"

[model]
provider = "openai-chat"
name = "recorded"

[[permission.rule]]
tool = "bash"
action = "allow"
"#;

/// A command that waits for a file, and what the request after it must hold.
fn recording() -> String {
    let wait = "until [ -e go ]; do sleep 0.02; done";
    let steps = [
        json!({"key": "main/1/1",
            "expect": [{"pointer": "/input/0/content/0/text", "contains": "Wait."}],
            "chunks": [{"call": {"name": "bash", "arguments": {"command": wait}}}, {"finish": "toolCalls"}]}),
        json!({"key": "main/1/2",
            "expect": [{"pointer": "/input/3/content/0/text", "contains": "<artifact_update id="}],
            "chunks": [{"text": "I have read it again."}, {"finish": "stop"}]}),
    ];
    steps.map(|step| step.to_string()).join("\n")
}

#[test]
fn a_running_session_is_told_before_its_next_request_and_keeps_the_receipt() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    home.write("recording.jsonl", &recording());
    let mut running = home
        .command(["exec", "Wait.", "--json", "--recording", "recording.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(running.stdout.take().expect("stdout")).lines();
    let session = loop {
        let line = lines.next().expect("a call is announced").expect("text");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        if event["type"] == "tool.call" {
            break event["session"].as_str().expect("an id").to_owned();
        }
    };
    let inject = [
        "session",
        "inject",
        &session,
        "--kind",
        "artifact_update",
        "--summary",
        "The user edited the audience.",
        "--event-id",
        "evt_1",
        "--path",
        "brief.xml",
        "--revision",
        "sha256:abc",
        "--actor",
        "user",
        "--details",
        r#"{"change": "content_saved"}"#,
    ];
    let told = home.good(inject);
    assert_eq!(told, "evt_1 queued\n");
    assert_eq!(home.good(inject), "evt_1 queued\n");
    fs::write(home.work().join("go"), "").expect("the file is written");

    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let mut complaint = String::new();
    let mut stderr = running.stderr.take().expect("stderr");
    stderr.read_to_string(&mut complaint).expect("text");
    assert!(running.wait().expect("an end").success(), "{complaint}");
    let types = |kind: &str| {
        let kind = format!("\"type\":\"{kind}\"");
        rest.iter().filter(|line| line.contains(&kind)).count()
    };
    assert_eq!(types("injection.delivered"), 1, "once, although left twice");
    let shown = home.good(["session", "show", &session]);
    for line in [
        "evt_1 artifact_update: The user edited the audience.",
        "injection.queued",
        "evt_1 <artifact_update id=\"evt_1\" ref=\"file:brief.xml\" revision=\"sha256:abc\"",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    home.good(["session", "verify", &session]);

    assert_eq!(home.good(inject), "evt_1 delivered at 1/2\n");

    // Idle: it waits for the next message, and nothing starts.
    home.good([
        "session",
        "inject",
        &session,
        "--kind",
        "system_note",
        "--summary",
        "Later.",
    ]);
    let after = home.good(["session", "show", &session]);
    assert_eq!(after, shown);
}

#[test]
fn the_agent_dismisses_an_update_it_was_told_and_no_other() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    let dismiss = |id: &str| json!({"call": {"name": "dismiss_update", "arguments": {"id": id, "reason": "not mine"}}});
    let wait = "until [ -e go ]; do sleep 0.02; done";
    let steps = [
        json!({"key": "main/1/1",
            "expect": [{"pointer": "/instructions", "contains": "record with dismiss_update why"}],
            "chunks": [{"call": {"name": "bash", "arguments": {"command": wait}}}, {"finish": "toolCalls"}]}),
        json!({"key": "main/1/2",
            "expect": [{"pointer": "/input/3/content/0/text", "contains": "<system_update id=\"evt_1\">"}],
            "chunks": [dismiss("evt_1"), dismiss("evt_2"), {"finish": "toolCalls"}]}),
        json!({"key": "main/1/3",
            "expect": [{"pointer": "/input/6/output", "equals": "evt_1 is dismissed"},
                       {"pointer": "/input/7/output", "contains": "there is no update `evt_2`"}],
            "chunks": [{"text": "Noted."}, {"finish": "stop"}]}),
    ];
    home.write(
        "recording.jsonl",
        &steps.map(|step| step.to_string()).join("\n"),
    );
    let mut running = home
        .command(["exec", "Wait.", "--json", "--recording", "recording.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(running.stdout.take().expect("stdout")).lines();
    let session = loop {
        let line = lines.next().expect("a call is announced").expect("text");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        if event["type"] == "tool.call" {
            break event["session"].as_str().expect("an id").to_owned();
        }
    };
    let inject = [
        "session",
        "inject",
        &session,
        "--kind",
        "system_update",
        "--summary",
        "Moved.",
        "--event-id",
        "evt_1",
    ];
    home.good(inject);
    fs::write(home.work().join("go"), "").expect("the file is written");
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let mut complaint = String::new();
    let mut stderr = running.stderr.take().expect("stderr");
    stderr.read_to_string(&mut complaint).expect("text");
    assert!(
        running.wait().expect("an end").success(),
        "{complaint} {rest:#?}"
    );
    assert_eq!(home.good(inject), "evt_1 dismissed: not mine\n");
}

#[test]
fn what_no_session_would_take_is_refused_with_every_fault() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    home.write("recording.jsonl", &recording());
    fs::write(home.work().join("go"), "").expect("the file is written");
    home.run(["exec", "Wait.", "--recording", "recording.jsonl"]);
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let session = list[0]["id"].as_str().expect("an id");
    let refused = |arguments: &[&str], code: i32| -> String {
        let command = ["session", "inject", session, "--kind"];
        let Done {
            code: found,
            stdout,
            stderr,
        } = home.run(command.iter().chain(arguments));
        assert_eq!((found, stdout.as_str()), (Some(code), ""), "{stderr}");
        stderr
    };
    let told = refused(&["system_override", "--summary", " ", "--at", "now"], 1);
    assert_eq!(told.lines().count(), 3, "{told}");
    assert!(told.contains("unknown kind `system_override`"), "{told}");
    let good = ["system_note", "--summary", "x"];
    for (wrong, part) in [
        (["--details", "{"], "--details is not JSON"),
        (["--actor", "nobody"], "unknown variant `nobody`"),
        (["--delivery", "now"], "unknown variant `now`"),
    ] {
        let told = refused(&[&good[..], &wrong[..]].concat(), 2);
        assert!(told.contains(part), "{told}");
    }
}
