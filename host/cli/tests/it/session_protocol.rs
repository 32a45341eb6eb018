//! The session protocol by the standard plugins together: skills, notes, a background job, tasks
//! that are steps of a workflow, compaction and the completion audit, in one recorded run; then a
//! change by somebody else while the session is idle, and its requests rebuilt from the log.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::Home;

const DEPLOYMENT: &str = r#"
[model]
provider = "openai-responses"
name = "recorded"

[plugins.injections]
source = "std:injections"

[plugins.todo]
source = "std:todo"

[plugins.yield]
source = "std:yield"

[plugins.skills]
source = "std:skills"
settings.roots = ["skills"]

[plugins.knowledge]
source = "std:knowledge"
settings.roots = ["notes"]

[plugins.compaction]
source = "std:compaction"
settings = { at_tokens = 7000, keep_messages = 1, summary_tokens = 500 }
grants.model = { max_tokens = 500 }

[plugins.watch]
source = "std:watch"
settings = { artifacts = ["brief.xml"], workspace = ["AGENTS.md"] }
grants.workspace = [{ dir = "<session>", mode = "ro" }]

[plugins.files]
source = "std:files"
grants.workspace = [{ dir = "<session>", mode = "rw" }]

[plugins.bash]
source = "std:bash"
grants.process = { programs = ["bash"], cwd = "<session>" }

[plugins.jobs]
source = "std:jobs"
grants.process = { programs = ["bash"], cwd = "<session>" }
grants.workspace = [{ dir = "<session>", mode = "ro" }]

[variants.deck]
match = ["deck"]
preload = ["deck"]

[[permission.rule]]
tool = "*"
action = "allow"
"#;

const DECK: &str = "---
name: deck
description: TRIGGER for every new presentation request.
metadata:
  type: workflow
  requires-skills: gml
---

# Deck

1. **Write the brief.**
2. **Write the deck.**
3. **Look at it (optional).**
";

const GML: &str = "---
name: gml
description: Use BEFORE writing a deck.
metadata:
  type: reference
---

Cards are elements.
";

const NOTE: &str = "---
scope: Use for images.
authority: user
keywords: image
---
Only photographs.
";

struct Script(String);

impl Script {
    /// A step: the calls the model makes, and what the request must hold.
    fn step(&mut self, key: &str, calls: &[(&str, Value)], holds: &[&str]) {
        let calls = calls
            .iter()
            .map(|(name, arguments)| json!({"call": {"name": name, "arguments": arguments}}));
        let finish = json!({"finish": "toolCalls"});
        self.line(key, calls.chain([finish]).collect(), holds);
    }

    fn say(&mut self, key: &str, text: &str, holds: &[&str]) {
        let chunks = vec![json!({"text": text}), json!({"finish": "stop"})];
        self.line(key, chunks, holds);
    }

    fn line(&mut self, key: &str, chunks: Vec<Value>, holds: &[&str]) {
        let expect: Vec<Value> = holds
            .iter()
            .map(|text| json!({"pointer": "/input", "contains": text}))
            .collect();
        let step = json!({"key": key, "chunks": chunks, "expect": expect});
        let _ = writeln!(self.0, "{step}");
    }
}

fn home() -> Home {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    home.write("skills/deck/SKILL.md", DECK);
    home.write("skills/gml/SKILL.md", GML);
    home.write("notes/images.md", NOTE);
    home.write("brief.xml", "<brief/>");
    home
}

fn events(lines: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("JSON");
    lines.lines().map(parse).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let events = events.iter().filter(|event| event["type"] == kind);
    events.map(|event| &event["data"]).collect()
}

fn task(status: &str) -> (&'static str, Value) {
    let step = json!({"skill": "deck", "number": 1});
    let task = json!({"id": "brief", "label": "Write the brief", "status": status, "step": step});
    ("todo", json!({"tasks": [task]}))
}

fn completion(deviations: &Value) -> (&'static str, Value) {
    let message = json!({"message": "Here it is.", "blockOnUser": true, "deviations": deviations});
    ("message_user", message)
}

#[test]
fn a_run_with_everything_in_it() {
    let home = home();
    let mut script = Script(String::new());
    script.step(
        "main/1/1",
        &[
            ("skill", json!({"name": "deck"})),
            ("read_workspace_rule", json!({"knowledgeId": "images"})),
        ],
        &[
            r#"<knowledge_hints>\n  BLOCKING: Fetch each matching unread note"#,
            r#"id=\"images\""#,
        ],
    );
    script.step(
        "main/1/2",
        &[
            task("in_progress"),
            ("read", json!({"path": "brief.xml"})),
            ("bash", json!({"command": "seq 1 1600 | tr '\\n' ' '"})),
        ],
        &[
            "1. **Write the brief.**",
            "Cards are elements.",
            "Only photographs.",
        ],
    );
    let wait =
        "until [ -e .raddle/jobs/job-1.exit ]; do sleep 0.05; done; seq 1 1600 | tr '\\n' ' '";
    script.step(
        "main/1/3",
        &[
            (
                "start_job",
                json!({"command": "printf page > out.html", "label": "Render", "artifact": "out.html"}),
            ),
            ("bash", json!({"command": wait})),
        ],
        &["<brief/>"],
    );
    script.say(
        "compaction/1/4",
        "## Goal\nA deck with an image.",
        &["<transcript>", "Make slides"],
    );
    script.step(
        "main/1/4",
        &[task("complete")],
        &[
            r#"<artifact_update id=\"job-1\" ref=\"file:out.html\""#,
            r#"<conversation_summary>\n## Goal\nA deck with an image."#,
            r#"- brief [in_progress] Write the brief (deck 1)"#,
            r#"<artifact ref=\"file:brief.xml\""#,
            "Make slides with an image.",
        ],
    );
    script.step("main/1/5", &[completion(&json!([]))], &["[complete]"]);
    script.step(
        "main/1/6",
        &[completion(
            &json!([{"step": "deck 2", "reason": "there is no paper"}]),
        )],
        &["- deck 2: Write the deck.", "unaccounted-steps"],
    );
    home.write("recording.jsonl", &script.0);
    let exec = [
        "exec",
        "Make slides with an image.",
        "--json",
        "--recording",
        "recording.jsonl",
    ];
    let events = events(&home.good(exec));

    let activated: Vec<_> = of(&events, "skill.activated")
        .iter()
        .map(|skill| (skill["name"].clone(), skill["beforeTaskTools"].clone()))
        .collect();
    assert_eq!(
        activated,
        [(json!("deck"), json!(true)), (json!("gml"), json!(true))]
    );
    let compactions = of(&events, "compaction");
    assert_eq!(compactions.len(), 1, "{compactions:?}");
    let what: Vec<&str> = compactions[0]["restored"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|restored| restored["what"].as_str().expect("a word"))
        .collect();
    assert_eq!(
        what,
        [
            "skill:deck",
            "skill:gml",
            "note:images",
            "knowledge_hints",
            "summary",
            "artifacts",
            "tasks",
            "message"
        ]
    );
    let said: Vec<_> = of(&events, "yield");
    assert_eq!(
        said.len(),
        1,
        "shown once, when everything is accounted for"
    );
    let states: Vec<&str> = of(&events, "checklist.changed")
        .last()
        .expect("a checklist")["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["state"].as_str().expect("a state"))
        .collect();
    assert_eq!(states, ["complete", "blocked", "open"]);
    assert!(
        of(&events, "cache.break").is_empty(),
        "the prefix is what it was"
    );

    // Somebody else changes the brief, and how work is done here, while nobody has the session.
    let session = events[0]["session"].as_str().expect("an id").to_owned();
    home.write("brief.xml", "<brief>other</brief>");
    home.write("AGENTS.md", "Be brief.");
    let mut script = Script(String::new());
    script.say(
        "main/2/1",
        "Read again.",
        &[
            r#"ref=\"file:brief.xml\" revision=\"sha256:"#,
            r#"actor=\"user\" change=\"content_saved\""#,
            r#"<workspace_update"#,
            "Go on.",
        ],
    );
    home.write("second.jsonl", &script.0);
    let out = home.good([
        "exec",
        "Go on.",
        "--resume",
        &session,
        "--recording",
        "second.jsonl",
    ]);
    assert!(out.contains("Read again."), "{out}");

    let shown = home.good(["session", "show", &session]);
    for line in [
        "deck (workflow) in batch 1/1, before the task tools",
        "gml (reference, required by deck) in batch 1/1",
        "messages cut",
        "deck: 1 of 3 complete, 1 blocked",
        "job-1 artifact_update",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    let verified = home.run(["session", "verify", &session]);
    assert_eq!(
        verified.code,
        Some(0),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
}

/// "A preloaded workflow skill needs this instruction": the sentence of the seed, word for word; and
/// all variants share the prefix before it.
#[test]
fn a_variant_adds_its_skills_after_the_shared_prefix() {
    let home = home();
    let base = home.good(["prompt"]);
    let deck = home.good(["prompt", "--variant", "deck"]);
    let root = base.trim_end();
    assert!(deck.starts_with(root), "{deck}");
    let added = deck[root.len()..].trim_start();
    assert!(
        added.starts_with(
            "This workflow skill is active because the current task matches it. Follow every \
             required step and complete its verification.\n\n<skill name=\"deck\""
        ),
        "{added}"
    );
    assert!(
        added.contains("<skill name=\"gml\""),
        "with what it requires: {added}"
    );
    let unknown = home.run(["prompt", "--variant", "dekc"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("did you mean `deck`?"),
        "{}",
        unknown.stderr
    );
}

/// The first message chooses the variant; its skill is active, followed and audited like one that
/// was loaded.
#[test]
fn the_first_message_chooses_the_variant() {
    let home = home();
    let mut script = Script(String::new());
    script.step(
        "main/1/1",
        &[("skill", json!({"name": "deck"}))],
        &["A deck, please."],
    );
    script.step(
        "main/1/2",
        &[completion(&json!([]))],
        &["deck is active already: its body stands in your instructions."],
    );
    script.step(
        "main/1/3",
        &[completion(&json!([
            {"step": "deck 1", "reason": "no paper"}, {"step": "deck 2", "reason": "no paper"},
        ]))],
        &["- deck 1: Write the brief."],
    );
    home.write("recording.jsonl", &script.0);
    let exec = [
        "exec",
        "A deck, please.",
        "--json",
        "--recording",
        "recording.jsonl",
    ];
    let events = events(&home.good(exec));
    let activated = of(&events, "skill.activated");
    assert_eq!(activated.len(), 2);
    assert!(
        activated.iter().all(|skill| skill["callId"].is_null()),
        "{activated:?}"
    );
    let list = home.good(["session", "list", "--json"]);
    assert!(list.contains("\"variant\": \"deck\""), "{list}");
}

#[test]
fn a_skill_that_no_plugin_has_is_a_fault_of_the_deployment() {
    let home = home();
    let deployment = DEPLOYMENT.replace("preload = [\"deck\"]", "preload = [\"dekc\"]");
    home.write(
        "raddle.toml",
        &format!("{deployment}\n[[skill.rule]]\nmatch = [\"x\"]\nrequire = \"nothing\"\n"),
    );
    let checked = home.run(["check"]);
    assert_eq!(checked.code, Some(1));
    assert!(
        checked
            .stdout
            .contains("no plugin has the skill `dekc`: did you mean `deck`?")
            || checked
                .stderr
                .contains("no plugin has the skill `dekc`: did you mean `deck`?"),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
}

/// "The later design can use tool namespaces": a namespace is loaded on demand, which is reported as
/// the cache break that it is, and stays loaded.
#[test]
fn tools_of_a_deferred_namespace_are_loaded_on_demand() {
    let home = Home::new();
    home.write(
        "raddle.toml",
        r#"
[model]
provider = "openai-responses"
name = "recorded"

[tools]
deferred = ["shell"]

[plugins.toolbox]
source = "std:toolbox"

[plugins.shell]
source = "std:bash"
settings.tool = "shell.bash"
grants.process = { programs = ["bash"], cwd = "<session>" }

[[permission.rule]]
tool = "*"
action = "allow"
"#,
    );
    let mut script = Script(String::new());
    let bash = ("shell__bash", json!({"command": "echo here"}));
    script.step("main/1/1", std::slice::from_ref(&bash), &["Go."]);
    script.step(
        "main/1/2",
        &[("load_tools", json!({"namespace": "shell"}))],
        &["unknown-tool"],
    );
    script.step("main/1/3", &[bash], &["The tools of shell are loaded"]);
    script.say("main/1/4", "done", &["here"]);
    home.write("recording.jsonl", &script.0);
    let exec = ["exec", "Go.", "--json", "--recording", "recording.jsonl"];
    let events = events(&home.good(exec));
    let breaks = of(&events, "cache.break");
    assert_eq!(breaks.len(), 1, "{breaks:?}");
    assert_eq!(
        (&breaks[0]["part"], &breaks[0]["plugin"]),
        (&json!("tools"), &json!("shell"))
    );

    let session = events[0]["session"].as_str().expect("an id").to_owned();
    let mut script = Script(String::new());
    script.step(
        "main/2/1",
        &[("shell__bash", json!({"command": "echo again"}))],
        &["On."],
    );
    script.say("main/2/2", "done", &["again"]);
    home.write("second.jsonl", &script.0);
    home.good([
        "exec",
        "On.",
        "--resume",
        &session,
        "--recording",
        "second.jsonl",
    ]);
    let verified = home.run(["session", "verify", &session]);
    assert_eq!(
        verified.code,
        Some(0),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
}

/// "General research output uses background_result", and it is reviewed after the active run stops.
#[test]
fn a_background_job_is_told_of_after_the_run_in_a_run_of_its_own() {
    let home = home();
    let mut script = Script(String::new());
    script.step(
        "main/1/1",
        &[(
            "start_job",
            json!({"command": "echo found", "label": "Research"}),
        )],
        &["Find out."],
    );
    let wait = "until [ -e .raddle/jobs/job-1.exit ]; do sleep 0.05; done";
    script.step(
        "main/1/2",
        &[("bash", json!({"command": wait}))],
        &["job-1 is started"],
    );
    script.say("main/1/3", "It goes on.", &["[exit code: 0]"]);
    script.say(
        "main/2/1",
        "It is there.",
        &[
            r#"<background_result id=\"job-1\" ref=\"job:job-1\""#,
            "exit code 0",
        ],
    );
    home.write("recording.jsonl", &script.0);
    let exec = ["exec", "Find out.", "--recording", "recording.jsonl"];
    assert_eq!(home.good(exec), "It goes on.\nIt is there.\n");
    assert_eq!(home.read(".raddle/jobs/job-1.output"), "found\n");
}

#[test]
fn an_idle_session_is_compacted_on_request() {
    let home = home();
    let deployment = DEPLOYMENT.replace(
        "name = \"recorded\"",
        "name = \"recorded\"\nrecording = \"recording.jsonl\"",
    );
    home.write(
        "raddle.toml",
        &deployment.replace("openai-responses", "replay"),
    );
    let mut script = Script(String::new());
    script.step(
        "main/1/1",
        &[("bash", json!({"command": "true"}))],
        &["One."],
    );
    script.say("main/1/2", "Done.", &["[exit code: 0]"]);
    script.say("main/2/1", "More.", &["Two."]);
    script.say("compaction/2/1", "## Goal\nOne and two.", &["One.", "Two."]);
    script.say("main/3/1", "On.", &["One and two.", "Three."]);
    home.write("recording.jsonl", &script.0);
    let first = events(&home.good(["exec", "One.", "--json"]));
    let session = first[0]["session"].as_str().expect("an id").to_owned();
    home.good(["exec", "Two.", "--resume", &session]);
    let out = home.good(["session", "compact", &session]);
    assert!(out.starts_with("compacted: "), "{out}");
    assert_eq!(home.good(["exec", "Three.", "--resume", &session]), "On.\n");
    home.good(["session", "verify", &session]);

    let nobody = home.run(["session", "compact", "nobody"]);
    assert_eq!(nobody.code, Some(2), "{}", nobody.stderr);
}
