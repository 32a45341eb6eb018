//! Skills: the catalog, loads and what is recorded of them, and the commands about them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::{Done, Home};

const DEPLOYMENT: &str = r#"
[plugins.skills]
source = "std:skills"
settings.roots = ["mine", "library"]

[plugins.yield]
source = "std:yield"

[plugins.files]
source = "std:files"
grants.workspace = [{ dir = "<session>", mode = "rw" }]

[[permission.rule]]
tool = "edit"
action = "allow"

[model]
provider = "openai-responses"
name = "recorded"
"#;

/// A home with two folders of skills.
fn home() -> Home {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    skill(
        &home,
        "library/deck",
        "metadata:\n  type: workflow\n  requires-skills: gml\n",
        "1. Write it.\n2. Look at it.",
    );
    skill(&home, "library/gml", "", "A deck holds cards.");
    skill(&home, "library/tone", "", "Short sentences.");
    skill(
        &home,
        "library/shout",
        "metadata:\n  conflicts-with: tone\n",
        "LOUD.",
    );
    skill(&home, "mine/tone", "", "My sentences.");
    home
}

fn skill(home: &Home, folder: &str, more: &str, body: &str) {
    let name = folder.rsplit('/').next().expect("a name");
    let text = format!("---\nname: {name}\ndescription: Use for {name}.\n{more}---\n{body}\n");
    home.write(&format!("{folder}/SKILL.md"), &text);
}

/// A tool and its arguments.
type Call<'a> = (&'a str, Value);

/// A recording of one run: for each step the calls the model makes, and what the request must hold.
fn record(home: &Home, steps: &[(&[Call<'_>], &str, &str)]) {
    let mut text = String::new();
    for (number, (calls, pointer, contains)) in steps.iter().enumerate() {
        let calls = calls
            .iter()
            .map(|(name, arguments)| json!({"call": {"name": name, "arguments": arguments}}));
        let last = number + 1 == steps.len();
        let end = match last {
            true => vec![json!({"text": "Done."}), json!({"finish": "stop"})],
            false => vec![json!({"finish": "toolCalls"})],
        };
        let step = json!({
            "key": format!("main/1/{}", number + 1),
            "expect": [{"pointer": pointer, "contains": contains}],
            "chunks": calls.chain(end).collect::<Vec<_>>(),
        });
        let _ = writeln!(text, "{step}");
    }
    home.write("recording.jsonl", &text);
}

fn load(name: &str) -> Call<'static> {
    ("skill", json!({ "name": name }))
}

fn say(message: &str) -> Call<'static> {
    (
        "message_user",
        json!({"message": message, "blockOnUser": false}),
    )
}

fn run(home: &Home) -> Vec<Value> {
    let out = home.good(["exec", "Go.", "--json", "--recording", "recording.jsonl"]);
    let parse = |line| serde_json::from_str(line).expect("JSON");
    out.lines().map(parse).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| event["type"] == kind)
        .collect()
}

fn session(home: &Home) -> String {
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    list[0]["id"].as_str().expect("an id").to_owned()
}

/// "The tool result becomes part of the conversation context."
#[test]
fn a_load_is_whole_brings_what_it_requires_and_is_recorded() {
    let home = home();
    record(
        &home,
        &[
            (
                &[load("deck"), say("On it."), load("tone")],
                "/instructions",
                "name=\"deck\"\n    type=\"workflow\"\n    path=\"library/deck/SKILL.md\"\n  >\n    Use for deck.",
            ),
            (
                &[("list", json!({"path": "."}))],
                "/input/4/output",
                "</skill>\n\n<skill name=\"gml\" type=\"reference\" path=\"library/gml/SKILL.md\">\nA deck holds cards.\n</skill>",
            ),
            (&[load("gml")], "/input/6/output", "My sentences."),
            (&[], "/input/10/output", "A deck holds cards."),
        ],
    );
    let events = run(&home);
    let loads: Vec<Value> = of(&events, "skill.activated")
        .iter()
        .map(|event| {
            let data = &event["data"];
            json!([
                data["name"],
                data["type"],
                data["requiredBy"],
                event["step"],
                data["beforeTaskTools"]
            ])
        })
        .collect();
    let mut first = loads[..3].to_vec();
    first.sort_by_key(Value::to_string);
    assert_eq!(
        first,
        [
            json!(["deck", "workflow", null, 1, true]),
            json!(["gml", "reference", "deck", 1, true]),
            json!(["tone", "reference", null, 1, true]),
        ]
    );
    assert_eq!(
        loads[3..],
        [json!(["gml", "reference", null, 3, false])],
        "loaded after the task began"
    );

    let id = session(&home);
    let shown = home.good(["session", "show", &id]);
    for line in [
        "deck (workflow) in batch 1/1, before the task tools",
        "gml (reference, required by deck) in batch 1/1, before the task tools",
        "gml (reference) in batch 1/3, after a task tool: a selection error",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    home.good(["session", "verify", &id]);
}

#[test]
fn skills_that_cannot_be_together_are_refused_both() {
    let home = home();
    record(
        &home,
        &[
            (
                &[load("tone"), load("shout"), load("gml")],
                "/instructions",
                "<available_skills>",
            ),
            (
                &[load("ghost"), load("../deck")],
                "/input/5/output",
                "`shout` and `tone` conflict",
            ),
            (
                &[],
                "/input/10/output",
                "there is no skill `../deck` now; there are: deck, gml, shout, tone",
            ),
        ],
    );
    let events = run(&home);
    let names: Vec<&Value> = of(&events, "skill.activated")
        .iter()
        .map(|e| &e["data"]["name"])
        .collect();
    assert_eq!(names, ["gml"]);
    let failed = of(&events, "tool.result")
        .iter()
        .filter(|e| e["data"]["isError"] == true)
        .count();
    assert_eq!(failed, 4);
}

/// An edited skill is given as edited; the prompt of the session stays as it is.
#[test]
fn an_edit_counts_from_the_next_load_and_a_removal_too() {
    let home = home();
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "library/gml/SKILL.md", "old": old, "new": new});
        ("edit", arguments)
    };
    record(
        &home,
        &[
            (
                &[("read", json!({"path": "library/gml/SKILL.md"}))],
                "/instructions",
                "Use for gml.",
            ),
            (
                &[edit("holds cards", "holds many cards")],
                "/input/2/output",
                "A deck holds cards.",
            ),
            (&[load("gml")], "/input/3/name", "edit"),
            (
                &[edit("name: gml", "name: other")],
                "/input/6/output",
                "A deck holds many cards.\n</skill>",
            ),
            (&[load("gml"), load("deck")], "/input/7/name", "edit"),
            (
                &[load("other")],
                "/input/11/output",
                "there is no skill `gml` now; there are: other",
            ),
            (
                &[],
                "/input/12/output",
                "`deck` cannot be loaded: `deck` requires `gml`, which is not there",
            ),
        ],
    );
    let events = run(&home);
    assert!(of(&events, "cache.break").is_empty());
    assert_eq!(of(&events, "skill.activated").len(), 2);
}

#[test]
fn the_deployments_skills_are_listed_and_checked() {
    let home = home();
    let rows: Value = serde_json::from_str(&home.good(["skill", "list", "--json"])).expect("JSON");
    assert_eq!(rows[0]["name"], "deck");
    assert_eq!(rows[0]["plugin"], "skills");
    assert_eq!(rows[0]["ourFields"], json!(["requires-skills", "type"]));
    assert_eq!(rows[3]["path"], "mine/tone/SKILL.md");
    let text = home.good(["skill", "list"]);
    assert!(
        text.starts_with("deck   workflow   skills  library/deck/SKILL.md   Use for deck."),
        "{text}"
    );

    let good = home.good(["skill", "check"]);
    assert!(
        good.contains("deck: requires-skills, type of its metadata are Raddle's own"),
        "{good}"
    );
    assert!(
        good.contains(
            "warning: library/tone/SKILL.md: the name `tone` is that of mine/tone/SKILL.md already"
        ),
        "{good}"
    );
    assert!(good.ends_with("4 skills good\n"), "{good}");
}

#[test]
fn check_tells_what_is_wrong_where() {
    let home = home();
    home.write(
        "mine/colon/SKILL.md",
        "---\nname: colon\ndescription: Two axes: Standards\n---\n",
    );
    home.write(
        "mine/top/SKILL.md",
        "---\nname: top\ndescription: Words.\ntype: workflow\n---\n",
    );
    home.write("mine/broken/SKILL.md", "---\nname: broken\n");
    home.write("secret", "secret");
    fs::create_dir(home.work().join("mine/link")).expect("a folder");
    std::os::unix::fs::symlink("../../secret", home.work().join("mine/link/SKILL.md"))
        .expect("a link");
    let Done {
        code,
        stdout,
        stderr,
    } = home.run(["skill", "check", "mine"]);
    assert_eq!(code, Some(1));
    for line in [
        "error: mine/colon/SKILL.md:3:14: quote the description",
        "error: mine/top/SKILL.md:4:1: write `type` under `metadata`, as `type`",
        "error: mine/broken/SKILL.md:2:1: the front matter is not closed",
        "error: mine/link/SKILL.md: it is a link that leads out of its folder",
    ] {
        assert!(stderr.contains(line), "{line}\n{stderr}");
    }
    assert!(
        stdout.contains("warning: mine/top/SKILL.md: `description` states no trigger"),
        "{stdout}"
    );
    assert!(!stdout.contains("secret") && !stderr.contains("secret"));
    let report = home.run(["skill", "check", "mine", "--json"]);
    assert_eq!(report.code, Some(1));
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    assert_eq!(report["good"], false);

    let missing = home.run(["skill", "check", "nowhere"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    home.write("raddle.toml", "");
    assert_eq!(home.run(["skill", "list"]).code, Some(2));
}

/// The skills of this repository.
#[test]
fn the_library_is_valid_and_every_description_states_a_trigger() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../skills");
    let out = Home::new().good([
        "skill".as_ref(),
        "check".as_ref(),
        "--json".as_ref(),
        library.as_os_str(),
    ]);
    let report: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(report["findings"], json!([]));
    let skills: Vec<(&str, &str)> = report["skills"]
        .as_array()
        .expect("skills")
        .iter()
        .map(|skill| {
            (
                skill["name"].as_str().expect("a name"),
                skill["type"].as_str().expect("a type"),
            )
        })
        .collect();
    assert_eq!(
        skills,
        [
            ("ask-user-questions", "reference"),
            ("deck-generation", "workflow"),
            ("gml-authoring", "reference"),
            ("gml-cli", "reference"),
            ("gml-editing", "workflow"),
            ("import", "workflow"),
        ]
    );
}
