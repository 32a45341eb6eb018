//! Transcripts with calls and results that do not pair up (`history/pairing.jsonl`).

use std::sync::Arc;

use raddle_core::message::{Message, Part};
use raddle_core::transcript::{Entry, next_piece};
use serde_json::{Map, Value};

use crate::encoding::assert_valid;
use crate::support::{
    Api, answer, call, developer, fixture, provider, request, result, settings, text, user,
};

/// The messages of a case, which are written in the chat form.
fn history(case: &Value) -> Vec<Arc<Message>> {
    let of = |message: &Value| {
        let content = message["content"].as_str().unwrap_or_default();
        match message["role"].as_str().unwrap() {
            "user" => user(content),
            "tool" => result(message["tool_call_id"].as_str().unwrap(), content),
            "assistant" => {
                let mut parts: Vec<Part> = Vec::new();
                if message["content"].is_string() {
                    parts.push(text(content));
                }
                for written in message["tool_calls"].as_array().into_iter().flatten() {
                    let function = &written["function"];
                    parts.push(call(
                        written["id"].as_str().unwrap(),
                        function["name"].as_str().unwrap(),
                        function["arguments"].as_str().unwrap(),
                    ));
                }
                answer(parts)
            }
            role => panic!("{role}"),
        }
    };
    case["history"].as_array().unwrap().iter().map(of).collect()
}

fn case(name: &str) -> Vec<Arc<Message>> {
    let cases = std::fs::read_to_string(fixture("history/pairing.jsonl")).unwrap();
    let case = cases
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|case| case["case"] == name)
        .unwrap();
    history(&case)
}

/// What is sent, in the chat form, as `role` or `role:id` for results and `role(ids)` for calls.
fn sent(messages: &[Arc<Message>]) -> Vec<String> {
    let provider = provider(settings(Api::Chat, "http://127.0.0.1:9/v1"));
    let body = provider
        .conversation()
        .encode(&request(messages, &Map::new()));
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    let of = |message: &Value| {
        let role = message["role"].as_str().unwrap();
        if let Some(id) = message["tool_call_id"].as_str() {
            return format!("{role}:{id}={}", message["content"].as_str().unwrap());
        }
        match message["tool_calls"].as_array() {
            Some(calls) => {
                let ids: Vec<_> = calls
                    .iter()
                    .map(|call| call["id"].as_str().unwrap())
                    .collect();
                format!("{role}({})", ids.join(","))
            }
            None => role.to_owned(),
        }
    };
    body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(of)
        .collect()
}

#[test]
fn a_batch_cut_anywhere_still_pairs() {
    let messages = case("split inside a parallel batch");
    assert_eq!(
        sent(&messages),
        [
            "user",
            "assistant(A,B)",
            "tool:A=1",
            "tool:B=2",
            "assistant"
        ]
    );
    // Compaction at every index: what was before is one summary.
    let after = |cut: usize| {
        let mut kept = vec![user("summary")];
        kept.extend_from_slice(&messages[cut..]);
        sent(&kept)
    };
    assert_eq!(
        after(1),
        [
            "user",
            "assistant(A,B)",
            "tool:A=1",
            "tool:B=2",
            "assistant"
        ]
    );
    for cut in 2..=4 {
        assert_eq!(after(cut), ["user", "assistant"], "cut at {cut}");
    }
    assert_eq!(after(5), ["user"]);
    // And broken off at every length.
    assert_eq!(sent(&messages[..2]), ["user"]);
    assert_eq!(sent(&messages[..3]), ["user", "assistant(A)", "tool:A=1"]);
}

#[test]
fn a_result_without_a_call_is_left_out() {
    assert_eq!(sent(&case("orphan result at the start")), ["user"]);
}

#[test]
fn the_first_of_two_results_is_sent() {
    assert_eq!(
        sent(&case("duplicate result")),
        ["user", "assistant(A)", "tool:A=1"]
    );
}

#[test]
fn an_id_used_again_pairs_within_its_own_answer() {
    assert_eq!(
        sent(&case("id reused in a later turn")),
        [
            "user",
            "assistant(x:0)",
            "tool:x:0=a",
            "user",
            "assistant(x:0)",
            "tool:x:0=b"
        ]
    );
}

#[test]
fn an_empty_answer_is_left_out() {
    assert_eq!(sent(&case("empty assistant")), ["user", "user"]);
    let blank = [user("1"), answer(vec![text(" \n"), text("")]), user("2")];
    assert_eq!(sent(&blank), ["user", "user"]);
}

#[test]
fn a_result_behind_another_message_does_not_pair() {
    let messages = [
        user("go"),
        answer(vec![call("A", "read", "{}"), call("B", "read", "{}")]),
        result("A", "1"),
        developer("by the way"),
        result("B", "2"),
    ];
    assert_eq!(
        sent(&messages),
        ["user", "assistant(A)", "tool:A=1", "user"]
    );
}

#[test]
fn reasoning_goes_with_what_it_led_to() {
    let reasoning = || Part::Reasoning {
        item: serde_json::json!({"type": "reasoning"}),
    };
    let kept = |parts: Vec<Part>| {
        let messages = [answer(parts), user("next")];
        match next_piece(&messages, 0).unwrap().entry {
            Some(Entry::Answer { parts, .. }) => parts.len(),
            _ => 0,
        }
    };
    assert_eq!(kept(vec![reasoning()]), 0);
    assert_eq!(kept(vec![reasoning(), text("")]), 0);
    assert_eq!(kept(vec![reasoning(), call("A", "read", "{}")]), 0);
    assert_eq!(kept(vec![reasoning(), reasoning(), text("x")]), 3);
    assert_eq!(kept(vec![reasoning(), text("x"), reasoning()]), 2);
}

#[test]
fn a_batch_is_settled_once_every_call_has_its_result() {
    let messages = [
        answer(vec![call("A", "read", "{}"), call("B", "read", "{}")]),
        result("A", "1"),
        result("B", "2"),
    ];
    let settled = |length: usize| next_piece(&messages[..length], 0).unwrap().settled;
    assert!(!settled(1));
    assert!(!settled(2));
    assert!(settled(3));
    assert!(next_piece(&messages, 3).is_none());
}

/// A session of many runs: batches of no, one or several calls, text beside them or not, steering
/// between them, and ids that a service uses again.
fn long() -> Vec<Arc<Message>> {
    let mut messages = Vec::new();
    for round in 0..16 {
        messages.push(user(&format!("question {round}")));
        let ids: Vec<String> = (0..round % 4)
            .map(|number| match round % 2 {
                0 => format!("{round}:{number}"),
                _ => format!("x:{number}"),
            })
            .collect();
        let mut parts = vec![text("I look.")];
        if round % 3 == 0 {
            let item = serde_json::json!({"type": "reasoning", "id": format!("r{round}")});
            parts.insert(0, Part::Reasoning { item });
        }
        if round % 5 == 0 {
            parts.retain(|part| !matches!(part, Part::Text { .. }));
        }
        parts.extend(ids.iter().map(|id| call(id, "read", "{}")));
        messages.push(answer(parts));
        messages.extend(ids.iter().map(|id| result(id, "found")));
        if round % 3 == 1 {
            messages.push(developer("<context section=\"date\">\nMonday\n</context>"));
        }
        messages.push(answer(vec![text(&format!("answer {round}"))]));
    }
    messages
}

/// The calls of `messages` whose results are all there.
fn whole_pairs(messages: &[Arc<Message>]) -> usize {
    let pairs = messages.iter().enumerate().map(|(index, message)| {
        let Message::Assistant(answer) = message.as_ref() else {
            return 0;
        };
        let results = messages[index + 1..].iter().take(answer.calls().count());
        let results = results.filter(|message| matches!(message.as_ref(), Message::Tool(_)));
        results.count()
    });
    pairs.sum()
}

#[test]
fn a_long_session_cut_anywhere_at_both_ends_still_pairs() {
    let messages = long();
    for from in 0..=messages.len() {
        for to in from..=messages.len() {
            let mut kept = vec![user("summary")];
            kept.extend_from_slice(&messages[from..to]);
            for api in [Api::Responses, Api::Chat] {
                let provider = provider(settings(api, "http://127.0.0.1:9/v1"));
                let body = provider.conversation().encode(&request(&kept, &Map::new()));
                assert_valid(api, &body);
                let text = String::from_utf8(body.bytes.to_vec()).unwrap();
                let results = match api {
                    Api::Responses => text.matches("\"function_call_output\"").count(),
                    Api::Chat => text.matches("\"tool_call_id\"").count(),
                };
                assert_eq!(results, whole_pairs(&kept), "{from}..{to} in {text}");
            }
        }
    }
}
