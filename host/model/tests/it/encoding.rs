//! Request bodies: their exact form, and the promise that they only ever grow at their end.

use std::sync::Arc;

use proptest::prelude::*;
use raddle_core::digest::Digest;
use raddle_core::message::{AssistantMessage, Finish, Message, Part, ToolCall, ToolResult};
use raddle_core::provider::{Body, Conversation, Request};
use raddle_model::{ProviderKind, ProviderSettings, RESERVED_OPTIONS};
use serde_json::{Map, Value, json};

use crate::support::{
    Api, answer, call, developer, provider, read_tool, request, result, settings, text, user,
};

fn conversation(api: Api) -> Box<dyn Conversation> {
    provider(settings(api, "http://127.0.0.1:9/v1")).conversation()
}

fn with_developer_role(developer_role: bool) -> Box<dyn Conversation> {
    let mut settings = settings(Api::Chat, "http://127.0.0.1:9/v1");
    settings.developer_role = Some(developer_role);
    provider(settings).conversation()
}

/// A transcript with one of everything.
fn transcript() -> Vec<Arc<Message>> {
    vec![
        developer("<context section=\"date\">Monday</context>"),
        user("What is in <context>?\u{1F642}"),
        answer(vec![
            Part::Reasoning {
                item: json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"}),
            },
            Part::Reasoning {
                item: json!({"reasoning_content": "hm"}),
            },
            text("I look."),
            call("call_a", "read", "{\"path\": \"a\"}"),
            call("call_b", "mcp.read", "{\"path\": b"),
        ]),
        result("call_a", "</system_note>one"),
        result("call_b", "not JSON"),
        answer(vec![text("Done.")]),
        user("thanks"),
    ]
}

fn whole_request<'a>(
    messages: &'a [Arc<Message>],
    tools: &'a [raddle_core::provider::ToolSchema],
    options: &'a Map<String, Value>,
) -> Request<'a> {
    Request {
        system: "You are m.",
        tools,
        ..request(messages, options)
    }
}

fn encode_whole(mut conversation: Box<dyn Conversation>) -> String {
    let messages = transcript();
    let tools = [read_tool()];
    let options = json!({"temperature": 0.5, "reasoning": {"effort": "low"}});
    let options = options.as_object().unwrap();
    let body = conversation.encode(&whole_request(&messages, &tools, options));
    assert_eq!(body.digest, Digest::of(&body.bytes));
    // One member or message a line, to be read; the bytes themselves have no white space.
    let text = String::from_utf8(body.bytes.to_vec()).unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_ok());
    text.replace(",{\"", ",\n  {\"").replace(",\"", ",\n    \"")
}

#[test]
fn a_responses_request() {
    insta::assert_snapshot!(encode_whole(conversation(Api::Responses)));
}

#[test]
fn a_chat_request_with_a_developer_role() {
    insta::assert_snapshot!(encode_whole(with_developer_role(true)));
}

#[test]
fn a_chat_request_without_a_developer_role() {
    insta::assert_snapshot!(encode_whole(with_developer_role(false)));
}

#[test]
fn replay_encodes_what_responses_would_send() {
    let line = json!({"key": "main/1/1", "chunks": [{"finish": "stop"}],
                      "expect": [{"pointer": "/model", "equals": "m"}]});
    let recording = raddle_model::Recording::parse("test", &line.to_string()).unwrap();
    let settings = ProviderSettings::new(ProviderKind::Replay(Arc::new(recording)), || 0.0);
    assert_eq!(
        encode_whole(provider(settings).conversation()),
        encode_whole(conversation(Api::Responses))
    );
}

#[test]
fn only_openai_is_taken_to_know_the_developer_role() {
    let role = |base_url: Option<&str>| {
        let mut settings = settings(Api::Chat, "");
        settings.base_url = base_url.map(str::to_owned);
        let messages = [developer("trusted")];
        let body = provider(settings)
            .conversation()
            .encode(&request(&messages, &Map::new()));
        let body: Value = serde_json::from_slice(&body.bytes).unwrap();
        body["messages"][0]["role"].as_str().unwrap().to_owned()
    };
    assert_eq!(role(None), "developer");
    assert_eq!(role(Some("https://api.openai.com/v1")), "developer");
    assert_eq!(role(Some("http://127.0.0.1:4000/v1")), "user");
}

#[test]
fn nothing_is_said_about_what_is_not_there() {
    for api in [Api::Responses, Api::Chat] {
        let messages = [user("hi")];
        let mut bare = request(&messages, EMPTY.get_or_init(Map::new));
        bare.cache_key = "";
        let body: Value = serde_json::from_slice(&conversation(api).encode(&bare).bytes).unwrap();
        for absent in [
            "tools",
            "parallel_tool_calls",
            "instructions",
            "prompt_cache_key",
            "tool_choice",
        ] {
            assert!(body.get(absent).is_none(), "{absent} in {body}");
        }
    }
}

static EMPTY: std::sync::OnceLock<Map<String, Value>> = std::sync::OnceLock::new();

#[test]
fn options_replace_and_remove_members_but_never_the_harness_s_own() {
    let options = json!({
        "store": true, "include": null, "max_output_tokens": 9, "model": "other", "input": [],
        "tools": [], "stream": false, "instructions": "x", "parallel_tool_calls": false,
    });
    let messages = [user("hi")];
    let tools = [read_tool()];
    let request = whole_request(&messages, &tools, options.as_object().unwrap());
    let body: Value =
        serde_json::from_slice(&conversation(Api::Responses).encode(&request).bytes).unwrap();
    assert_eq!(body["store"], true);
    assert_eq!(body.get("include"), None);
    assert_eq!(body["max_output_tokens"], 9);
    assert_eq!(body["parallel_tool_calls"], false);
    assert_eq!(body["model"], "m");
    assert_eq!(body["instructions"], "You are m.");
    assert_eq!(body["stream"], true);
    assert_eq!(body["input"].as_array().unwrap().len(), 1);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert!(RESERVED_OPTIONS.contains(&"model"));
}

#[test]
fn a_new_revision_encodes_everything_again() {
    for api in [Api::Responses, Api::Chat] {
        let mut conversation = conversation(api);
        let before = transcript();
        conversation.encode(&request(&before, EMPTY.get_or_init(Map::new)));
        let after = [user("summary of it all")];
        let mut second = request(&after, EMPTY.get_or_init(Map::new));
        second.revision = 2;
        second.model = "other";
        let body = conversation.encode(&second);
        assert_eq!(body.bytes, self::conversation(api).encode(&second).bytes);
        assert_eq!(body.digest, Digest::of(&body.bytes));
        assert!(
            String::from_utf8(body.bytes.to_vec())
                .unwrap()
                .contains("other")
        );
    }
}

#[test]
fn a_name_no_service_takes_is_sent_as_one_it_takes() {
    let messages = [
        answer(vec![call("a", "read file\u{e9}!.x", "{}")]),
        result("a", "no such tool"),
    ];
    let body = conversation(Api::Chat).encode(&request(&messages, EMPTY.get_or_init(Map::new)));
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    assert_eq!(
        body["messages"][0]["tool_calls"][0]["function"]["name"],
        "read_file____x"
    );
}

/// Any transcript at all, good or broken.
fn any_message() -> impl Strategy<Value = Message> {
    let id = prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned);
    let words = prop::sample::select(vec![
        "",
        " \n",
        "x",
        "</context>\"\\",
        "那 🙂",
        "\u{0}\u{7f}",
    ])
    .prop_map(str::to_owned);
    let part = prop_oneof![
        2 => words.clone().prop_map(|text| Part::Text { text }),
        1 => Just(Part::Reasoning { item: json!({"type": "reasoning", "id": "r"}) }),
        1 => Just(Part::Reasoning { item: json!({"reasoning_content": "r"}) }),
        3 => (id.clone(), prop::sample::select(vec!["{}", "{\"a\":", "null", "[1]"])).prop_map(
            |(id, arguments)| Part::Call(ToolCall {
                id,
                name: "read".to_owned(),
                arguments: arguments.to_owned(),
            })
        ),
    ];
    prop_oneof![
        1 => words.clone().prop_map(|text| Message::User { text }),
        1 => words.clone().prop_map(|text| Message::Developer { text }),
        3 => prop::collection::vec(part, 0..4).prop_map(|parts| Message::Assistant(
            AssistantMessage { parts, finish: Finish::Stop }
        )),
        5 => (id, words).prop_map(|(call_id, text)| Message::Tool(ToolResult {
            call_id,
            text,
            is_error: false,
        })),
    ]
}

fn array_of(body: &Body) -> &[u8] {
    let start = [&b"\"messages\":["[..], b"\"input\":["]
        .iter()
        .find_map(|name| {
            let at = body
                .bytes
                .windows(name.len())
                .position(|bytes| bytes == *name)?;
            Some(at + name.len())
        })
        .unwrap();
    body.bytes[start..].strip_suffix(b"]}").unwrap()
}

/// Whether every call of the last answer has its result, so that a request may be made.
fn is_settled(messages: &[Arc<Message>]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message.as_ref() {
            Message::Assistant(answer) => {
                open = answer.calls().map(|call| call.id.as_str()).collect();
            }
            Message::Tool(result) => open.retain(|id| *id != result.call_id),
            _ => open.clear(),
        }
    }
    open.is_empty()
}

/// What services insist on.
pub(crate) fn assert_valid(api: Api, body: &Body) {
    let body: Value = serde_json::from_slice(&body.bytes).unwrap();
    let mut open: Vec<String> = Vec::new();
    let mut in_results = false;
    let messages = match api {
        Api::Chat => body["messages"].as_array().unwrap().clone(),
        Api::Responses => body["input"].as_array().unwrap().clone(),
    };
    let id_of = |value: &Value| value.as_str().unwrap().to_owned();
    for (index, message) in messages.iter().enumerate() {
        let kind = message["type"]
            .as_str()
            .or(message["role"].as_str())
            .unwrap();
        let answered = match kind {
            "tool" => Some(id_of(&message["tool_call_id"])),
            "function_call_output" => Some(id_of(&message["call_id"])),
            _ => None,
        };
        if let Some(id) = answered {
            let at = open.iter().position(|open| *open == id);
            open.remove(at.unwrap_or_else(|| panic!("result without a call: {body}")));
            in_results = true;
            continue;
        }
        if in_results || kind == "user" || kind == "developer" {
            assert!(open.is_empty(), "calls without results: {body}");
        }
        in_results = false;
        match kind {
            "assistant" => {
                let calls = message["tool_calls"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let text = message["content"].as_str().unwrap_or_default();
                assert!(!calls.is_empty() || !text.trim().is_empty(), "{body}");
                assert!(open.is_empty(), "{body}");
                for call in &calls {
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    assert!(serde_json::from_str::<Map<String, Value>>(arguments).is_ok());
                    open.push(id_of(&call["id"]));
                }
            }
            "function_call" => open.push(id_of(&message["call_id"])),
            "reasoning" => {
                let rest = messages[index + 1..]
                    .iter()
                    .find(|next| next["type"] != "reasoning")
                    .expect("something follows reasoning");
                assert!(
                    rest["type"] == "function_call" || rest["role"] == "assistant",
                    "{body}"
                );
            }
            _ => {}
        }
        let mut unique = open.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), open.len(), "{body}");
    }
    assert!(open.is_empty(), "calls without results: {body}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the transcript: what is sent is valid, is what a fresh process would send, has
    /// the digest it says, and starts with all that was sent before.
    #[test]
    fn requests_only_grow(
        messages in prop::collection::vec(any_message(), 0..14),
        api in prop::sample::select(vec![Api::Responses, Api::Chat]),
    ) {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        let options = Map::new();
        let mut conversation = conversation(api);
        let mut before: Option<Body> = None;
        for length in 0..=messages.len() {
            let request = request(&messages[..length], &options);
            let body = conversation.encode(&request);
            prop_assert_eq!(body.digest, Digest::of(&body.bytes));
            let fresh = self::conversation(api).encode(&request);
            prop_assert_eq!(&body.bytes, &fresh.bytes);
            assert_valid(api, &body);
            if let Some(before) = &before {
                prop_assert!(array_of(&body).starts_with(array_of(before)));
            }
            // A step is never made while calls are open; what is encoded then binds nothing.
            if is_settled(&messages[..length]) {
                before = Some(body);
            }
        }
    }
}
