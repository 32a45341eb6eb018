//! Chat Completions requests.

use std::borrow::Cow;

use raddle_core::message::{Part, ToolResult};
use raddle_core::provider::{Request, ToolSchema};
use raddle_core::transcript::Entry;
use raddle_core::trust::neutralise;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::answer::{ChatAnswer, REASONING_MEMBERS};
use crate::encoder::{Array, Form, tool_members, wire_arguments, wire_name};

/// The form. The system prompt is the first message, because that is the one place every
/// compatible server looks for it.
pub(crate) struct Chat {
    /// Whether trusted text has a role of its own.
    pub(crate) developer_role: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    Developer {
        content: &'a str,
    },
    User {
        content: Cow<'a, str>,
    },
    Assistant {
        /// `null` when there is no text.
        content: Option<String>,
        #[serde(flatten)]
        reasoning: Map<String, Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    arguments: Cow<'a, str>,
}

impl Form for Chat {
    type Answer = ChatAnswer;
    const PATH: &'static str = "/chat/completions";
    const ARRAY: &'static str = "messages";

    fn members(&self, request: &Request<'_>) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("model".to_owned(), request.model.into());
        members.extend(tool_members(request.tools, tool));
        if !request.cache_key.is_empty() {
            members.insert("prompt_cache_key".to_owned(), request.cache_key.into());
        }
        if let Some(tokens) = request.max_tokens {
            members.insert("max_completion_tokens".to_owned(), tokens.into());
        }
        members.insert("stream".to_owned(), true.into());
        members.insert(
            "stream_options".to_owned(),
            json!({ "include_usage": true }),
        );
        members
    }

    fn opening(&self, request: &Request<'_>, array: &mut Array<'_>) {
        if !request.system.is_empty() {
            array.push(&Message::System {
                content: request.system,
            });
        }
    }

    fn entry(&self, entry: &Entry<'_>, array: &mut Array<'_>) {
        match entry {
            Entry::Developer(text) if self.developer_role => {
                array.push(&Message::Developer { content: text });
            }
            Entry::Developer(text) => array.push(&Message::User {
                content: Cow::Borrowed(text),
            }),
            Entry::User(text) => array.push(&Message::User {
                content: self.untrusted(text),
            }),
            Entry::Answer { parts, results } => {
                array.push(&assistant(parts));
                for result in results {
                    array.push(&self.result(result));
                }
            }
        }
    }

    fn answer(&self) -> ChatAnswer {
        ChatAnswer::default()
    }
}

impl Chat {
    fn result<'a>(&self, result: &'a ToolResult) -> Message<'a> {
        Message::Tool {
            tool_call_id: &result.call_id,
            content: self.untrusted(&result.text),
        }
    }

    /// Text that is not the harness's own. It needs to be told from trusted text by its tags only
    /// where the role does not do that.
    fn untrusted<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.developer_role {
            Cow::Borrowed(text)
        } else {
            neutralise(text)
        }
    }
}

fn assistant<'a>(parts: &[&'a Part]) -> Message<'a> {
    let mut content: Option<String> = None;
    let mut reasoning = Map::new();
    let mut tool_calls = Vec::new();
    for part in parts {
        match part {
            Part::Text { text } => content.get_or_insert_default().push_str(text),
            Part::Reasoning { item } => {
                for name in REASONING_MEMBERS {
                    if let Some(value) = item.get(name) {
                        reasoning.insert((*name).to_owned(), value.clone());
                    }
                }
            }
            Part::Call(call) => tool_calls.push(Call {
                id: &call.id,
                r#type: "function",
                function: Function {
                    name: wire_name(&call.name),
                    arguments: wire_arguments(&call.arguments),
                },
            }),
        }
    }
    // Servers that want reasoning back want it for the answers that called tools; some refuse it
    // anywhere else.
    if tool_calls.is_empty() {
        reasoning.clear();
    }
    Message::Assistant {
        content,
        reasoning,
        tool_calls,
    }
}

fn tool(tool: &ToolSchema) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}
