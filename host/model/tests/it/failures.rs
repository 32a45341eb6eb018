//! Requests that fail: statuses, waits, retries, and what is said about it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use raddle_core::provider::{ProviderErrorKind as Kind, RequestKey};
use raddle_model::{ProviderSettings, Secret};
use serde_json::{Map, Value};

use crate::server::{End, Reply, Server};
use crate::support::{Api, Outcome, ask, collect, fixture, provider, request, settings, user};

const GOOD: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n";

async fn ask_with(
    replies: Vec<Reply>,
    change: impl FnOnce(&mut ProviderSettings),
) -> (Outcome, Server) {
    let server = Server::start(replies).await;
    let mut settings = settings(Api::Chat, &server.base_url);
    settings.api_key = Some(Secret::new("sk-very-secret"));
    change(&mut settings);
    let outcome = ask(&provider(settings)).await;
    (outcome, server)
}

/// Fails with a reply for ever.
async fn fails(reply: Reply) -> (Outcome, usize) {
    let (outcome, server) = ask_with(vec![reply], |_| {}).await;
    outcome.error();
    (outcome, server.requests().len())
}

fn case(id: &str) -> Reply {
    let cases = std::fs::read_to_string(fixture("sse/http_errors.jsonl")).unwrap();
    let case = cases
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|case| case["id"] == id)
        .unwrap();
    if case["status"] == 0 {
        return Reply::reset();
    }
    let headers: Vec<(&str, &str)> = case["headers"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    let body = match &case["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // Every answer carries an id, to be repeated in the error.
    let mut reply = Reply::status(case["status"].as_u64().unwrap() as u16, &headers, &body);
    reply
        .headers
        .push(("x-request-id".to_owned(), "req-7".to_owned()));
    // As `case` is gone at the end, so are the borrowed headers.
    reply
}

/// The first wait a request announces; the request is then given up.
async fn first_wait(reply: Reply, change: impl FnOnce(&mut ProviderSettings)) -> Duration {
    use futures::StreamExt as _;
    use raddle_core::provider::StreamEvent;

    let server = Server::start(vec![reply]).await;
    let mut settings = settings(Api::Chat, &server.base_url);
    change(&mut settings);
    let provider = provider(settings);
    let mut conversation = provider.conversation();
    let messages = [user("go")];
    let body = conversation.encode(&request(&messages, &Map::new()));
    let key = RequestKey {
        path: "main".to_owned(),
        run: 1,
        step: 1,
    };
    match conversation.send(body, &key).next().await {
        Some(Ok(StreamEvent::Retry { wait, .. })) => wait,
        other => panic!("expected a retry, got {other:?}"),
    }
}

#[tokio::test]
async fn e01_a_wait_in_seconds_is_kept() {
    let wait = first_wait(case("E01"), |_| {}).await;
    assert!(wait >= Duration::from_secs(3), "{wait:?}");
    // Jitter comes on top, never off.
    let wait = first_wait(case("E01"), |settings| {
        settings.jitter = Arc::new(|| 0.5);
        settings.backoff = Duration::from_secs(1);
    })
    .await;
    assert_eq!(wait, Duration::from_millis(3500));
}

#[tokio::test]
async fn a_wait_until_a_date_is_kept() {
    let reply = |headers: &[(&str, &str)]| Reply::status(429, headers, "{}");
    let until = ("Retry-After", "Wed, 21 Oct 2015 07:28:10 GMT");
    let now = |settings: &mut ProviderSettings| {
        settings.now = Arc::new(|| SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480));
    };
    // 07:28:00 by our clock.
    let wait = first_wait(reply(&[until]), now).await;
    assert_eq!(wait, Duration::from_secs(10));
    // 07:28:05 by theirs, which counts.
    let date = ("Date", "Wed, 21 Oct 2015 07:28:05 GMT");
    let wait = first_wait(reply(&[until, date]), now).await;
    assert_eq!(wait, Duration::from_secs(5));
    // Over already.
    let date = ("Date", "Wed, 21 Oct 2015 07:29:00 GMT");
    let wait = first_wait(reply(&[until, date]), now).await;
    assert_eq!(wait, Duration::ZERO);
}

#[tokio::test]
async fn e03_a_wait_of_years_is_an_error_that_names_it() {
    let (outcome, requests) = fails(case("E03")).await;
    assert_eq!(requests, 1);
    assert!(outcome.retries.is_empty());
    let error = outcome.error();
    assert_eq!(error.kind, Kind::RateLimit);
    assert!(error.message.contains("rate limited"), "{error}");
    assert!(error.message.contains("999999999 s"), "{error}");
    assert!(error.message.contains("60 s"), "{error}");
    for absurd in ["1e300", "99999999999999999999999999"] {
        let (outcome, requests) = fails(Reply::status(429, &[("retry-after", absurd)], "{}")).await;
        assert_eq!(requests, 1);
        assert!(outcome.error().message.contains("asks to wait"));
    }
}

#[tokio::test]
async fn a_wait_that_is_none_is_plain_backoff() {
    for odd in ["soon", "-5", "NaN", ""] {
        let wait = first_wait(Reply::status(503, &[("retry-after", odd)], ""), |_| {}).await;
        assert_eq!(wait, Duration::ZERO, "{odd}");
    }
}

#[tokio::test]
async fn e05_a_wait_in_milliseconds_is_really_waited() {
    let before = Instant::now();
    let good = Reply::events(GOOD);
    let (outcome, server) = ask_with(vec![case("E05"), good], |_| {}).await;
    assert_eq!(outcome.completion().message.text(), "ok");
    assert!(before.elapsed() >= Duration::from_millis(250));
    assert_eq!(outcome.retries.len(), 1);
    assert_eq!(outcome.retries[0].0, Duration::from_millis(250));
    let seen = server.requests();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].body, seen[1].body);
}

#[tokio::test]
async fn e06_a_used_up_quota_is_not_tried_again() {
    let bodies = [
        "{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"none left\"}}",
        "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and billing details.\",\"code\":429}}",
        "{\"message\":\"Insufficient Balance\"}",
    ];
    let mut replies = vec![case("E06"), Reply::status(402, &[], "{}")];
    replies.extend(bodies.map(|body| Reply::status(429, &[], body)));
    for reply in replies {
        let (outcome, requests) = fails(reply).await;
        assert_eq!(outcome.error().kind, Kind::Quota, "{outcome:?}");
        assert_eq!(requests, 1);
    }
}

#[tokio::test]
async fn e08_a_refused_key_is_said_and_never_shown() {
    let (outcome, requests) = fails(case("E08")).await;
    let error = outcome.error();
    assert_eq!(requests, 1);
    assert_eq!(error.kind, Kind::Authentication);
    assert_eq!(error.status, Some(401));
    assert_eq!(error.request_id.as_deref(), Some("req-7"));
    assert!(error.message.contains("Invalid API Key"), "{error}");
    assert!(error.message.contains("check the API key"), "{error}");

    let (outcome, _) = ask_with(vec![case("E08")], |settings| settings.api_key = None).await;
    assert!(outcome.error().message.contains("no API key is set"));
}

#[tokio::test]
async fn no_error_ever_holds_a_secret() {
    let echo = "key sk-very-secret and value hush-hush are wrong";
    let in_stream = format!("data: {{\"error\":{{\"message\":\"{echo}\"}}}}\n\n");
    let replies = [
        Reply::status(
            401,
            &[],
            &format!("{{\"error\":{{\"message\":\"{echo}\"}}}}"),
        ),
        Reply::status(500, &[], echo),
        Reply::status(200, &[], echo),
        Reply::events(in_stream),
        Reply::events(format!("data: {echo}\n\n")),
    ];
    for reply in replies {
        let (outcome, _) = ask_with(vec![reply], |settings| {
            settings.headers = vec![("x-gateway".to_owned(), "Token hush-hush".to_owned())];
        })
        .await;
        let shown = format!("{outcome:?} {}", outcome.error());
        assert!(!shown.contains("sk-very-secret"), "{shown}");
        assert!(!shown.contains("hush"), "{shown}");
        assert!(shown.contains("[secret]"), "{shown}");
    }
    // Nor one that stands in the URL.
    let mut unreachable = settings(
        Api::Chat,
        "http://me:sk-very-secret@127.0.0.1:1/v1?key=hush",
    );
    unreachable.max_attempts = 2;
    let outcome = ask(&provider(unreachable)).await;
    let shown = format!("{outcome:?}");
    assert_eq!(outcome.error().kind, Kind::Connection);
    assert!(
        shown.contains("http://127.0.0.1:1/v1/chat/completions"),
        "{shown}"
    );
    assert!(
        !shown.contains("secret") && !shown.contains("hush"),
        "{shown}"
    );
}

#[tokio::test]
async fn every_shape_of_an_error_is_understood() {
    let shapes = [
        (case("E10"), "plain string error"),
        (case("E11"), "flat error"),
        (
            Reply::status(400, &[], "{\"error\":{\"message\":\"nested\"}}"),
            "nested",
        ),
        (
            Reply::status(400, &[], "[{\"error\":{\"message\":\"in a list\"}}]"),
            "in a list",
        ),
        (
            Reply::status(
                400,
                &[],
                "{\"errors\":[{\"message\":\"one\"},{\"message\":\"two\"}]}",
            ),
            "one; two",
        ),
        (
            Reply::status(
                422,
                &[],
                "{\"detail\":[{\"loc\":[\"body\"],\"msg\":\"field required\"}]}",
            ),
            "field required",
        ),
        (
            Reply::status(
                400,
                &[],
                "{\"error\":{\"message\":\"{\\\"error\\\":{\\\"message\\\":\\\"packed\\\"}}\"}}",
            ),
            "packed",
        ),
        (
            Reply::status(400, &[], "{\"error\":{\"code\":\"no_words\"}}"),
            "no_words",
        ),
        (
            Reply::status(
                400,
                &[],
                "{\"error\":{\"message\":null,\"type\":\"bad_thing\"}}",
            ),
            "bad_thing",
        ),
        (
            Reply::status(400, &[], "{\"error_msg\":\"by another name\"}"),
            "by another name",
        ),
        (Reply::status(400, &[], "just\n  words \u{7}"), "just words"),
        (
            Reply::status(413, &[], "<html><h1>413</h1></html>"),
            "<h1>413</h1>",
        ),
        (Reply::status(418, &[], ""), "HTTP 418"),
        (Reply::status(400, &[], "null"), "HTTP 400"),
        (
            Reply::status(
                400,
                &[],
                "{\"error\":{\"message\":\"Unsupported parameter\",\"code\":\"unsupported_parameter\",\"param\":\"x\"}}",
            ),
            "unsupported_parameter",
        ),
    ];
    for (reply, words) in shapes {
        let (outcome, requests) = fails(reply).await;
        let error = outcome.error();
        assert_eq!(requests, 1, "{error}");
        assert_eq!(error.kind, Kind::Refused, "{error}");
        assert!(error.message.contains(words), "{words}: {error}");
        assert!(!error.message.contains('\n'), "{error}");
    }
    let (outcome, _) = fails(Reply::status(400, &[], &"long ".repeat(50_000))).await;
    assert!(outcome.error().message.chars().count() < 600);
}

/// LiteLLM's proxy does this when the stream it was asked for fails at its start.
#[tokio::test]
async fn an_error_status_with_a_stream_ends_as_the_error_in_it() {
    let body = concat!(
        "data: {\"error\": {\"message\": \"Error processing stream start\", ",
        "\"type\": \"internal_server_error\", \"param\": null, \"code\": \"500\"}}\n\n",
        "data: [DONE]\n\n"
    );
    let unfinished = body.replace("\n\ndata: [DONE]\n\n", "");
    for body in [body, unfinished.as_str()] {
        let (outcome, requests) = fails(Reply::status(500, &[], body)).await;
        assert_eq!(requests, 4);
        assert_eq!(
            outcome.error().message,
            "HTTP 500: Error processing stream start (internal_server_error) (after 4 attempts)"
        );
    }
}

#[tokio::test]
async fn e13_a_prompt_that_does_not_fit_is_told_from_other_refusals() {
    let bodies = [
        "{\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\"}}",
        "{\"error\":{\"message\":\"Your input exceeds the context window of this model.\"}}",
        "{\"message\":\"prompt is too long: 200001 tokens > 200000 maximum\"}",
        "{\"error\":{\"message\":\"the request exceeds the available context size\",\"type\":\"exceed_context_size_error\",\"code\":400}}",
        "{\"error\":{\"message\":\"The input token count (9) exceeds the maximum number of tokens allowed (8).\"}}",
        "{\"error\":\"the input length exceeds the context length\"}",
    ];
    let mut replies = vec![case("E13")];
    replies.extend(bodies.map(|body| Reply::status(400, &[], body)));
    for reply in replies {
        let (outcome, requests) = fails(reply).await;
        assert_eq!(outcome.error().kind, Kind::ContextOverflow, "{outcome:?}");
        assert_eq!(requests, 1);
    }
    // Too many tokens a minute is no such thing.
    let minute = "{\"error\":{\"message\":\"Request too large: reduce the length of the messages\",\"code\":\"rate_limit_exceeded\"}}";
    let (outcome, requests) = fails(Reply::status(429, &[], minute)).await;
    assert_eq!(outcome.error().kind, Kind::RateLimit);
    assert_eq!(requests, 4);
}

#[tokio::test]
async fn e15_a_failing_service_is_tried_a_few_times() {
    let (outcome, requests) = fails(case("E15")).await;
    assert_eq!(requests, 4);
    assert_eq!(outcome.retries.len(), 3);
    let error = outcome.error();
    assert_eq!(error.kind, Kind::Service);
    assert_eq!(error.status, Some(500));
    assert_eq!(error.request_id.as_deref(), Some("req-7"));
    assert!(error.message.contains("HTTP 500"), "{error}");
    assert!(error.message.contains("after 4 attempts"), "{error}");
    for status in [408, 409, 425, 502, 503, 504, 529] {
        let (_, requests) = fails(Reply::status(status, &[], "")).await;
        assert_eq!(requests, 4, "{status}");
    }
    let (_, requests) = fails(Reply::status(500, &[("x-should-retry", "false")], "")).await;
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn e16_a_reset_connection_is_tried_again() {
    let (outcome, server) = ask_with(vec![case("E16"), Reply::events(GOOD)], |_| {}).await;
    assert_eq!(outcome.completion().message.text(), "ok");
    assert_eq!(outcome.retries.len(), 1);
    assert_eq!(server.requests().len(), 2);
    let (outcome, requests) = fails(case("E16")).await;
    assert_eq!(requests, 4);
    assert_eq!(outcome.error().kind, Kind::Connection);
    assert!(outcome.error().message.contains("/v1/chat/completions"));
}

#[tokio::test]
async fn e18_an_unknown_model_says_where_to_look() {
    let (outcome, requests) = fails(case("E18")).await;
    assert_eq!(requests, 1);
    let error = outcome.error();
    assert_eq!(error.kind, Kind::Refused);
    assert!(
        error.message.contains("The model does not exist"),
        "{error}"
    );
    assert!(
        error
            .message
            .contains("check the model's name and the base URL"),
        "{error}"
    );
    assert!(error.message.contains("/v1/chat/completions"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start(vec![Reply::events(GOOD)]).await;
    for status in [301, 302, 307, 308] {
        let location = format!("{}/chat/completions", elsewhere.base_url);
        let (outcome, requests) =
            fails(Reply::status(status, &[("location", &location)], "")).await;
        assert_eq!(requests, 1);
        assert!(outcome.error().message.contains("check the base URL"));
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn nothing_is_tried_again_after_output() {
    let partial = GOOD.replace("\"stop\"", "null");
    for end in [End::Close, End::Break] {
        let (outcome, server) = ask_with(
            vec![
                Reply::events(partial.clone()).ending(end),
                Reply::events(GOOD),
            ],
            |_| {},
        )
        .await;
        assert_eq!(outcome.error().kind, Kind::Connection);
        assert_eq!(outcome.error().partial_text, "ok");
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_cut_before_output_is_tried_again_and_no_call_of_it_is_seen() {
    let call = "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"bash\",\"arguments\":\"{}\"}}]}}]}\n\n";
    let (outcome, server) = ask_with(
        vec![
            Reply::events(call).ending(End::Break),
            Reply::events(
                "data: {\"error\":{\"message\":\"overloaded\",\"code\":\"overloaded\"}}\n\n",
            ),
            Reply::events(GOOD),
        ],
        |_| {},
    )
    .await;
    assert_eq!(server.requests().len(), 3);
    assert!(outcome.calls().is_empty());
    assert_eq!(outcome.text(), "ok");
}

#[tokio::test]
async fn waits_double_up_to_the_longest_and_are_drawn_in_full() {
    let waits = |jitter: f64| async move {
        let (outcome, _) = ask_with(vec![Reply::status(500, &[], "")], |settings| {
            settings.jitter = Arc::new(move || jitter);
            settings.backoff = Duration::from_millis(2);
            settings.max_wait = Duration::from_millis(8);
            settings.max_attempts = 6;
        })
        .await;
        let waits: Vec<_> = outcome
            .retries
            .iter()
            .map(|(wait, _)| wait.as_micros())
            .collect();
        waits
    };
    assert_eq!(waits(1.0).await, [2000, 4000, 8000, 8000, 8000]);
    assert_eq!(waits(0.5).await, [1000, 2000, 4000, 4000, 4000]);
    assert_eq!(waits(0.0).await, [0, 0, 0, 0, 0]);
}

#[tokio::test]
async fn sessions_that_failed_together_do_not_come_back_together() {
    let server = Server::start(vec![Reply::status(429, &[("retry-after-ms", "5")], "{}")]).await;
    let mut settings = settings(Api::Chat, &server.base_url);
    let drawn = AtomicU32::new(0);
    settings.jitter = Arc::new(move || f64::from(drawn.fetch_add(1, Ordering::SeqCst)) / 20.0);
    settings.backoff = Duration::from_millis(20);
    settings.max_attempts = 2;
    let provider = provider(settings);
    let sessions = (0..20).map(|_| async {
        let mut conversation = provider.conversation();
        let messages = [user("go")];
        let body = conversation.encode(&request(&messages, &Map::new()));
        let key = RequestKey {
            path: "main".to_owned(),
            run: 1,
            step: 1,
        };
        collect(conversation.send(body, &key)).await
    });
    let outcomes = futures::future::join_all(sessions).await;
    let mut waits: Vec<_> = outcomes
        .iter()
        .map(|outcome| {
            assert_eq!(outcome.retries.len(), 1);
            outcome.retries[0].0
        })
        .collect();
    waits.sort();
    waits.dedup();
    assert_eq!(waits.len(), 20);
    assert!(waits[0] >= Duration::from_millis(5));
}

#[tokio::test]
async fn a_service_that_speaks_no_tls_is_unreachable_over_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let mut settings = settings(Api::Chat, &url);
    settings.max_attempts = 2;
    let outcome = ask(&provider(settings)).await;
    assert_eq!(outcome.error().kind, Kind::Connection, "{outcome:?}");
    assert!(outcome.error().message.contains(&url), "{outcome:?}");
}
