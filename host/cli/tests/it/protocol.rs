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
                &[(
                    "message_user",
                    json!({"message": "All done.", "blockOnUser": true, "intent": "complete"}),
                )],
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
    let id = list[0]["id"].as_str().expect("an id");
    home.good(["session", "verify", id]);

    // Played in a terminal: the list and the messages for themselves, and of their calls only what
    // was refused, with the reason and without what was not to be shown.
    let played = home.run(["session", "replay", id]);
    assert_eq!(played.stdout, "> Go.\nOn it.\nAll done.\n");
    let expected = [
        "● todo",
        r#"  {"code":"in-progress","message":"only one task can be in_progress, these are: a, b; nothing changed…"#,
        "  ▸ Do a",
        "  ○ Do b",
        "● todo",
        r#"  {"code":"invalid-arguments","message":"/update/0/status: value is not one of \"pending\", \"in_prog…"#,
        "  ✓ Do a",
        "  ○ Do b",
        "● message_user (yield)",
        r#"  {"code":"not-alone","message":"not shown: with blockOnUser true, message_user must be the only call…"#,
    ];
    // The last two calls ran side by side: either is done first.
    let (mut notes, mut expected): (Vec<&str>, Vec<&str>) =
        (played.stderr.lines().collect(), expected.to_vec());
    let batch = expected.len() - 4;
    assert_eq!(notes.len(), expected.len(), "{}", played.stderr);
    notes[batch..].sort_unstable();
    expected[batch..].sort_unstable();
    assert_eq!(notes, expected, "{}", played.stderr);
}

/// What the process exits with says whether the user has something to do.
#[test]
fn a_run_that_waits_for_the_user_is_stopped_and_a_complete_one_is_good() {
    let task = json!({"id": "a", "label": "Do a", "status": "pending"});
    let open = [("todo", json!({"tasks": [task]}))];
    for (intent, with_open_task, code) in [
        (Some("complete"), true, 0),
        (Some("answer"), true, 0),
        (Some("question"), false, 4),
        (Some("blocked"), false, 4),
        (None, false, 0),
        (None, true, 4),
    ] {
        let home = Home::new();
        home.write("raddle.toml", DEPLOYMENT);
        let mut arguments = json!({"message": "So it is.", "blockOnUser": true});
        if let Some(intent) = intent {
            arguments["intent"] = json!(intent);
        }
        let told = [("message_user", arguments)];
        let first = (&open[..], "/instructions", "message_user");
        let last = (&told[..], "/instructions", "message_user");
        let steps = match with_open_task {
            true => vec![first, last],
            false => vec![last],
        };
        home.write("recording.jsonl", &recording(&steps));
        let done = home.run(["exec", "Go.", "--recording", "recording.jsonl"]);
        let case = format!("{intent:?} {with_open_task}");
        assert_eq!(done.code, Some(code), "{case}: {}", done.stderr);
        assert_eq!(done.stdout, "So it is.\n", "{case}");
        let waits = done
            .stderr
            .contains("the agent waits for the user: `raddle exec --resume ");
        assert_eq!(waits, code == 4, "{case}: {}", done.stderr);
    }
}

/// However the model says it, people read it once.
#[test]
fn an_answer_and_a_message_in_the_same_words_are_shown_once() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    let arguments = json!({"message": "All done.", "blockOnUser": true, "intent": "complete"});
    let call = json!({"call": {"name": "message_user", "arguments": arguments}});
    let said = json!({"text": "All done."});
    let finish = |finish: &str| json!({ "finish": finish });
    for chunks in [
        json!([said, finish("stop")]),
        json!([call, finish("toolCalls")]),
        json!([said, call, finish("toolCalls")]),
    ] {
        let expect = json!([{"pointer": "/instructions", "contains": "message_user"}]);
        let step = json!({"key": "main/1/1", "chunks": chunks, "expect": expect});
        home.write("recording.jsonl", &step.to_string());
        let shown = home.good(["exec", "Go.", "--recording", "recording.jsonl"]);
        assert_eq!(shown, "All done.\n", "{chunks}");
        let list: Value =
            serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
        let id = list[0]["id"].as_str().expect("an id");
        let played = home.run(["session", "replay", id]);
        assert_eq!(played.stdout, "> Go.\nAll done.\n", "{chunks}");
        assert_eq!(played.stderr, "", "{chunks}");
    }
}

/// A last answer may repeat what a message has told, or only begin like it.
#[test]
fn a_last_answer_in_the_words_of_the_message_before_it_is_not_shown_again() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    for (pieces, shown) in [
        (&["All ", "done."][..], "All done.\n"),
        (&["All", " done"], "All done.\nAll done\n"),
        (
            &["All ", "done.", " Really.", " All "],
            "All done.\nAll done. Really. All \n",
        ),
    ] {
        let told = json!({"message": "All done.", "blockOnUser": false});
        let told = recording(&[(&[("message_user", told)], "/instructions", "message_user")]);
        let texts = pieces.iter().map(|piece| json!({ "text": piece }));
        let chunks: Vec<Value> = texts.chain([json!({"finish": "stop"})]).collect();
        let expect = json!([{"pointer": "/input/2/output", "contains": "shown"}]);
        let last = json!({"key": "main/1/2", "chunks": chunks, "expect": expect});
        home.write("recording.jsonl", &format!("{told}{last}"));
        let found = home.good(["exec", "Go.", "--recording", "recording.jsonl"]);
        assert_eq!(found, shown);
        let list: Value =
            serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
        let id = list[0]["id"].as_str().expect("an id");
        let played = home.run(["session", "replay", id]);
        assert_eq!(played.stdout, format!("> Go.\n{shown}"));
    }
}

/// Words that nobody sees reach the model as the user's, and whoever reads the log sees them.
#[test]
fn the_log_shows_what_is_hidden_in_a_text() {
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    let hidden = "hi\u{e006f}\u{e0062}\u{e0065}\u{e0079}";
    let expect = json!([{"pointer": "/input/0/content/0/text", "equals": hidden}]);
    let chunks = json!([{"text": "Hello.\u{1b}[2K"}, {"finish": "stop"}]);
    let step = json!({"key": "main/1/1", "chunks": chunks, "expect": expect});
    home.write("recording.jsonl", &step.to_string());
    home.good(["exec", hidden, "--recording", "recording.jsonl"]);
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let shown = home.good(["session", "show", list[0]["id"].as_str().expect("an id")]);
    assert!(
        shown.contains(r"hi\u{e006f}\u{e0062}\u{e0065}\u{e0079}"),
        "{shown}"
    );
    assert!(shown.contains(r"Hello.\u{1b}[2K"), "{shown}");
}
