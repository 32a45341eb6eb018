//! Children that are agents outside, over the Agent Client Protocol.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::Home;
use crate::script::Script;

/// What an agent wrote that was made with the public Python SDK.
const RECORDED: &str = "../../plugins/acp/tests/fixtures/python-sdk.jsonl";

/// Says what it said then, as often as it is spoken to.
const REPLAY: &str = r#"#!/bin/bash
say() { sed -n "$1p" recorded.jsonl | sed "s:/srv/:$PWD/:g"; }
for lines in 1 2 3,5 6,7 8 9,12; do
    IFS= read -r line || exit 1
    printf '%s\n' "$line" >> heard.jsonl
    say "$lines"
done
cat > /dev/null
"#;

/// Begins, and never comes to an end.
const ENDLESS: &str = r#"#!/bin/bash
read -r line; sed -n 1p recorded.jsonl
read -r line; sed -n 2p recorded.jsonl
read -r line; touch started; sleep 60 & wait
touch survived
"#;

fn manifest() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn home(program: &str, limits: &str) -> Home {
    let home = Home::new();
    home.write("name.txt", "loom");
    let recorded = fs::read_to_string(manifest().join(RECORDED)).expect("the recording");
    home.write("recorded.jsonl", &recorded);
    let config = format!(
        r#"
        [model]
        provider = "openai-responses"
        name = "recorded"

        [plugins.acp]
        source = "std:acp"
        settings = {{ program = {program:?}, arguments = ["agent"], permit = ["edit"] }}
        grants.process = {{ programs = [{program:?}], cwd = "<session>" }}
        grants.workspace = [{{ dir = "<session>", mode = "rw" }}]

        [plugins.subagent]
        source = "std:subagent"
        settings = {{ provider = "acp", tool = "ask" }}
        grants.sessions = {{ depth = 1{limits} }}

        [plugins.bash]
        source = "std:bash"
        grants.process = {{ programs = ["bash"], cwd = "<session>" }}

        [[permission.rule]]
        tool = "*"
        action = "allow"
        "#
    );
    home.write("raddle.toml", &config);
    home
}

/// Starts one child, and goes on with what became of it.
fn ask(home: &Home, expected: &str) {
    let mut script = Script::default();
    let task = json!({ "prompt": "Go." });
    let words = ("/tools", "does not see this conversation");
    script.call("main/1/1", &[("a", "ask", task)], &[words]);
    script.say("main/1/2", "Asked.", &[("/input", expected)]);
    home.write("model.jsonl", script.text());
    let done = home.run(["exec", "--json", "--recording", "model.jsonl", "Start."]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
}

fn children(home: &Home) -> Vec<String> {
    let sessions: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let sessions = sessions.as_array().expect("a list").iter();
    let children = sessions.filter(|session| session["parent"].is_string());
    children
        .map(|session| session["id"].as_str().expect("an id").to_owned())
        .collect()
}

/// The agent edited the file through us, and said so: the child's log has what it was asked and what
/// it answered.
fn edited(home: &Home) {
    ask(home, "It is in capitals now. You said: Go.");
    assert_eq!(home.read("name.txt"), "LOOM");
    let [child] = &*children(home) else {
        panic!("one child");
    };
    let log = home.good(["session", "export", child]);
    assert!(log.contains(r#""text":"Go.""#), "{log}");
    assert!(log.contains("You said: Go."), "{log}");
    home.good(["session", "verify", child]);
}

#[test]
fn an_agent_outside_does_the_work_of_a_child() {
    let home = home("bash", "");
    home.write("agent", REPLAY);
    edited(&home);
    let heard = home.read("heard.jsonl");
    let heard: Vec<Value> = heard
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let cwd = heard[1]["params"]["cwd"].as_str().expect("a folder");
    assert_eq!(
        Path::new(cwd).canonicalize().expect("a folder"),
        home.work().canonicalize().expect("a folder")
    );
    assert_eq!(heard[2]["params"]["prompt"][0]["text"], "Go.");
}

#[test]
fn an_agent_that_fails_is_told_with_its_last_words() {
    let home = home("bash", "");
    home.write(
        "agent",
        "read -r line; echo 'no key: sign in first' >&2; exit 1",
    );
    ask(&home, "it last wrote: no key: sign in first");
}

/// A child has its own time limit, longer or shorter than that of a plugin's call.
#[test]
fn an_agent_that_never_ends_is_ended_by_the_limit_of_its_child() {
    let home = home("bash", ", time = \"1s\"");
    home.write("agent", ENDLESS);
    ask(&home, "the child reached its time limit of 1 s");
    assert!(home.work().join("started").exists());
    assert!(!home.work().join("survived").exists());
}

/// The real thing: an agent made with the public SDK for Python, from its registry.
#[test]
#[ignore = "a program of another project: installs the Python SDK of the protocol"]
fn an_agent_of_the_python_sdk_does_the_work_of_a_child() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("acp-python");
    let python = folder.join("bin/python");
    if !python.exists() {
        let good = |command: &mut Command| {
            assert!(command.status().expect("it runs").success(), "{command:?}");
        };
        good(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        let sdk = "agent-client-protocol==0.12.1";
        good(Command::new(&python).args(["-m", "pip", "install", "-q", sdk]));
    }
    let home = home(python.to_str().expect("a text"), "");
    let agent = manifest().join("../../tests/world/acp_agent.py");
    fs::copy(agent, home.work().join("agent")).expect("the agent");
    edited(&home);
}
