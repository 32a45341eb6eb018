//! Answers that never end: given up, at a price that is known.

use futures::StreamExt as _;
use raddle_core::provider::{Partial, ProviderErrorKind, RequestKey, StreamEvent};
use serde_json::{Map, Value, json};

use crate::server::{End, Reply, Server};
use crate::support::{Api, provider, request, settings, user};

/// What is taken of one answer.
const LIMIT: usize = 32 << 20;

#[tokio::test]
async fn an_endless_answer_costs_little_more_than_what_is_taken_of_it() {
    let piece = "all work and no play ".repeat(800);
    let call = json!([{"index": 0, "id": "c", "function": {"name": "write", "arguments": piece}}]);
    for delta in [
        json!({"content": piece}),
        json!({"reasoning_content": piece}),
        json!({"tool_calls": call}),
    ] {
        let before = peak_memory();
        let shown = ask(&delta).await;
        assert!(shown < LIMIT);
        if let Some((before, after)) = before.zip(peak_memory()) {
            // Kept as an answer, in a buffer that grows by doubling.
            let grown = after.saturating_sub(before);
            assert!(grown < 3 * LIMIT, "{grown} bytes for {delta:.80}");
        }
    }
}

/// Asks a server that repeats `delta` for ever; gives the number of bytes that were shown.
async fn ask(delta: &Value) -> usize {
    let event = json!({"choices": [{"index": 0, "delta": delta}]});
    let reply = Reply::events(format!("data: {event}\n\n")).ending(End::Repeat);
    let server = Server::start(vec![reply]).await;
    let mut settings = settings(Api::Chat, &server.base_url);
    settings.max_attempts = 1;
    let options = Map::new();
    let messages = [user("go on")];
    let mut conversation = provider(settings).conversation();
    let body = conversation.encode(&request(&messages, &options));
    let key = RequestKey {
        path: "main".to_owned(),
        run: 1,
        step: 1,
    };
    let mut stream = conversation.send(body, &key);
    let mut shown = 0;
    loop {
        match stream.next().await.expect("an end") {
            Ok(StreamEvent::Text(text)) => shown += text.len(),
            Err(error) => {
                assert_eq!(error.kind, ProviderErrorKind::Malformed);
                assert_eq!(error.message, "the answer is longer than 32 MiB");
                assert!(error.partial_text.len() <= Partial::LIMIT);
                return shown;
            }
            Ok(other) => panic!("{other:?}"),
        }
    }
}

/// The most memory that this process has had so far, where the system tells.
fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: usize = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes << 10)
}
