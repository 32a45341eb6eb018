//! What is said in a session, independent of any provider's wire format.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of the transcript, in the order the model sees them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// Trusted text of the harness (tail context, injections). Its trust is this variant,
    /// never anything that stands in the text.
    Developer {
        /// The text as the model sees it.
        text: String,
    },
    /// What the user said.
    User {
        /// The user's words, as written.
        text: String,
    },
    /// What the model answered.
    Assistant(AssistantMessage),
    /// The answer to one tool call.
    Tool(ToolResult),
}

/// A whole answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, reasoning and calls in the order the provider gave them.
    pub parts: Vec<Part>,
    /// Why the answer ended.
    pub finish: Finish,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Part {
    /// Visible text.
    Text {
        /// The text.
        text: String,
    },
    /// A reasoning item, kept as the provider sent it and sent back unchanged, so that tool
    /// loops do not lose what the model had thought.
    Reasoning {
        /// The provider's own item.
        item: Value,
    },
    /// A tool call.
    Call(ToolCall),
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique within the session; made up by the provider's reader where the server sent none.
    pub id: String,
    /// The tool's name on the wire (`.` written as `__`).
    pub name: String,
    /// The arguments exactly as received: meant to be a JSON object, not yet checked.
    pub arguments: String,
}

/// The answer to a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// [`ToolCall::id`] of the call this answers.
    pub call_id: String,
    /// What the model sees.
    pub text: String,
    /// Whether the call failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

/// Why an answer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// The model was done.
    Stop,
    /// The model waits for tool results.
    ToolCalls,
    /// The output limit cut the answer: none of its calls may run.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// The run was cancelled while the answer came in: none of its calls may run.
    Cancelled,
    /// The answer broke off with an error: none of its calls may run.
    Broken,
    /// Another reason, in the provider's word.
    Other(String),
}

impl AssistantMessage {
    /// The visible text, parts joined.
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// The calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Whether the answer was cut short, so that its calls must not run.
    pub fn is_cut(&self) -> bool {
        matches!(
            self.finish,
            Finish::Length | Finish::ContentFilter | Finish::Cancelled | Finish::Broken
        )
    }
}
