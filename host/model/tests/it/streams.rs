//! What services were seen to stream, and what must come out: every `*.sse` under `fixtures`,
//! served as its `*.json` says.

use std::time::Duration;

use raddle_core::message::{Finish, Part};
use serde_json::{Value, json};

use crate::server::{End, Reply, Server};
use crate::support::{Api, Outcome, ask, fixture, provider, settings};

#[tokio::test]
async fn every_known_stream() {
    assert!(run_folder("sse").await >= 46);
}

#[tokio::test]
async fn every_stream_of_the_same_kinds() {
    assert!(run_folder("sse_more").await >= 100);
}

#[tokio::test]
async fn text_is_whole_wherever_it_is_split() {
    let body = std::fs::read(fixture("sse/06-utf8-split-everywhere.sse")).unwrap();
    let replies = (1..body.len())
        .map(|at| {
            let mut reply = Reply::events(body.clone());
            reply.writes = vec![at];
            reply
        })
        .collect();
    let server = Server::start(replies).await;
    let provider = provider(settings(Api::Chat, &server.base_url));
    for at in 1..body.len() {
        let outcome = ask(&provider).await;
        assert_eq!(outcome.text(), "那个 🙂 é", "split at {at}");
        assert_eq!(outcome.completion().message.text(), "那个 🙂 é");
    }
}

/// Serves each case of a folder in every chunking that fits it. Gives their number.
async fn run_folder(folder: &str) -> usize {
    let mut names: Vec<String> = std::fs::read_dir(fixture(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".sse").map(str::to_owned))
        .collect();
    names.sort();
    for name in &names {
        let path = fixture(&format!("{folder}/{name}"));
        let body = std::fs::read(path.with_extension("sse")).unwrap();
        let case: Value =
            serde_json::from_slice(&std::fs::read(path.with_extension("json")).unwrap()).unwrap();
        for reply in replies(&case["serve"], body) {
            let outcome = serve(name, reply.clone()).await;
            check(name, &case["expect"], &outcome);
            // The same bytes give the same answer, made-up ids included.
            if reply.writes.is_empty() && reply.end == End::Chunked {
                let again = serve(name, reply).await;
                assert_eq!(again.result, outcome.result, "{name}");
            }
        }
    }
    names.len()
}

fn replies(serve: &Value, body: Vec<u8>) -> Vec<Reply> {
    let mut reply = Reply::events(body);
    if let Some(kind) = serve["headers"]["content-type"].as_str() {
        reply.headers = vec![("content-type".to_owned(), kind.to_owned())];
    }
    let chunking = serve["chunking"].as_str().unwrap_or_default();
    if chunking.starts_with("1 byte") {
        return vec![reply.in_writes_of(1)];
    }
    if chunking.starts_with("close the TCP") {
        return vec![reply.clone().ending(End::Close), reply.ending(End::Break)];
    }
    if chunking.starts_with("repeat the body") {
        return vec![reply.ending(End::Repeat)];
    }
    if chunking.starts_with("send, then keep") {
        return vec![reply.ending(End::Silence)];
    }
    vec![
        reply.clone(),
        reply.clone().ending(End::Close),
        reply.clone().in_writes_of(1),
        reply.in_writes_of(7),
    ]
}

async fn serve(name: &str, reply: Reply) -> Outcome {
    let api = if name.contains("resp-") {
        Api::Responses
    } else {
        Api::Chat
    };
    let silent = reply.end == End::Silence;
    let server = Server::start(vec![reply]).await;
    let mut settings = settings(api, &server.base_url);
    if silent {
        settings.idle_timeout = Duration::from_millis(200);
    }
    settings.max_attempts = 2;
    ask(&provider(settings)).await
}

/// The words of an error that stands in a case as a description.
const DESCRIBED: &[(&str, &str)] = &[
    ("stream ended inside an event", "ended inside an event"),
    ("connection closed without finish_reason", ""),
    ("no SSE event in a 200", "upstream connect error"),
    ("malformed chunk reported", "is not JSON"),
    ("line/event size limit", "longer than"),
    ("idle timeout", "nothing came"),
    (
        "stream ended without response.completed",
        "response.completed",
    ),
];

fn check(name: &str, expect: &Value, outcome: &Outcome) {
    let context = || format!("{name}: expected {expect}, got {outcome:?}");
    assert!(!outcome.text().contains('\u{fffd}'), "{}", context());
    if let Some(wanted) = expect["error"].as_str() {
        let Err(error) = &outcome.result else {
            panic!("{}", context());
        };
        let words = DESCRIBED
            .iter()
            .find(|(description, _)| wanted.starts_with(description))
            .map_or(wanted, |(_, words)| words);
        assert!(error.message.contains(words), "{}", context());
        let partial = expect["partial_text"].as_str().unwrap_or_default();
        assert_eq!(error.partial_text, partial, "{}", context());
        assert_eq!(outcome.text(), partial, "{}", context());
        if !partial.is_empty() {
            assert!(outcome.retries.is_empty(), "{}", context());
        }
        if let Some(retryable) = expect["retryable"].as_bool() {
            assert_eq!(error.kind.is_transient(), retryable, "{}", context());
        }
        if let Some(kind) = expect.get("kind") {
            assert_eq!(&json!(error.kind), kind, "{}", context());
        }
        return;
    }
    let Ok(completion) = &outcome.result else {
        panic!("{}", context());
    };
    if let Some(text) = expect["text"].as_str() {
        assert_eq!(completion.message.text(), text, "{}", context());
        assert_eq!(outcome.text(), text, "{}", context());
    }
    if let Some(reason) = expect["finish_reason"].as_str() {
        let reason = reason.split(" (").next().unwrap();
        let wanted = match reason {
            "stop" => Finish::Stop,
            "tool_calls" => Finish::ToolCalls,
            "length" | "max_output_tokens" => Finish::Length,
            "content_filter" => Finish::ContentFilter,
            other => Finish::Other(other.to_owned()),
        };
        assert_eq!(completion.message.finish, wanted, "{}", context());
    }
    if let Some(usage) = expect["usage"].as_object() {
        let found = completion.usage.unwrap_or_else(|| panic!("{}", context()));
        assert_eq!(json!(found.input_tokens), usage["prompt_tokens"]);
        assert_eq!(json!(found.output_tokens), usage["completion_tokens"]);
        if let Some(cached) = usage.get("cached") {
            assert_eq!(&json!(found.cached_tokens), cached);
            assert_eq!(&json!(found.reasoning_tokens), &usage["reasoning"]);
        }
    }
    if let Some(item) = expect.get("reasoning") {
        let Some(Part::Reasoning { item: found }) = completion.message.parts.first() else {
            panic!("{}", context());
        };
        assert_eq!(found, item, "{}", context());
    }
    if let Some(arguments) = expect["raw_arguments"].as_str() {
        assert_eq!(outcome.calls()[0].arguments, arguments, "{}", context());
        assert!(completion.message.is_cut(), "{}", context());
    }
    if name == "48-tool-args-invalid-json" {
        assert_eq!(outcome.calls()[0].arguments, "{\"path\": a.txt}");
    }
    if let Some(wanted) = expect["tool_calls"].as_array() {
        let calls = outcome.calls();
        assert_eq!(calls.len(), wanted.len(), "{}", context());
        for (call, wanted) in calls.iter().zip(wanted) {
            match wanted["id"].as_str() {
                Some(id) if !id.starts_with('<') => assert_eq!(call.id, id, "{}", context()),
                _ => assert!(call.id.starts_with("call_1_1_"), "{}", context()),
            }
            assert_eq!(wanted["name"], call.name.as_str(), "{}", context());
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            assert_eq!(wanted["args"], arguments, "{}", context());
        }
        let mut ids: Vec<_> = calls.iter().map(|call| &call.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), calls.len(), "{}", context());
    }
}
