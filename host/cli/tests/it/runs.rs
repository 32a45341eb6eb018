//! Runs: recorded ones, and one against a server on loopback.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::harness::{Done, Home, Server, sse};

const CODER: &str = include_str!("../fixtures/coder.toml");
const RECORDING: &str = include_str!("../fixtures/recording.jsonl");

fn recorded() -> Home {
    let home = Home::new();
    home.write("raddle.toml", CODER);
    home.write("recording.jsonl", RECORDING);
    home.write("notes.md", "A tpyo.\n");
    home
}

fn events(stdout: &str) -> Vec<Value> {
    let events = stdout.lines().map(serde_json::from_str);
    events.collect::<Result<_, _>>().expect("lines of JSON")
}

fn types(events: &[Value]) -> Vec<&str> {
    let types = events.iter().map(|event| event["type"].as_str());
    types.map(|name| name.expect("a type")).collect()
}

#[test]
fn a_recorded_run_really_works() {
    let home = recorded();
    let answer = home.good(["exec", "Say hello.", "--recording", "recording.jsonl"]);
    assert!(answer.ends_with("It said hello.\n"), "{answer}");
}

#[test]
fn events_are_lines_of_json() {
    let home = recorded();
    let stdout = home.good([
        "exec",
        "Say hello.",
        "--recording",
        "recording.jsonl",
        "--json",
    ]);
    let events = events(&stdout);
    let types = types(&events);
    for wanted in [
        "run.started",
        "generation",
        "message.user",
        "text.delta",
        "tool.call",
        "permission",
        "tool.result",
        "message.assistant",
        "run.ended",
        "done",
    ] {
        assert!(types.contains(&wanted), "{wanted} is missing in {types:?}");
    }
    assert_eq!(types.last(), Some(&"done"));
    let result = &events[types
        .iter()
        .position(|name| *name == "tool.result")
        .expect("a result")];
    assert!(
        result["data"]["text"]
            .as_str()
            .is_some_and(|text| text.starts_with("hello\n")),
        "{result}"
    );
    let logged: Vec<u64> = events
        .iter()
        .filter_map(|event| event["seq"].as_u64())
        .filter(|seq| *seq > 0)
        .collect();
    assert_eq!(logged, (1..=logged.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_request_that_was_not_expected_fails_with_the_difference() {
    let home = recorded();
    let done = home.run(["exec", "Something else.", "--recording", "recording.jsonl"]);
    assert_eq!(done.code, Some(3));
    assert!(
        done.stderr.contains("main/1/1") && done.stderr.contains("Say hello."),
        "{}",
        done.stderr
    );
}

#[test]
fn a_call_that_nobody_can_be_asked_for_stops_the_run() {
    let home = recorded();
    let rule = "[[permission.rule]]\ntool = \"bash\"\nargument = \"command\"\nmatch = \"echo *\"\naction = \"allow\"\n";
    assert!(CODER.contains(rule));
    home.write("raddle.toml", &CODER.replace(rule, ""));
    home.write(
        "recording.jsonl",
        &RECORDING.replace("\"contains\": \"hello\\n\"", "\"contains\": \"denied\""),
    );
    let done = home.run(["exec", "Say hello.", "--recording", "recording.jsonl"]);
    assert_eq!(done.code, Some(4), "{}", done.stderr);
    assert!(
        done.stderr.contains("`bash` was not permitted"),
        "{}",
        done.stderr
    );
}

#[test]
fn sessions_are_kept_and_can_be_read() {
    let home = recorded();
    home.good(["exec", "Say hello.", "--recording", "recording.jsonl"]);
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let session = &list[0];
    let id = session["id"].as_str().expect("an id");
    assert_eq!(session["title"], "Say hello.");
    assert!(home.good(["session", "list"]).contains(id));
    let prefix = &id[..6];

    let shown = home.good(["session", "show", prefix]);
    assert!(
        shown.contains("message.user") && shown.contains("tool.call"),
        "{shown}"
    );
    let exported = events(&home.good(["session", "export", id]));
    assert_eq!(
        exported.len() as u64,
        session["events"].as_u64().expect("a number")
    );
    let replayed = home.good(["session", "replay", id]);
    assert!(
        replayed.contains("> Say hello.") && replayed.contains("It said hello."),
        "{replayed}"
    );
    let verified = home.good(["session", "verify", id]);
    assert!(verified.starts_with("2 requests rebuilt"), "{verified}");

    let prompt: Value =
        serde_json::from_str(&home.good(["prompt", "--session", id, "--json"])).expect("JSON");
    assert!(
        prompt["system"]
            .as_str()
            .is_some_and(|text| text.starts_with("You are coder"))
    );
    assert!(
        prompt["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty())
    );

    let done = home.run(["session", "show", "zzz"]);
    assert_eq!(done.code, Some(2));
    assert!(
        done.stderr.contains("`raddle session list` shows them"),
        "{}",
        done.stderr
    );
}

#[test]
fn run_without_a_terminal_plays_the_recording() {
    let home = recorded();
    let config = CODER.replace(
        "name = \"test-model\"\n",
        "name = \"test-model\"\nrecording = \"recording.jsonl\"\n",
    );
    home.write("raddle.toml", &config);
    let done = home.run(["run"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stdout.contains("> Say hello.") && done.stdout.contains("It said hello."),
        "{}",
        done.stdout
    );
    // The welcome line is made from what is loaded.
    assert!(
        done.stderr
            .contains("coder · test-model · replay · 4 plugins"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains("set the environment variable OPENAI_API_KEY"),
        "{}",
        done.stderr
    );
    let json = home.run(["prompt", "--json"]).stdout;
    let tools = serde_json::from_str::<Value>(&json).expect("JSON")["tools"]
        .as_array()
        .map(Vec::len);
    assert!(
        done.stderr
            .contains(&format!("{} tools", tools.unwrap_or_default())),
        "{}",
        done.stderr
    );
}

#[test]
fn without_terminal_and_recording_run_says_what_to_use() {
    let home = recorded();
    let mut command = home.command(["run"]);
    command.env("OPENAI_API_KEY", "key");
    let done = Done::of(command.output().expect("the binary runs"));
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("`raddle exec`"), "{}", done.stderr);
}

#[test]
fn without_a_key_exec_says_how_to_set_one() {
    let done = recorded().run(["exec", "Hello."]);
    assert_eq!(done.code, Some(3));
    assert!(
        done.stderr
            .contains("set the environment variable OPENAI_API_KEY"),
        "{}",
        done.stderr
    );
}

#[test]
fn an_empty_message_is_refused() {
    let home = recorded();
    assert_eq!(home.run(["exec", " "]).code, Some(2));
    // stdin is empty.
    assert_eq!(home.run(["exec", "-"]).code, Some(2));
}

#[test]
fn a_live_run_streams_calls_a_tool_and_answers() {
    let call = r#"{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"echo from the shell\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let answers = [
        sse(&[call]),
        sse(&[
            r#"{"choices":[{"index":0,"delta":{"content":"All "},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"done."},"finish_reason":"stop"}]}"#,
        ]),
    ];
    let server = Server::start(answers.to_vec());
    let home = recorded();
    let with_url = format!(
        "provider = \"openai-chat\"\nbase_url = \"{}/v1\"\nheaders = {{ X-Team = \"${{TEAM}}\" }}",
        server.url
    );
    home.write(
        "raddle.toml",
        &CODER.replace("provider = \"openai-chat\"", &with_url),
    );
    let mut command = home.command(["exec", "-", "--json"]);
    command
        .env("TEAM", "red")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    use std::io::Write as _;
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all("Go on.\n".as_bytes())
        .expect("written");
    let done = Done::of(child.wait_with_output().expect("the binary ends"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let events = events(&done.stdout);
    let deltas: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "text.delta")
        .filter_map(|event| event["data"]["text"].as_str())
        .collect();
    assert_eq!(deltas, ["All ", "done."]);
    assert_eq!(
        events.last().expect("an event")["data"]["message"],
        "All done."
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[0].head.to_lowercase().contains("x-team: red"),
        "{}",
        requests[0].head
    );
    let messages = |index: usize| {
        serde_json::from_str::<Value>(&requests[index].body).expect("JSON")["messages"].clone()
    };
    assert_eq!(messages(0)[1]["content"], "Go on.\n");
    let last = messages(1)
        .as_array()
        .and_then(|all| all.last().cloned())
        .expect("a message");
    assert_eq!(last["role"], "tool");
    assert!(
        last["content"]
            .as_str()
            .is_some_and(|text| text.starts_with("from the shell\n")),
        "{last}"
    );
    // Request n is a prefix of request n + 1, up to the closing bracket.
    let raw = |index: usize| requests[index].body.clone();
    let (first, second) = (raw(0), raw(1));
    let end = first.rfind(']').expect("a list");
    assert!(second.starts_with(&first[..end]), "{first}\n{second}");
}

#[test]
fn programs_get_the_variables_that_are_granted_and_never_a_key() {
    let home = recorded();
    let granted = "cwd = \"<session>\", env = [\"TEAM\", \"OPENAI_API_KEY\"] }";
    home.write(
        "raddle.toml",
        &CODER.replace("cwd = \"<session>\" }", granted),
    );
    let asked = RECORDING.replace("echo hello", "echo [$TEAM$OTHER$OPENAI_API_KEY]");
    home.write("recording.jsonl", &asked.replace("hello\\n", "[red]\\n"));
    let mut command = home.command(["exec", "Say hello.", "--recording", "recording.jsonl"]);
    command
        .env("TEAM", "red")
        .env("OTHER", "blue")
        .env("OPENAI_API_KEY", "secret");
    let done = Done::of(command.output().expect("the binary runs"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}

#[test]
fn a_missing_header_variable_is_named() {
    let home = recorded();
    let model = "provider = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\nheaders = { X-Team = \"${TEAM}\" }";
    home.write(
        "raddle.toml",
        &CODER.replace("provider = \"openai-chat\"", model),
    );
    let done = home.run(["exec", "Go on."]);
    assert_eq!(done.code, Some(3));
    assert!(
        done.stderr.contains("environment variable TEAM"),
        "{}",
        done.stderr
    );
}

/// A recording whose call runs for a while, and the rule that allows it.
fn slow() -> Home {
    let home = recorded();
    home.write(
        "raddle.toml",
        &CODER.replace("echo *", "echo started; sleep 20"),
    );
    home.write(
        "recording.jsonl",
        &RECORDING.replace("echo hello", "echo started; sleep 20"),
    );
    home
}

/// Runs until the call has begun: the lines of JSON so far, and the process.
#[expect(clippy::zombie_processes, reason = "who gets the process waits for it")]
fn started(home: &Home) -> (Vec<Value>, Child, BufReader<ChildStdout>) {
    let mut command = home.command([
        "exec",
        "Say hello.",
        "--recording",
        "recording.jsonl",
        "--json",
    ]);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
    let mut seen = Vec::new();
    loop {
        let mut line = String::new();
        assert_ne!(stdout.read_line(&mut line).expect("a line"), 0, "{seen:?}");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        let begun = event["type"] == "tool.progress" || event["type"] == "permission";
        seen.push(event);
        if begun {
            return (seen, child, stdout);
        }
    }
}

#[test]
fn a_killed_process_loses_no_event() {
    let home = slow();
    let (seen, mut child, _) = started(&home);
    child.kill().expect("killed");
    child.wait().expect("ended");
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let id = list[0]["id"].as_str().expect("an id");
    let logged: Vec<Value> = seen.into_iter().filter(|event| event["seq"] != 0).collect();
    let exported = events(&home.good(["session", "export", id]));
    assert_eq!(exported[..logged.len()], logged[..]);
    assert!(home.good(["session", "show", id]).contains("tool.call"));
    let replayed = home.good(["session", "replay", id]);
    assert!(replayed.contains("I will ask the shell."), "{replayed}");
    assert!(
        home.good(["session", "verify", id])
            .starts_with("1 request rebuilt")
    );
}

#[test]
fn an_interrupt_cancels_the_run_and_answers_every_call() {
    let home = slow();
    let (_, mut child, mut stdout) = started(&home);
    let interrupt = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(interrupt.expect("kill runs").success());
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("text");
    assert_eq!(child.wait().expect("ended").code(), Some(130));
    let rest = events(&rest);
    let result = rest
        .iter()
        .find(|event| event["type"] == "tool.result")
        .expect("a result");
    assert_eq!(result["data"]["isError"], true, "{result}");
    let ended = rest
        .iter()
        .find(|event| event["type"] == "run.ended")
        .expect("an end");
    assert_eq!(ended["data"]["cause"], "cancelled");
}

#[test]
fn a_session_goes_on_where_it_was() {
    let home = recorded();
    home.good(["exec", "Say hello.", "--recording", "recording.jsonl"]);
    let again = RECORDING
        .replace("main/1/", "main/2/")
        .replace("\"/input/0/content/0/text\"", "\"/input/5/content/0/text\"")
        .replace("/input/3/output", "/input/8/output");
    home.write("again.jsonl", &again);
    home.good(["run", "--resume", "--recording", "again.jsonl"]);
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    let id = list[0]["id"].as_str().expect("an id");
    assert!(
        home.good(["session", "verify", id])
            .starts_with("4 requests rebuilt")
    );
}

#[test]
fn without_a_session_there_is_nothing_to_resume() {
    let home = recorded();
    for arguments in [
        vec!["run", "--recording", "recording.jsonl", "--resume"],
        vec!["run", "--recording", "recording.jsonl", "--resume", "abc"],
    ] {
        let done = home.run(arguments);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
    }
}
