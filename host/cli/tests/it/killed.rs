//! The process is killed at random moments while injections arrive. What counts is what the model
//! service received, not what the log says.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Done, Home};

const SEEDS: u64 = 50;
/// Sessions that are tried at the same time.
const LANES: u64 = 4;
const INJECTIONS: usize = 3;
/// Calls the model makes for each message.
const CALLS: usize = 8;

/// Seeds with compactions.
const COMPACTED_SEEDS: u64 = 24;

const COMPACTING: &str = r#"
[plugins.skills]
source = "std:skills"
settings.roots = ["skills"]

[plugins.compaction]
source = "std:compaction"
settings = { at_tokens = 2600, keep_messages = 2, summary_tokens = 100 }
grants.model = { max_tokens = 100 }
"#;

const DECK: &str = "---
name: deck
description: TRIGGER for every deck.
metadata:
  type: workflow
---

1. Look at every card, word for word.
";

#[test]
fn every_injection_reaches_the_model_once_whenever_the_process_is_killed() {
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            scope.spawn(move || {
                for seed in (0..seeds(SEEDS)).filter(|seed| seed % LANES == lane) {
                    play(seed);
                }
            });
        }
    });
}

/// The same while the conversation is compacted again and again: what the model was told once is not
/// told anew, and the body of the active skill stands once in what is sent.
#[test]
fn what_was_told_stays_told_through_compactions_whenever_the_process_is_killed() {
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            scope.spawn(move || {
                for seed in (0..seeds(COMPACTED_SEEDS)).filter(|seed| seed % LANES == lane) {
                    play_compacted(seed);
                }
            });
        }
    });
}

/// `RADDLE_SEEDS` asks for more than are played every time.
fn seeds(usual: u64) -> u64 {
    let wanted = std::env::var("RADDLE_SEEDS").ok();
    wanted.and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

fn play_compacted(seed: u64) {
    let mut random = Random(seed + 1000);
    let model = Model::start();
    let home = Home::new();
    home.write("skills/deck/SKILL.md", DECK);
    home.write(
        "raddle.toml",
        &format!("{}{COMPACTING}", deployment(&model.url)),
    );
    let mut running = exec(&home, &["Go."]);
    let session = session_of(&mut running);
    interrupted(&mut random, seed, &home, &session, &mut running);
    let resumed = exec(&home, &["More.", "--resume", &session]);
    let done = Done::of(resumed.wait_with_output().expect("an end"));
    assert_eq!(done.code, Some(0), "seed {seed}: {}", done.stderr);

    let requests = model.requests();
    let main: Vec<&Value> = requests
        .iter()
        .filter(|request| request["tools"].is_array())
        .collect();
    assert!(
        main.len() < requests.len(),
        "seed {seed}: nothing was compacted"
    );
    for number in 0..INJECTIONS {
        let id = format!("id=\"evt_{number}\"");
        let told = main.iter().map(|request| {
            check(request, seed);
            updates(request).filter(|text| text.contains(&id)).count()
        });
        let mut told: Vec<usize> = told.collect();
        told.dedup();
        // Not told, told, and perhaps cut: never again after that.
        let once = [vec![0, 1], vec![0, 1, 0], vec![1], vec![1, 0]];
        assert!(once.contains(&told), "seed {seed}, {id}: {told:?}");
    }
    let shown = home.good(["session", "show", &session]);
    let last = main.last().expect("a request");
    let bodies = last
        .to_string()
        .matches("Look at every card, word for word.")
        .count();
    let active = usize::from(shown.contains("skill.activated"));
    assert_eq!(bodies, active, "seed {seed}: {last:#}");
    home.good(["session", "verify", &session]);
}

fn play(seed: u64) {
    let mut random = Random(seed);
    let model = Model::start();
    let home = Home::new();
    home.write("raddle.toml", &deployment(&model.url));
    let mut running = exec(&home, &["Go."]);
    let session = session_of(&mut running);

    interrupted(&mut random, seed, &home, &session, &mut running);
    let resumed = exec(&home, &["More.", "--resume", &session]);
    let done = Done::of(resumed.wait_with_output().expect("an end"));
    assert_eq!(done.code, Some(0), "seed {seed}: {}", done.stderr);

    let requests = model.requests();
    for request in &requests {
        check(request, seed);
    }
    let last = requests.last().expect("a request");
    for number in 0..INJECTIONS {
        let id = format!("id=\"evt_{number}\"");
        let times = updates(last).filter(|text| text.contains(&id)).count();
        assert_eq!(times, 1, "seed {seed}, {id}: {last:#}");
    }
    home.good(["session", "verify", &session]);
}

/// Sends the injections, and kills the process somewhere among them.
fn interrupted(random: &mut Random, seed: u64, home: &Home, session: &str, running: &mut Child) {
    // A place for the kill among the injections, and some time before each of them.
    let kill_before = random.below(INJECTIONS + 1);
    for number in 0..=INJECTIONS {
        std::thread::sleep(Duration::from_millis(random.below(40) as u64));
        if number == kill_before {
            running.kill().expect("killed");
            running.wait().expect("an end");
        }
        if number < INJECTIONS {
            let kinds = ["system_guidance", "system_note", "background_result"];
            let kind = kinds[random.below(kinds.len())];
            let id = format!("evt_{number}");
            let told = home.good([
                "session",
                "inject",
                session,
                "--kind",
                kind,
                "--event-id",
                &id,
                "--summary",
                "It happened.",
            ]);
            let known = [format!("{id} queued\n"), format!("{id} delivered")];
            assert!(
                known.iter().any(|start| told.starts_with(start)),
                "seed {seed}: {told}"
            );
        }
    }
}

/// Each injection at most once, and none between a call and its result.
fn check(request: &Value, seed: u64) {
    let mut seen = Vec::new();
    // What a compaction put back is trusted as well, and has no id.
    for text in updates(request).filter(|text| text.contains(" id=\"evt_")) {
        let id = text.split('"').nth(1).expect("an id").to_owned();
        assert!(!seen.contains(&id), "seed {seed}: {request:#}");
        seen.push(id);
    }
    let mut open = 0_usize;
    for item in input(request) {
        match item["type"].as_str() {
            Some("function_call") => open += 1,
            Some("function_call_output") => open -= 1,
            _ => assert_eq!(open, 0, "seed {seed}: {request:#}"),
        }
    }
    assert_eq!(open, 0, "seed {seed}: {request:#}");
}

fn input(request: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    request["input"].as_array().expect("a list").iter()
}

fn updates(request: &Value) -> impl Iterator<Item = &str> {
    let trusted = input(request).filter(|item| item["role"] == "developer");
    trusted.filter_map(|item| item["content"][0]["text"].as_str())
}

fn deployment(url: &str) -> String {
    format!(
        r#"
[plugins.bash]
source = "std:bash"
grants.process = {{ programs = ["bash"], cwd = "<session>" }}

[plugins.injections]
source = "std:injections"

[model]
provider = "openai-responses"
name = "loopback"
base_url = "{url}/v1"
developer_role = true

[[permission.rule]]
tool = "bash"
action = "allow"
"#
    )
}

fn exec(home: &Home, arguments: &[&str]) -> Child {
    home.command(["exec", "--json"].iter().chain(arguments))
        .env("OPENAI_API_KEY", "none")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

fn session_of(running: &mut Child) -> String {
    let mut line = String::new();
    let stdout = running.stdout.take().expect("stdout");
    let mut lines = BufReader::new(stdout);
    lines.read_line(&mut line).expect("a line");
    // Whatever follows is read, so that the process never waits for it.
    std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    let event: Value = serde_json::from_str(&line).expect("JSON");
    event["session"].as_str().expect("an id").to_owned()
}

/// A model service that asks for a few commands, then is done.
struct Model {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests: Arc<Mutex<Vec<Value>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                // A client that was killed ends its thread, and nothing else.
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { url, requests }
    }

    fn requests(&self) -> Vec<Value> {
        self.requests.lock().expect("no panic").clone()
    }
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Value>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end().to_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().map_err(std::io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body).map_err(std::io::Error::other)?;
        let (number, calls) = {
            let mut seen = seen.lock().map_err(|_| std::io::Error::other("a panic"))?;
            let before = seen.iter().filter(|other| {
                other["tools"].is_array() && users_words(other) == users_words(&request)
            });
            let calls = before.count();
            seen.push(request.clone());
            (seen.len(), calls)
        };
        std::thread::sleep(Duration::from_millis(5));
        let answer = answer(&request, number, calls);
        let length = answer.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
        reader
            .get_mut()
            .write_all(format!("{head}{length}\r\n\r\n{answer}").as_bytes())?;
    }
}

/// The words that a run answers.
fn users_words(request: &Value) -> Option<&Value> {
    let said = input(request).rev().find(|item| item["role"] == "user");
    said.map(|item| &item["content"])
}

fn answer(request: &Value, number: usize, calls: usize) -> String {
    let offers = |tool: &str| {
        let tools = request["tools"].as_array();
        tools.is_some_and(|tools| tools.iter().any(|offered| offered["name"] == tool))
    };
    // Once a session, as a model would that knows what it has.
    let has_skill = request.to_string().contains("Look at every card");
    if offers("skill") && !has_skill && !request.to_string().contains("interrupted") {
        return events(&json!({
            "type": "function_call", "id": format!("fc_{number}"), "status": "completed",
            "call_id": format!("call_{number}"), "name": "skill",
            "arguments": r#"{"name":"deck"}"#,
        }));
    }
    if !offers("bash") {
        return events(&json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "## Goal\nGo on.", "annotations": []}],
        }));
    }
    let item = match calls {
        done if done < CALLS => json!({
            "type": "function_call", "id": format!("fc_{number}"), "status": "completed",
            "call_id": format!("call_{number}"), "name": "bash",
            "arguments": r#"{"command":"seq 1 200"}"#,
        }),
        _ => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
        }),
    };
    events(&item)
}

fn events(item: &Value) -> String {
    let response = json!({"id": "resp", "status": "completed", "output": [item]});
    [
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": response}),
    ]
    .map(|event| {
        format!(
            "event: {}\ndata: {event}\n\n",
            event["type"].as_str().unwrap_or_default()
        )
    })
    .concat()
}

/// A generator whose numbers are the same on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }
}
