//! The plugin's side of the protocol, against what agents wrote.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not there"
)]

use std::collections::{BTreeMap, VecDeque};

use raddle_plugin_acp::{Heard, Host, Settings, Turn};
use raddle_sdk::{Error, ErrorKind};
use serde_json::{Value, json};

/// An agent whose words are known, and files in memory.
#[derive(Default)]
struct Stage {
    /// What the agent writes after each line that it reads.
    words: VecDeque<String>,
    written: Vec<Value>,
    waiting: Vec<u8>,
    files: BTreeMap<String, String>,
    shown: Vec<String>,
    said: String,
}

impl Host for Stage {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        assert_eq!(bytes.last(), Some(&b'\n'));
        self.written.push(serde_json::from_slice(bytes).unwrap());
        self.waiting
            .extend(self.words.pop_front().unwrap_or_default().into_bytes());
        Ok(())
    }

    fn read(&mut self) -> Result<Heard, Error> {
        // In pieces that respect nothing.
        let count = self.waiting.len().min(7);
        match count {
            0 => Ok(Heard::End),
            _ => Ok(Heard::Bytes(self.waiting.drain(..count).collect())),
        }
    }

    fn read_file(&mut self, path: &str) -> Result<String, Error> {
        let text = self.files.get(path).cloned();
        text.ok_or_else(|| Error::not_found("missing", "no such file"))
    }

    fn write_file(&mut self, path: &str, text: &str) -> Result<(), Error> {
        self.files.insert(path.to_owned(), text.to_owned());
        Ok(())
    }

    fn show(&mut self, title: &str) {
        self.shown.push(title.to_owned());
    }

    fn say(&mut self, text: &str) {
        self.said.push_str(text);
    }
}

fn settings(permit: &[&str]) -> Settings {
    serde_json::from_value(json!({ "program": "agent", "permit": permit })).unwrap()
}

/// `words[n]` is what the agent writes when it has read line `n`.
fn run(words: &[&[Value]], permit: &[&str]) -> (Stage, Result<String, Error>) {
    let begun: [&[Value]; 2] = [
        &[json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}})],
        &[json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}})],
    ];
    let lines = |messages: &&[Value]| -> String {
        messages
            .iter()
            .map(|message| format!("{message}\n"))
            .collect()
    };
    let mut stage = Stage {
        words: begun.iter().chain(words).map(lines).collect(),
        ..Stage::default()
    };
    let answer = Turn::of(&mut stage, &settings(permit)).run("/srv", "Go.");
    (stage, answer)
}

fn end(reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "result": {"stopReason": reason}})
}

fn update(update: Value) -> Value {
    let parameters = json!({"sessionId": "s", "update": update});
    json!({"jsonrpc": "2.0", "method": "session/update", "params": parameters})
}

fn chunk(text: &str) -> Value {
    let content = json!({"type": "text", "text": text});
    update(json!({"sessionUpdate": "agent_message_chunk", "content": content}))
}

/// What an agent wrote that was made with the public Python SDK: `tests/world/acp_agent.py`.
#[test]
fn an_agent_of_the_public_sdk_is_understood() {
    let recorded: Vec<&str> = include_str!("../fixtures/python-sdk.jsonl")
        .lines()
        .collect();
    let after = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect();
    let mut stage = Stage {
        words: [
            &recorded[..1],
            &recorded[1..2],
            &recorded[2..5],
            &recorded[5..7],
            &recorded[7..8],
            &recorded[8..],
        ]
        .map(after)
        .into(),
        ..Stage::default()
    };
    stage
        .files
        .insert("/srv/name.txt".to_owned(), "loom".to_owned());
    let answer = Turn::of(&mut stage, &settings(&["edit"])).run("/srv", "Go.");
    assert_eq!(answer.unwrap(), "It is in capitals now. You said: Go.");
    assert_eq!(stage.files["/srv/name.txt"], "LOOM");
    assert_eq!(stage.shown, ["Edit name.txt"]);
    assert!(
        stage.said.starts_with("I look at the file. "),
        "{}",
        stage.said
    );
    let asked: Vec<&Value> = stage.written.iter().map(|line| &line["method"]).collect();
    assert_eq!(asked[..3], ["initialize", "session/new", "session/prompt"]);
    assert_eq!(stage.written[3]["result"], json!({"content": "loom"}));
    assert_eq!(
        stage.written[4]["result"],
        json!({"outcome": {"outcome": "selected", "optionId": "yes"}})
    );
    assert_eq!(stage.written[5]["id"], 2);
}

#[test]
fn what_it_said_before_it_acted_is_the_answer_only_if_it_said_nothing_after() {
    let call = update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "T"}));
    let told = [chunk("Before."), call.clone(), chunk(" "), end("end_turn")];
    assert_eq!(run(&[&told], &[]).1.unwrap(), "Before.");
    let told = [
        chunk("Before."),
        call,
        chunk("Af"),
        chunk("ter."),
        end("end_turn"),
    ];
    assert_eq!(run(&[&told], &[]).1.unwrap(), "After.");
}

#[test]
fn only_what_is_permitted_is_permitted() {
    let option = |id: &str, kind: &str| json!({"optionId": id, "name": id, "kind": kind});
    let all = json!([
        option("always", "allow_always"),
        option("once", "allow_once"),
        option("never", "reject_always"),
    ]);
    let only_allow = json!([option("always", "allow_always")]);
    let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    let cancelled = json!({"outcome": {"outcome": "cancelled"}});
    for (kind, options, answer) in [
        (Some("read"), &all, &selected("once")),
        (Some("read"), &only_allow, &selected("always")),
        (Some("execute"), &all, &selected("never")),
        (Some("execute"), &only_allow, &cancelled),
        (None, &all, &selected("never")),
    ] {
        let call = json!({"toolCallId": "1", "kind": kind});
        let parameters = json!({"sessionId": "s", "toolCall": call, "options": options});
        let method = "session/request_permission";
        let ask = json!({"jsonrpc": "2.0", "id": "a", "method": method, "params": parameters});
        let (stage, _) = run(&[&[ask], &[end("end_turn")]], &["read"]);
        assert_eq!(&stage.written[3]["result"], answer, "{kind:?}");
        assert_eq!(stage.written[3]["id"], "a");
    }
    // The kind may have been said before, of the call alone.
    let said = update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "read"}));
    let parameters = json!({"sessionId": "s", "toolCall": {"toolCallId": "1"}, "options": all});
    let method = "session/request_permission";
    let ask = json!({"jsonrpc": "2.0", "id": 9, "method": method, "params": parameters});
    let (stage, _) = run(&[&[said, ask], &[end("end_turn")]], &["read"]);
    assert_eq!(stage.written[3]["result"], selected("once"));
}

#[test]
fn parts_of_files_are_given_and_what_fails_is_said() {
    let read = |parameters: Value| {
        let method = "fs/read_text_file";
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters})
    };
    for (parameters, answer) in [
        (
            json!({"path": "/gone"}),
            json!({"code": -32002, "message": "no such file"}),
        ),
        (
            json!({}),
            json!({"code": -32602, "message": "`path` is missing"}),
        ),
    ] {
        let (stage, _) = run(&[&[read(parameters)], &[end("end_turn")]], &[]);
        assert_eq!(stage.written[3]["error"], answer);
    }
    let unknown = json!({"jsonrpc": "2.0", "id": 7, "method": "terminal/create", "params": {}});
    let (stage, answer) = run(&[&[unknown], &[chunk("Well."), end("end_turn")]], &[]);
    assert_eq!(stage.written[3]["error"]["code"], -32601);
    assert_eq!(answer.unwrap(), "Well.");

    let begun = [
        json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}),
        read(json!({"path": "/a", "line": 2, "limit": 1})),
        end("end_turn"),
    ];
    let mut stage = Stage {
        words: begun.iter().map(|message| format!("{message}\n")).collect(),
        ..Stage::default()
    };
    stage
        .files
        .insert("/a".to_owned(), "one\ntwo\nthree\n".to_owned());
    Turn::of(&mut stage, &settings(&[]))
        .run("/srv", "Go.")
        .unwrap();
    assert_eq!(stage.written[3]["result"]["content"], "two\n");
}

#[test]
fn every_way_to_stop_has_its_error() {
    for (reason, kind, code) in [
        ("max_tokens", ErrorKind::Limit, "tokens"),
        ("max_turn_requests", ErrorKind::Limit, "steps"),
        ("refusal", ErrorKind::Failed, "refused"),
        ("cancelled", ErrorKind::Cancelled, "cancelled"),
        ("something_new", ErrorKind::Failed, "agent"),
    ] {
        let error = run(&[&[end(reason)]], &[]).1.unwrap_err();
        assert_eq!((error.kind, &*error.code), (kind, code));
    }
    let refusal = json!({"code": -32000, "message": "log in"});
    let refusal = json!({"jsonrpc": "2.0", "id": 2, "error": refusal});
    let error = run(&[&[refusal]], &[]).1.unwrap_err();
    assert_eq!(
        (error.kind, &*error.code),
        (ErrorKind::Unavailable, "sign-in")
    );
    let error = run(&[], &[]).1.unwrap_err();
    assert_eq!((error.kind, &*error.code), (ErrorKind::Failed, "ended"));
}

#[test]
fn other_versions_and_other_words_are_no_agent() {
    let mut stage = Stage::default();
    let other = json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 2}});
    stage
        .words
        .push_back(format!("Welcome!\n\n[1, 2]\n{other}\n"));
    let error = Turn::of(&mut stage, &settings(&[]))
        .run("/srv", "Go.")
        .unwrap_err();
    assert_eq!(
        (error.kind, &*error.code),
        (ErrorKind::Unavailable, "protocol")
    );
}
