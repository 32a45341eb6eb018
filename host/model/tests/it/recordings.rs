//! The replay provider and its files.

use std::sync::Arc;

use raddle_core::message::{Finish, Part};
use raddle_core::provider::{Provider, ProviderErrorKind, RequestKey, Usage};
use raddle_model::{ProviderKind, ProviderSettings, Recording};
use serde_json::{Map, Value, json};

use crate::support::{Outcome, answer, call, collect, provider, request, result, text, user};

fn replay(text: &str) -> Arc<dyn Provider> {
    let recording = Recording::parse("talk.jsonl", text).expect("a good recording");
    let kind = ProviderKind::Replay(Arc::new(recording));
    provider(ProviderSettings::new(kind, || 0.0))
}

fn refused(text: &str) -> String {
    match Recording::parse("talk.jsonl", text) {
        Ok(_) => panic!("expected a refusal of {text}"),
        Err(error) => error.to_string(),
    }
}

fn step(key: &str, chunks: Value, expect: Value) -> String {
    json!({"key": key, "chunks": chunks, "expect": expect}).to_string()
}

fn key(text: &str) -> RequestKey {
    let mut places = text.rsplitn(3, '/');
    let mut number = || places.next().unwrap().parse().unwrap();
    let (step, run) = (number(), number());
    RequestKey {
        path: places.next().unwrap().to_owned(),
        run,
        step,
    }
}

async fn ask(provider: &Arc<dyn Provider>, at: &str) -> Outcome {
    let mut conversation = provider.conversation();
    let messages = [user("Fix the typo."), answer(vec![text("Where?")])];
    let options = Map::new();
    let body = conversation.encode(&request(&messages, &options));
    collect(conversation.send(body, &key(at))).await
}

#[tokio::test]
async fn a_step_is_played_as_a_service_would_send_it() {
    let line = step(
        "main/1/1",
        json!([
            {"reasoning": {"type": "reasoning", "id": "r"}},
            {"text": "Let me "}, {"text": "look."},
            {"call": {"id": "c1", "name": "read", "arguments": {"path": "a"}}},
            {"call": {"name": "ping", "arguments": ""}},
            {"text": "Then"},
            {"usage": {"inputTokens": 5, "outputTokens": 2}},
            {"finish": "toolCalls"},
        ]),
        json!([
            {"pointer": "/input/0/content/0/text", "contains": "typo"},
            {"pointer": "/model", "equals": "m"},
            {"pointer": "/input/1", "contains": "\"role\":\"assistant\""},
        ]),
    );
    let outcome = ask(&replay(&line), "main/1/1").await;
    assert_eq!(outcome.texts, ["Let me ", "look.", "Then"]);
    let completion = outcome.completion();
    assert_eq!(
        completion.message.parts,
        [
            Part::Reasoning {
                item: json!({"type": "reasoning", "id": "r"})
            },
            text("Let me look."),
            call("c1", "read", "{\"path\":\"a\"}"),
            call("call_1_1_1", "ping", "{}"),
            text("Then"),
        ]
    );
    assert_eq!(completion.message.finish, Finish::ToolCalls);
    let usage = Usage {
        input_tokens: 5,
        output_tokens: 2,
        ..Usage::default()
    };
    assert_eq!(completion.usage, Some(usage));
}

#[tokio::test]
async fn a_request_that_is_not_the_expected_one_fails_by_name() {
    let finish = json!([{"text": "x"}, {"finish": "stop"}]);
    let cases = [
        (
            json!({"pointer": "/input/0/content/0/text", "contains": "bug"}),
            "step main/1/1: expected `/input/0/content/0/text` containing \"bug\", \
             but there is \"Fix the typo.\"",
        ),
        (
            json!({"pointer": "/input/7", "contains": "bug"}),
            "step main/1/1: expected `/input/7` containing \"bug\", but there is nothing",
        ),
        (
            json!({"pointer": "/store", "equals": null}),
            "step main/1/1: expected `/store` equal to null, but there is false",
        ),
    ];
    for (expectation, message) in cases {
        let line = step("main/1/1", finish.clone(), json!([expectation]));
        let outcome = ask(&replay(&line), "main/1/1").await;
        assert!(outcome.texts.is_empty(), "nothing is played");
        assert_eq!(outcome.error().kind, ProviderErrorKind::Recording);
        assert_eq!(outcome.error().message, message);
    }
}

#[tokio::test]
async fn an_unknown_step_names_the_known_ones() {
    let lines: Vec<String> = (1..=25)
        .map(|number| {
            step(
                &format!("main/1/{number}"),
                json!([{"finish": "stop"}]),
                json!([{"pointer": "/model", "equals": "m"}]),
            )
        })
        .collect();
    let outcome = ask(&replay(&lines.join("\n")), "main/2/1").await;
    let message = &outcome.error().message;
    assert!(message.starts_with("the recording has no step main/2/1; it has main/1/1, main/1/2,"));
    assert!(message.ends_with("main/1/20 and 5 more"), "{message}");
    let outcome = ask(&replay(&lines[0]), "main/child/1/1").await;
    assert_eq!(
        outcome.error().message,
        "the recording has no step main/child/1/1; it has main/1/1"
    );
}

#[tokio::test]
async fn a_digest_is_compared_with_the_body() {
    let provider_of = |digest: String| {
        let line = json!({"key": "main/1/1", "chunks": [{"finish": "stop"}],
            "expect": [{"pointer": "/model", "equals": "m"}], "digest": digest});
        replay(&line.to_string())
    };
    let wrong = ask(
        &provider_of(format!("sha256:{}", "0".repeat(64))),
        "main/1/1",
    )
    .await;
    let message = &wrong.error().message;
    assert!(message.starts_with("step main/1/1: expected a request with digest sha256:000"));
    let is = message.split("but it is ").nth(1).unwrap().to_owned();
    ask(&provider_of(is), "main/1/1").await.completion();
}

#[tokio::test]
async fn an_error_can_be_recorded() {
    let line = step(
        "main/1/1",
        json!([{"text": "par"}, {"error": {"kind": "service", "message": "went away"}}]),
        json!([{"pointer": "/model", "equals": "m"}]),
    );
    let outcome = ask(&replay(&line), "main/1/1").await;
    assert_eq!(outcome.error().kind, ProviderErrorKind::Service);
    assert_eq!(outcome.error().message, "went away");
    assert_eq!(outcome.error().partial_text, "par");
    assert_eq!(outcome.text(), "par");
}

#[tokio::test]
async fn recorded_ids_are_unique_in_the_session_too() {
    let expect = json!([{"pointer": "/model", "equals": "m"}]);
    let chunks =
        json!([{"call": {"id": "c1", "name": "read", "arguments": {}}}, {"finish": "toolCalls"}]);
    let lines = [
        step("main/1/1", chunks.clone(), expect.clone()),
        step("main/1/2", chunks, expect),
    ];
    let provider = replay(&lines.join("\n\n"));
    let mut conversation = provider.conversation();
    let options = Map::new();
    let mut messages = vec![user("go")];
    let mut ids = Vec::new();
    for at in ["main/1/1", "main/1/2"] {
        let body = conversation.encode(&request(&messages, &options));
        let outcome = collect(conversation.send(body, &key(at))).await;
        let id = outcome.calls()[0].id.clone();
        messages.push(answer(vec![call(&id, "read", "{}")]));
        messages.push(result(&id, "x"));
        ids.push(id);
    }
    assert_eq!(ids, ["c1", "call_1_2_0"]);
}

#[test]
fn the_header_says_how_to_begin() {
    let line = step(
        "main/1/1",
        json!([{"finish": "stop"}]),
        json!([{"pointer": "/model", "equals": "m"}]),
    );
    let recording = Recording::parse(
        "x",
        &format!("{{\"recording\":1,\"message\":\"Hello!\"}}\n{line}\n"),
    )
    .unwrap();
    assert_eq!(recording.messages(), ["Hello!"]);
    assert_eq!(recording.keys().collect::<Vec<_>>(), ["main/1/1"]);
    let recording = Recording::parse("x", &line).unwrap();
    assert!(recording.messages().is_empty());
}

#[test]
fn a_recording_that_cannot_be_played_is_refused_by_line() {
    let good = step(
        "main/1/1",
        json!([{"finish": "stop"}]),
        json!([{"pointer": "/model", "equals": "m"}]),
    );
    let second = |chunks: Value, expect: Value| {
        refused(&format!("{good}\n\n{}", step("main/1/2", chunks, expect)))
    };
    let finish = json!([{"finish": "stop"}]);
    let model = json!([{"pointer": "/model", "equals": "m"}]);

    assert_eq!(refused(""), "talk.jsonl: the recording has no steps");
    assert!(
        refused("{").starts_with("talk.jsonl:1: this is not JSON: EOF"),
        "{}",
        refused("{")
    );
    assert!(
        refused(&format!("{good}\nnot json"))
            .starts_with("talk.jsonl:2: this is not JSON: expected")
    );
    assert_eq!(
        second(finish.clone(), json!([])),
        "talk.jsonl:3: step `main/1/2` expects nothing of its request: give it an `expect`"
    );
    assert_eq!(
        second(json!([{"text": "x"}]), model.clone()),
        "talk.jsonl:3: step `main/1/2` has no `finish` chunk at its end"
    );
    assert_eq!(
        second(json!([{"finish": "stop"}, {"text": "x"}]), model.clone()),
        "talk.jsonl:3: step `main/1/2` has chunks after the one that ends it"
    );
    assert!(second(json!([{"txt": "x"}]), model.clone()).contains("unknown variant `txt`"));
    assert!(second(json!([{"finish": "halt"}]), model.clone()).contains("halt"));
    assert!(second(finish.clone(), json!([{"pointer": "/a"}])).contains("exactly one"));
    assert!(
        second(
            finish.clone(),
            json!([{"pointer": "/a", "contains": "x", "equals": 1}])
        )
        .contains("exactly one")
    );
    assert!(second(finish.clone(), json!([{"pointer": "a", "equals": 1}])).contains("starts with"));
    assert!(
        second(finish.clone(), json!([{"pointer": "/a", "contains": ""}])).contains("whatever")
    );
    assert_eq!(
        refused(&format!("{good}\n{good}")),
        "talk.jsonl:2: step `main/1/1` stands in line 1 already"
    );
    for key in ["main", "main/1", "main/0/1", "main/1/x", "/1/1", "1/1"] {
        assert!(
            refused(&step(key, finish.clone(), model.clone())).contains("as in `main/1/1`"),
            "{key}"
        );
    }
    assert!(refused("{\"recording\": 2}").contains("format 2 is not known"));
    let unknown = json!({"key": "main/1/1", "chunks": finish, "expect": model, "extra": 1});
    assert!(refused(&unknown.to_string()).contains("extra"));
}

#[test]
fn a_line_that_is_no_object_is_told_what_is_expected() {
    for (line, found) in [
        ("[\"main/1/1\", [], []]", "a list"),
        ("\"hello\"", "a string"),
        ("1", "a number"),
        ("true", "a boolean"),
        ("null", "null"),
    ] {
        let told = refused(&format!("{{\"recording\": 1}}\n\n{line}"));
        assert!(
            told.starts_with("talk.jsonl:3: a line is a JSON object, a step such as `{\"key\":"),
            "{told}"
        );
        assert!(told.ends_with(&format!("; found {found}")), "{told}");
    }
    let told = refused("{\"recording\": 1}\nhello");
    assert!(
        told.starts_with("talk.jsonl:2: this is not JSON: "),
        "{told}"
    );
}
