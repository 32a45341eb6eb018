//! A model service that never stops talking: given up, and neither memory nor log holds it all.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Home;

/// What is taken of one answer.
const LIMIT: usize = 32 << 20;
/// What is kept of one that broke off.
const KEPT: usize = 1 << 20;

/// Says the same for ever to whoever asks; gives its address.
fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            reader.read_line(&mut head).expect("a line");
        }
        let lower = head.to_lowercase();
        let mut lines = lower.lines();
        let length = lines.find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.expect("a length").trim().parse().expect("a number");
        reader
            .read_exact(&mut vec![0; length])
            .expect("the request");
        let stream = reader.get_mut();
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("written");
        let words = "all work and no play ".repeat(800);
        let delta = json!({"choices": [{"index": 0, "delta": {"content": words}}]});
        let event = format!("data: {delta}\n\n");
        while stream.write_all(event.as_bytes()).is_ok() {}
    });
    url
}

#[test]
#[cfg(target_os = "linux")]
fn an_endless_answer_costs_little_memory_and_little_log() {
    let home = Home::new();
    let model = format!(
        "[model]\nprovider = \"openai-chat\"\nname = \"endless\"\nbase_url = \"{}/v1\"\n\
         api_key_env = \"KEY\"\n",
        start()
    );
    home.write("raddle.toml", &model);
    let complaint = home.work().join("complaint");
    let mut running = home
        .command(["exec", "Go."])
        .env("KEY", "k")
        .stdout(Stdio::null())
        .stderr(File::create(&complaint).expect("a file"))
        .spawn()
        .expect("the binary runs");
    // The high-water mark never falls: the last that is seen is the highest, give or take what
    // comes within a millisecond of the end.
    let status = format!("/proc/{}/status", running.id());
    let mut peak = 0;
    let ended = loop {
        let now = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = now.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = mark.and_then(|mark| mark.trim().strip_suffix(" kB")?.parse().ok());
        peak = kibibytes.unwrap_or(0_usize).max(peak);
        if let Some(ended) = running.try_wait().expect("a child") {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let complaint = home.read("complaint");
    assert_eq!(ended.code(), Some(3), "{complaint}");
    assert!(
        complaint.contains("the answer is longer than 32 MiB"),
        "{complaint}"
    );
    // The answer in a buffer that grows by doubling, and the program itself.
    assert!(peak << 10 < 5 * LIMIT / 2, "{peak} KiB");

    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let id = list[0]["id"].as_str().expect("an id");
    let log = home.good(["session", "export", id]);
    let broken = log.lines().find(|line| line.contains("message.assistant"));
    let event: Value = serde_json::from_str(broken.expect("what was said")).expect("JSON");
    assert_eq!(event["data"]["message"]["finish"], "broken");
    let text = event["data"]["message"]["parts"][0]["text"].as_str();
    let length = text.expect("text").len();
    assert!((KEPT - 4..=KEPT).contains(&length), "{length}");
    home.good(["session", "verify", id]);
}
