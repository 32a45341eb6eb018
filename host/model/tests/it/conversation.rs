//! A conversation over several requests: connections, call ids, headers, cancelling.

use std::time::Duration;

use futures::StreamExt as _;
use raddle_core::provider::{RequestKey, StreamEvent};
use raddle_model::{ProviderKind, ProviderSettings, Secret, SettingsError};
use serde_json::{Map, json};

use crate::server::{End, Reply, Server};
use crate::support::{Api, answer, ask, ask_in, call, provider, request, result, settings, user};

fn called(id: &str) -> Reply {
    let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [
        {"index": 0, "id": id, "function": {"name": "read", "arguments": "{}"}},
    ]}, "finish_reason": "tool_calls"}]});
    Reply::events(format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

fn said(text: &str) -> Reply {
    let chunk =
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    Reply::events(format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

#[tokio::test]
async fn steps_share_a_connection() {
    let server = Server::start(vec![called("a")]).await;
    let provider = provider(settings(Api::Chat, &server.base_url));
    let mut conversation = provider.conversation();
    let mut messages = vec![user("go")];
    for step in 1..=10 {
        let outcome = ask_in(conversation.as_mut(), &messages, step).await;
        let id = outcome.calls()[0].id.clone();
        messages.push(answer(vec![call(&id, "read", "{}")]));
        messages.push(result(&id, "x"));
        // The end of the body is read in the background.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(server.requests().len(), 10);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn an_id_used_again_is_made_unique() {
    let server = Server::start(vec![called("x:0"), called("x:0"), called("")]).await;
    let provider = provider(settings(Api::Chat, &server.base_url));
    let mut conversation = provider.conversation();
    let mut messages = vec![user("go")];
    let mut ids = Vec::new();
    for step in 1..=3 {
        let outcome = ask_in(conversation.as_mut(), &messages, step).await;
        let id = outcome.calls()[0].id.clone();
        messages.push(answer(vec![call(&id, "read", "{}")]));
        messages.push(result(&id, "x"));
        ids.push(id);
    }
    assert_eq!(ids, ["x:0", "call_1_2_0", "call_1_3_0"]);
    let sent = server.requests()[2].json();
    assert_eq!(sent["messages"][3]["tool_calls"][0]["id"], "call_1_2_0");
    assert_eq!(sent["messages"][4]["tool_call_id"], "call_1_2_0");
}

#[tokio::test]
async fn what_goes_on_the_wire() {
    let server = Server::start(vec![said("hi")]).await;
    let mut settings = settings(Api::Chat, &format!("{}/?api-version=7", server.base_url));
    settings.api_key = Some(Secret::new(" the-key\n"));
    settings.headers = vec![("X-Team".to_owned(), "weavers".to_owned())];
    ask(&provider(settings)).await.completion();
    let seen = &server.requests()[0];
    assert!(
        seen.head
            .starts_with("POST /v1/chat/completions?api-version=7 HTTP/1.1"),
        "{}",
        seen.head
    );
    assert_eq!(seen.header("authorization"), Some("Bearer the-key"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("accept"), Some("text/event-stream"));
    assert_eq!(seen.header("x-team"), Some("weavers"));
    let length = seen.body.len().to_string();
    assert_eq!(seen.header("content-length"), Some(length.as_str()));
}

#[tokio::test]
async fn headers_replace_the_key_and_no_key_sends_none() {
    let server = Server::start(vec![said("hi")]).await;
    let mut own = settings(Api::Responses, &format!("{}/responses", server.base_url));
    own.api_key = Some(Secret::new("the-key"));
    own.headers = vec![("Authorization".to_owned(), "Basic abcdef".to_owned())];
    let _ = ask(&provider(own)).await;
    let _ = ask(&provider(settings(Api::Responses, &server.base_url))).await;
    let seen = server.requests();
    assert_eq!(seen[0].header("authorization"), Some("Basic abcdef"));
    assert!(seen[0].head.starts_with("POST /v1/responses HTTP/1.1"));
    let second = seen.last().unwrap();
    assert_eq!(second.header("authorization"), None);
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_request() {
    let server = Server::start(vec![
        Reply::events(
            said("Hel").body[..]
                .split(|byte| *byte == b'\n')
                .next()
                .unwrap()
                .to_vec(),
        )
        .ending(End::Silence),
        said("next"),
    ])
    .await;
    let provider = provider(settings(Api::Chat, &server.base_url));
    let mut conversation = provider.conversation();
    let messages = [user("go")];
    let options = Map::new();
    let body = conversation.encode(&request(&messages, &options));
    let key = RequestKey {
        path: "main".to_owned(),
        run: 1,
        step: 1,
    };
    let mut stream = conversation.send(body, &key);
    let waiting = tokio::time::timeout(Duration::from_millis(100), stream.next()).await;
    assert!(waiting.is_err(), "nothing whole has arrived");
    drop(stream);
    let outcome = ask_in(conversation.as_mut(), &messages, 1).await;
    assert_eq!(outcome.text(), "next");
}

#[tokio::test]
async fn text_is_handed_out_as_it_comes() {
    let first = said("one ").body;
    let first = first.split(|byte| *byte == b'\n').next().unwrap();
    let first = String::from_utf8(first.to_vec())
        .unwrap()
        .replace("\"stop\"", "null");
    let server = Server::start(vec![
        Reply::events(format!("{first}\n\n")).ending(End::Silence),
    ])
    .await;
    let provider = provider(settings(Api::Chat, &server.base_url));
    let mut conversation = provider.conversation();
    let messages = [user("go")];
    let options = Map::new();
    let body = conversation.encode(&request(&messages, &options));
    let key = RequestKey {
        path: "main".to_owned(),
        run: 1,
        step: 1,
    };
    let mut stream = conversation.send(body, &key);
    let event = stream.next().await.unwrap().unwrap();
    assert_eq!(event, StreamEvent::Text("one ".to_owned()));
}

#[test]
fn settings_that_cannot_work_are_refused_without_their_secrets() {
    let refused = |change: &dyn Fn(&mut ProviderSettings)| {
        let mut settings = ProviderSettings::new(ProviderKind::OpenaiChat, || 0.0);
        change(&mut settings);
        match raddle_model::provider(settings) {
            Ok(_) => panic!("expected a refusal"),
            Err(error) => {
                let shown = format!("{error} {error:?}");
                assert!(!shown.contains("hush"), "{shown}");
                error
            }
        }
    };
    let url = |url: &'static str| {
        refused(&move |settings: &mut ProviderSettings| settings.base_url = Some(url.to_owned()))
    };
    for bad in [
        "localhost:8080/v1",
        "ftp://u:hush@host/v1",
        "not a url?key=hush",
        "https://u:hush@[/v1",
        "",
    ] {
        assert!(matches!(url(bad), SettingsError::BaseUrl { .. }), "{bad}");
    }
    assert!(url("localhost:8080/v1").to_string().contains("http://"));
    assert_eq!(
        refused(&|settings| settings.api_key = Some(Secret::new("hush\nhush"))),
        SettingsError::ApiKey
    );
    for (name, value) in [("bad name", "hush"), ("x-good", "hush\u{1}")] {
        let error = refused(&|settings| settings.headers = vec![(name.into(), value.into())]);
        assert!(matches!(error, SettingsError::Header { .. }));
        assert!(error.to_string().contains(name));
    }
    assert_eq!(
        refused(&|settings| settings.max_attempts = 0),
        SettingsError::NoAttempts
    );
}
