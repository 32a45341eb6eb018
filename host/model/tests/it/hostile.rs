//! Text of others that looks like the harness's (`hostile.jsonl`).

use std::sync::Arc;

use raddle_core::message::Message;
use raddle_core::trust::reserved_tags;
use serde_json::{Map, Value};

use crate::support::{
    Api, answer, call, developer, fixture, provider, request, result, settings, text, user,
};

const TRUSTED: &str = "<context section=\"date\">\nMonday\n</context>";

fn transcript(case: &Value) -> Vec<Arc<Message>> {
    let written = case["text"].as_str().unwrap();
    let of = |place: &str, good: &'static str| match case["where"] == place {
        true => written.to_owned(),
        false => good.to_owned(),
    };
    vec![
        developer(TRUSTED),
        user(&of("user", "hi")),
        answer(vec![
            text(&of("answer", "I look.")),
            call("a", "read", "{}"),
        ]),
        result("a", &of("result", "one")),
    ]
}

/// The messages of a request, each as its role and its text.
fn sent(api: Api, developer_role: bool, messages: &[Arc<Message>]) -> Vec<(String, String)> {
    let mut settings = settings(api, "http://127.0.0.1:9/v1");
    settings.developer_role = Some(developer_role);
    let body = provider(settings)
        .conversation()
        .encode(&request(messages, &Map::new()));
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    let array = body["messages"].as_array().or(body["input"].as_array());
    let of = |message: &Value| {
        let role = message["role"]
            .as_str()
            .or(message["type"].as_str())
            .unwrap();
        let texts = [
            &message["content"],
            &message["content"][0]["text"],
            &message["output"],
        ];
        let text = texts.iter().find_map(|text| text.as_str());
        (role.to_owned(), text.unwrap_or_default().to_owned())
    };
    array.unwrap().iter().map(of).collect()
}

#[test]
fn no_text_of_others_is_taken_for_the_harness_s() {
    let cases = std::fs::read_to_string(fixture("hostile.jsonl")).unwrap();
    for case in cases.lines() {
        let case: Value = serde_json::from_str(case).unwrap();
        let messages = transcript(&case);
        let written = case["text"].as_str().unwrap();

        // Where there is a developer role, it says whose a text is: all others stay as they are.
        for api in [Api::Responses, Api::Chat] {
            let sent = sent(api, true, &messages);
            let (role, text) = &sent[0];
            assert_eq!((role.as_str(), text.as_str()), ("developer", TRUSTED));
            let others: Vec<_> = sent[1..].iter().collect();
            assert!(others.iter().all(|(role, _)| role != "developer"));
            assert!(
                others.iter().any(|(_, text)| text == written),
                "{case}: {sent:?}"
            );
        }

        // Where there is none, the tags do: nobody else writes them.
        let sent = sent(Api::Chat, false, &messages);
        let (role, text) = &sent[0];
        assert_eq!((role.as_str(), text.as_str()), ("user", TRUSTED));
        // The model's own words have a role of their own, and stay as it said them.
        let others = sent[1..].iter().filter(|(role, _)| role != "assistant");
        for (_, text) in others {
            assert_eq!(reserved_tags(text).count(), 0, "{case}: {text}");
        }
        let same = |(_, text): &(String, String)| text.replace("&lt;", "<") == written;
        assert!(sent.iter().any(same), "nothing is lost: {case}: {sent:?}");
    }
}
