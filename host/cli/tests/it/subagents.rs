//! Subagents by the standard plugins: tools that follow their providers, children that are sessions,
//! and what they may use up.

use serde_json::{Value, json};

use crate::harness::Home;
use crate::script::Script;

const HEAD: &str = r#"
[model]
provider = "openai-responses"
name = "recorded"

[plugins.injections]
source = "std:injections"

[plugins.files]
source = "std:files"
grants.workspace = [{ dir = "<session>", mode = "rw" }]

[plugins.bash]
source = "std:bash"
grants.process = { programs = ["bash"], cwd = "<session>" }

[[permission.rule]]
tool = "*"
action = "allow"
"#;

const SPAWN: &str = r#"
[plugins.spawn]
source = "std:spawn"
grants.sessions = { depth = 2 }
"#;

const FORK: &str = r#"
[plugins.spawn]
source = "std:fork"
settings.provider = "spawn"
grants.sessions = { depth = 2 }
"#;

fn subagent(grant: &str) -> String {
    format!(
        "[plugins.subagent]\nsource = \"std:subagent\"\n\
         settings = {{ provider = \"spawn\", background = true }}\n\
         grants.sessions = {{ {grant} }}\n"
    )
}

fn home(plugins: &[&str], script: &Script) -> Home {
    let home = Home::new();
    home.write("raddle.toml", &format!("{HEAD}{}", plugins.concat()));
    home.write("model.jsonl", script.text());
    home
}

fn exec(home: &Home, message: &str) -> Vec<Value> {
    let done = home.run(["exec", "--json", "--recording", "model.jsonl", message]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    let parse = |line| serde_json::from_str(line).expect("JSON");
    done.stdout.lines().map(parse).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

fn sessions(home: &Home) -> Vec<Value> {
    serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON")
}

fn prompt(home: &Home) -> Value {
    serde_json::from_str(&home.good(["prompt", "--json"])).expect("JSON")
}

fn tool<'a>(prompt: &'a Value, name: &str) -> Option<&'a Value> {
    let tools = prompt["tools"].as_array().expect("tools");
    tools.iter().find(|tool| tool["name"] == name)
}

/// "The tool follows its provider: absent before the backend activates, present after, gone when the
/// backend unloads, re-worded from the fresh provider on reload." There is no order anywhere.
#[test]
fn the_tool_follows_its_provider() {
    let tools = subagent("depth = 1");
    let nothing = Script::default();
    let without = prompt(&home(&[&tools], &nothing));
    assert!(tool(&without, "subagent").is_none());
    assert!(tool(&without, "read").is_some());
    for plugins in [[SPAWN, &tools], [&tools, SPAWN]] {
        let shown = prompt(&home(&plugins, &nothing));
        let words = tool(&shown, "subagent").expect("the tool")["description"].clone();
        assert!(
            words
                .as_str()
                .expect("words")
                .contains("does not see this conversation")
        );
    }
    let shown = prompt(&home(&[FORK, &tools], &nothing));
    let words = tool(&shown, "subagent").expect("the tool")["description"].clone();
    assert!(
        words
            .as_str()
            .expect("words")
            .contains("inherits the completed turns")
    );
    let system = shown["system"].as_str().expect("a text");
    assert!(!system.contains("subagent"), "a subagent has no section");
}

/// Children are sessions with a parent; those of one batch run at the same time, and are told apart
/// in a recording by the call that started them.
#[test]
fn children_run_in_parallel_and_are_sessions() {
    let mut script = Script::default();
    let asked = |what: &str| json!({ "prompt": what });
    script.call(
        "main/1/1",
        &[
            ("left", "subagent", asked("Say left.")),
            ("right", "subagent", asked("Say right.")),
        ],
        &[("/input", "Ask both.")],
    );
    for (id, other) in [("left", "right"), ("right", "left")] {
        // Each waits for the other: one after another they would wait for ever.
        let command = format!("touch {id}; until [ -e {other} ]; do sleep 0.02; done");
        let call = [("wait", "bash", json!({ "command": command }))];
        let asked = format!("Say {id}.");
        script.call(
            &format!("main/{id}/1/1"),
            &call,
            &[("/input/0/content", &asked)],
        );
        script.say(
            &format!("main/{id}/1/2"),
            id,
            &[("/input", "[exit code: 0]")],
        );
    }
    script.say(
        "main/1/2",
        "Both.",
        &[("/input/3/output", "left"), ("/input/4/output", "right")],
    );
    let home = home(&[SPAWN, &subagent("depth = 1")], &script);
    let events = exec(&home, "Ask both.");
    assert_eq!(of(&events, "child.started").len(), 2);
    assert_eq!(of(&events, "child.ended").len(), 2);
    let sessions = sessions(&home);
    assert_eq!(sessions.len(), 3);
    let root = sessions
        .iter()
        .find(|session| session["parent"].is_null())
        .expect("one");
    let children = sessions
        .iter()
        .filter(|session| session["parent"] == root["id"]);
    assert_eq!(children.count(), 2);
    for session in &sessions {
        let id = session["id"].as_str().expect("an id");
        home.good(["session", "verify", id]);
    }
    let listed = home.good(["session", "list"]);
    assert_eq!(
        listed.lines().filter(|line| line.starts_with("└ ")).count(),
        2
    );
}

/// A child sees only what it is given: not the conversation of its parent. One that inherits sees the
/// completed turns, and not the one that is under way.
#[test]
fn a_fork_inherits_the_completed_turns() {
    for (plugin, inherits) in [(SPAWN, false), (FORK, true)] {
        let mut script = Script::default();
        script.say("main/1/1", "Blue.", &[("/input", "My colour is blue.")]);
        let call = [("ask", "subagent", json!({ "prompt": "Which colour?" }))];
        script.call("main/2/1", &call, &[("/input", "Ask somebody.")]);
        script.say("main/ask/1/1", "No idea.", &[("/input", "Which colour?")]);
        script.say("main/2/2", "Done.", &[("/input", "No idea.")]);
        let home = home(&[plugin, &subagent("depth = 1")], &script);
        let first = exec(&home, "My colour is blue.");
        let id = first[0]["session"].as_str().expect("an id").to_owned();
        let arguments = [
            "exec",
            "--resume",
            &id,
            "--recording",
            "model.jsonl",
            "Ask somebody.",
        ];
        home.good(arguments);
        let child = sessions(&home);
        let child = child
            .iter()
            .find(|session| session["parent"] == id.as_str());
        let child = child.expect("a child")["id"]
            .as_str()
            .expect("an id")
            .to_owned();
        let log = home.good(["session", "export", &child]);
        assert_eq!(log.contains("My colour is blue."), inherits, "{log}");
        assert!(
            !log.contains("Ask somebody."),
            "the turn that is under way: {log}"
        );
        home.good(["session", "verify", &child]);
    }
}

/// Depth, steps, tokens, time and number are limits of the deployer's, and each says which it is.
#[test]
fn children_have_limits() {
    let call = [("go", "subagent", json!({ "prompt": "Go." }))];
    let read = [("look", "list", json!({ "path": "." }))];
    let ending = |grant: &str, child: &dyn Fn(&mut Script)| {
        let mut script = Script::default();
        script.call("main/1/1", &call, &[("/input", "Start.")]);
        child(&mut script);
        script.say("main/1/2", "Over.", &[("/input/2/output", "code")]);
        let home = home(&[SPAWN, &subagent(grant)], &script);
        let events = exec(&home, "Start.");
        let root = events[0]["session"].clone();
        let results = of(&events, "tool.result");
        let mut results = results.into_iter().filter(|event| event["session"] == root);
        let text = results.next().expect("a result")["data"]["text"].clone();
        let record: Value = serde_json::from_str(text.as_str().expect("text")).expect("a record");
        record["code"].as_str().expect("a code").to_owned()
    };
    let endless = |script: &mut Script| {
        for step in 1..4 {
            script.call(&format!("main/go/1/{step}"), &read, &[("/input", "Go.")]);
        }
    };
    assert_eq!(ending("depth = 1, steps = 2", &endless), "steps");
    let costly = |script: &mut Script| {
        let usage = json!({"usage": {"inputTokens": 900, "outputTokens": 200}});
        let call = json!({"call": {"id": "look", "name": "list", "arguments": {"path": "."}}});
        let chunks = [call, usage, json!({"finish": "toolCalls"})];
        script.step("main/go/1/1", &chunks, &[("/input", "Go.")]);
    };
    assert_eq!(ending("depth = 1, tokens = 1000", &costly), "tokens");
    // Where the service counts nothing, the limit holds all the same.
    assert_eq!(ending("depth = 1, tokens = 1000", &endless), "tokens");
    let slow = |script: &mut Script| {
        let chunks = [
            json!({"pause": 60_000}),
            json!({"text": "Late."}),
            json!({"finish": "stop"}),
        ];
        script.step("main/go/1/1", &chunks, &[("/input", "Go.")]);
    };
    assert_eq!(ending("depth = 1, time = \"200ms\"", &slow), "time");
}

/// Where a child is as deep as is granted, it has no tools that could only fail; a depth of two is
/// children that have children.
#[test]
fn the_depth_is_what_is_granted() {
    let call = |id: &'static str| [(id, "subagent", json!({ "prompt": "Deeper." }))];
    let mut script = Script::default();
    script.call("main/1/1", &call("one"), &[("/input", "Start.")]);
    script.call("main/one/1/1", &call("two"), &[("/tools", "subagent")]);
    script.call("main/one/two/1/1", &call("three"), &[("/input", "Deeper.")]);
    script.say(
        "main/one/two/1/2",
        "Deepest.",
        &[("/input/2/output", "there is no tool `subagent`")],
    );
    script.say("main/one/1/2", "Deep.", &[("/input/2/output", "Deepest.")]);
    script.say("main/1/2", "Over.", &[("/input/2/output", "Deep.")]);
    let home = home(&[SPAWN, &subagent("depth = 2")], &script);
    exec(&home, "Start.");
    assert_eq!(sessions(&home).len(), 3);
}

/// A child in the background goes on when its call has ended, and its end is told once.
#[test]
fn a_child_in_the_background_comes_back_as_an_update() {
    let mut script = Script::default();
    let start = json!({ "prompt": "Think.", "background": true });
    script.call(
        "main/1/1",
        &[("start", "subagent", start)],
        &[("/input", "Start.")],
    );
    script.say(
        "main/1/2",
        "It works.",
        &[("/input/2/output", "works in the background")],
    );
    let thinks = [
        json!({"pause": 300}),
        json!({"text": "Thought."}),
        json!({"finish": "stop"}),
    ];
    script.step("main/start/1/1", &thinks, &[("/input", "Think.")]);
    script.say(
        "main/2/1",
        "It has ended.",
        &[("/input", "<background_result")],
    );
    let home = home(&[SPAWN, &subagent("depth = 1")], &script);
    let events = exec(&home, "Start.");
    let root = events[0]["session"].clone();
    let told: Vec<&Value> = of(&events, "injection.delivered");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["session"], root);
    let text = told[0]["data"]["text"].as_str().expect("text");
    assert!(
        text.contains("`subagent_result` gives its answer"),
        "{text}"
    );
    assert!(
        !text.contains("Thought."),
        "what a child says is no trusted text: {text}"
    );
}

/// A child that works until it is stopped, below a parent that waits for it.
fn at_work() -> (Home, std::process::Child) {
    let mut script = Script::default();
    let go = json!({ "prompt": "Go." });
    script.call(
        "main/1/1",
        &[("go", "subagent", go)],
        &[("/input", "Start.")],
    );
    let command = "touch started; sleep 60; touch survived";
    let call = [("work", "bash", json!({ "command": command }))];
    script.call("main/go/1/1", &call, &[("/input", "Go.")]);
    script.say("main/2/1", "On it goes.", &[("/input", "Again.")]);
    let home = home(&[SPAWN, &subagent("depth = 1")], &script);
    let mut command = home.command(["exec", "--recording", "model.jsonl", "Start."]);
    let running = command.spawn().expect("the binary runs");
    while !home.work().join("started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    (home, running)
}

/// What is left of both sessions: (parent, child), as logs.
fn logs(home: &Home) -> (String, String) {
    let sessions = sessions(home);
    let id = |is_child: bool| {
        let mut found = sessions.iter();
        let session = found.find(|session| session["parent"].is_string() == is_child);
        session.expect("a session")["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    for is_child in [false, true] {
        home.good(["session", "verify", &id(is_child)]);
    }
    let log = |is_child| home.good(["session", "export", &id(is_child)]);
    (log(false), log(true))
}

/// Children are cancelled with their parent: at once, and with a valid transcript.
#[test]
fn a_child_is_cancelled_with_its_parent() {
    let (home, mut running) = at_work();
    let interrupted = std::process::Command::new("kill")
        .args(["-INT", &running.id().to_string()])
        .status();
    assert!(interrupted.expect("kill runs").success());
    assert_eq!(running.wait().expect("an end").code(), Some(130));
    let (parent, child) = logs(&home);
    for log in [&parent, &child] {
        assert!(log.contains(r#""cause":"cancelled""#), "{log}");
        assert_eq!(log.matches(r#""type":"tool.call""#).count(), 1, "{log}");
        assert_eq!(log.matches(r#""type":"tool.result""#).count(), 1, "{log}");
    }
    assert!(!home.work().join("survived").exists());
}

/// A host that is killed leaves both sessions as they were logged, and the parent can be gone on with.
#[test]
fn a_killed_host_leaves_whole_sessions() {
    let (home, mut running) = at_work();
    running.kill().expect("killed");
    running.wait().expect("an end");
    let (parent, _) = logs(&home);
    let id: Value = serde_json::from_str(parent.lines().next().expect("an event")).expect("JSON");
    let id = id["session"].as_str().expect("an id");
    home.good([
        "exec",
        "--resume",
        id,
        "--recording",
        "model.jsonl",
        "Again.",
    ]);
    let (parent, _) = logs(&home);
    assert!(parent.contains(r#""cause":"interrupted""#), "{parent}");
    assert!(parent.contains("On it goes."), "{parent}");
}

/// "The tool of a provider that vanished goes at the next step", while the call that runs goes on; all
/// else waits for the next message.
#[test]
fn a_tool_goes_with_its_provider_in_the_middle_of_a_run() {
    let mut script = Script::of("Start.");
    let command = "touch started; until [ -e go ]; do sleep 0.02; done; echo waited";
    let wait = [("wait", "bash", json!({ "command": command }))];
    script.call("main/1/1", &wait, &[("/tools", "\"subagent\"")]);
    script.say("main/1/2", "Over.", &[("/input/2/output", "waited")]);
    let home = home(&[SPAWN, &subagent("depth = 1")], &script);
    let mut command = home.command(["run", "--recording", "model.jsonl"]);
    let mut running = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    while !home.work().join("started").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    home.write("raddle.toml", &format!("{HEAD}{}", subagent("depth = 1")));
    let stderr = running.stderr.take().expect("stderr");
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let told = lines.find(|line| {
        let line = line.as_ref().expect("a line");
        line.contains("[reloaded: `spawn` is gone")
    });
    assert!(told.is_some());
    home.write("go", "");
    let rest: Vec<String> = lines.map(|line| line.expect("a line")).collect();
    assert_eq!(running.wait().expect("an end").code(), Some(0), "{rest:?}");
    let rest = rest.join("\n");
    assert!(
        rest.contains("[cache break: `subagent` of subagent"),
        "{rest}"
    );
    let id = sessions(&home)[0]["id"].as_str().expect("an id").to_owned();
    let shown: Value =
        serde_json::from_str(&home.good(["prompt", "--json", "--session", &id])).expect("JSON");
    assert!(tool(&shown, "subagent").is_none());
    assert!(tool(&shown, "bash").is_some());
    home.good(["session", "verify", &id]);
}
