//! Tasks and messages to the user, by the plugins that own them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::harness::Home;

const DEPLOYMENT: &str = r#"
[plugins.todo]
source = "std:todo"

[plugins.yield]
source = "std:yield"

[model]
provider = "openai-chat"
name = "recorded"
"#;

/// A tool and its arguments.
type Call<'a> = (&'a str, Value);

/// A recording: for each step the calls the model makes, and what the request must hold.
fn recording(steps: &[(&[Call<'_>], &str, &str)]) -> String {
    let mut text = String::new();
    for (number, (calls, pointer, contains)) in steps.iter().enumerate() {
        let calls = calls
            .iter()
            .map(|(name, arguments)| json!({"call": {"name": name, "arguments": arguments}}));
        let finish = json!({"finish": "toolCalls"});
        let step = json!({
            "key": format!("main/1/{}", number + 1),
            "expect": [{"pointer": pointer, "contains": contains}],
            "chunks": calls.chain([finish]).collect::<Vec<_>>(),
        });
        let _ = writeln!(text, "{step}");
    }
    text
}

fn events(lines: &str) -> Vec<Value> {
    let parse = |line| serde_json::from_str(line).expect("JSON");
    lines.lines().map(parse).collect()
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let events = events.iter().filter(|event| event["type"] == kind);
    events.map(|event| &event["data"]).collect()
}

#[test]
fn tasks_change_by_rule_and_a_blocking_message_alone_ends_the_run() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    let task =
        |id: &str, status: &str| json!({"id": id, "label": format!("Do {id}"), "status": status});
    let set = |tasks: [Value; 2]| ("todo", json!({"tasks": tasks}));
    let say = |message: &str, block: bool| {
        (
            "message_user",
            json!({"message": message, "blockOnUser": block}),
        )
    };
    let update = |status: &str| ("todo", json!({"update": [{"id": "a", "status": status}]}));
    home.write(
        "recording.jsonl",
        &recording(&[
            (
                &[set([task("a", "in_progress"), task("b", "in_progress")])],
                "/instructions",
                "Call message_user alone when blockOnUser is true.",
            ),
            (
                &[
                    set([task("a", "in_progress"), task("b", "pending")]),
                    say("On it.", false),
                ],
                "/input/2/output",
                "only one task can be in_progress, these are: a, b; nothing changed",
            ),
            (
                &[update("done")],
                "/input/5/output",
                "revision 1\na [in_progress] Do a",
            ),
            (
                &[update("complete"), say("Too early.", true)],
                "/input/8/output",
                r#"\"in_progress\""#,
            ),
            (
                &[say("All done.", true)],
                "/input/12/output",
                "must be the only call",
            ),
        ]),
    );
    let out = home.good(["exec", "Go.", "--json", "--recording", "recording.jsonl"]);
    let events = events(&out);

    let told: Vec<(&str, bool)> = of(&events, "yield")
        .iter()
        .map(|said| {
            (
                said["message"].as_str().expect("words"),
                said["blockOnUser"] == true,
            )
        })
        .collect();
    assert_eq!(told, [("On it.", false), ("All done.", true)], "each once");
    let lists = of(&events, "task.changed");
    let shape = |list: &Value| (list["revision"].clone(), list["tasks"][0]["status"].clone());
    let shapes: Vec<_> = lists.iter().map(|list| shape(list)).collect();
    assert_eq!(
        shapes,
        [
            (json!(1), json!("in_progress")),
            (json!(2), json!("complete"))
        ]
    );
    assert_eq!(of(&events, "run.ended")[0]["cause"], "yielded");
    assert_eq!(of(&events, "done")[0]["message"], "All done.");

    let plain = home.good(["exec", "Go.", "--recording", "recording.jsonl"]);
    assert_eq!(plain, "On it.\nAll done.\n", "what the user reads");
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    home.good(["session", "verify", list[0]["id"].as_str().expect("an id")]);
}
