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

#[test]
fn every_injection_reaches_the_model_once_whenever_the_process_is_killed() {
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            scope.spawn(move || {
                for seed in (0..SEEDS).filter(|seed| seed % LANES == lane) {
                    play(seed);
                }
            });
        }
    });
}

fn play(seed: u64) {
    let mut random = Random(seed);
    let model = Model::start();
    let home = Home::new();
    home.write("raddle.toml", &deployment(&model.url));
    let mut running = exec(&home, &["Go."]);
    let session = session_of(&mut running);

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
                &session,
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

/// Each injection at most once, and none between a call and its result.
fn check(request: &Value, seed: u64) {
    let mut seen = Vec::new();
    for text in updates(request) {
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
        let number = {
            let mut seen = seen.lock().map_err(|_| std::io::Error::other("a panic"))?;
            seen.push(request.clone());
            seen.len()
        };
        std::thread::sleep(Duration::from_millis(5));
        let answer = answer(&request, number);
        let length = answer.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ";
        reader
            .get_mut()
            .write_all(format!("{head}{length}\r\n\r\n{answer}").as_bytes())?;
    }
}

fn answer(request: &Value, number: usize) -> String {
    let since_user = input(request)
        .rev()
        .take_while(|item| item["role"] != "user");
    let calls = since_user.filter(|item| item["type"] == "function_call_output");
    let item = match calls.count() {
        done if done < CALLS => json!({
            "type": "function_call", "id": format!("fc_{number}"), "status": "completed",
            "call_id": format!("call_{number}"), "name": "bash",
            "arguments": r#"{"command":"true"}"#,
        }),
        _ => json!({
            "type": "message", "id": format!("msg_{number}"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
        }),
    };
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
