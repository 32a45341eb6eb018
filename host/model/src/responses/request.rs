//! Responses requests. Nothing is kept by the service (`store: false`), so reasoning comes back
//! encrypted and is sent again in its place.

use std::borrow::Cow;

use raddle_core::message::{Part, ToolCall};
use raddle_core::provider::{Request, ToolSchema};
use raddle_core::transcript::Entry;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::ResponsesAnswer;
use crate::encoder::{Array, Form, tool_members, wire_arguments, wire_name};

/// The form.
pub(crate) struct Responses;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        content: [Content<'a>; 1],
    },
    FunctionCall {
        call_id: &'a str,
        name: String,
        arguments: Cow<'a, str>,
    },
    FunctionCallOutput {
        call_id: &'a str,
        output: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Content<'a> {
    InputText { text: &'a str },
    OutputText { text: &'a str },
}

impl Form for Responses {
    type Answer = ResponsesAnswer;
    const PATH: &'static str = "/responses";
    const ARRAY: &'static str = "input";

    fn members(&self, request: &Request<'_>) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("model".to_owned(), request.model.into());
        if !request.system.is_empty() {
            members.insert("instructions".to_owned(), request.system.into());
        }
        members.extend(tool_members(request.tools, tool));
        if !request.cache_key.is_empty() {
            members.insert("prompt_cache_key".to_owned(), request.cache_key.into());
        }
        members.insert("store".to_owned(), false.into());
        members.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
        if let Some(tokens) = request.max_tokens {
            members.insert("max_output_tokens".to_owned(), tokens.into());
        }
        members.insert("stream".to_owned(), true.into());
        members
    }

    fn opening(&self, _request: &Request<'_>, _array: &mut Array<'_>) {}

    fn entry(&self, entry: &Entry<'_>, array: &mut Array<'_>) {
        match entry {
            Entry::Developer(text) => array.push(&input("developer", text)),
            Entry::User(text) => array.push(&input("user", text)),
            Entry::Answer { parts, results } => {
                for part in parts {
                    match part {
                        Part::Text { text } => array.push(&Item::Message {
                            role: "assistant",
                            content: [Content::OutputText { text }],
                        }),
                        // Reasoning of another form has no type, and means nothing here.
                        Part::Reasoning { item } if item["type"].is_string() => array.push(item),
                        Part::Reasoning { .. } => {}
                        Part::Call(call) => array.push(&function_call(call)),
                    }
                }
                for result in results {
                    array.push(&Item::FunctionCallOutput {
                        call_id: &result.call_id,
                        output: &result.text,
                    });
                }
            }
        }
    }

    fn answer(&self) -> ResponsesAnswer {
        ResponsesAnswer::default()
    }
}

fn input<'a>(role: &'static str, text: &'a str) -> Item<'a> {
    Item::Message {
        role,
        content: [Content::InputText { text }],
    }
}

fn function_call(call: &ToolCall) -> Item<'_> {
    Item::FunctionCall {
        call_id: &call.id,
        name: wire_name(&call.name),
        arguments: wire_arguments(&call.arguments),
    }
}

fn tool(tool: &ToolSchema) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        // Not said, it means true, and schemas of other people's making do not fit that.
        "strict": false,
    })
}
