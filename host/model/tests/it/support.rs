//! What tests are made of.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use raddle_core::message::{AssistantMessage, Finish, Message, Part, ToolCall, ToolResult};
use raddle_core::provider::{
    Completion, Conversation, Provider, ProviderError, Request, RequestKey, StreamEvent, ToolSchema,
};
use raddle_model::{ProviderKind, ProviderSettings};
use serde_json::{Map, Value, json};

/// Which API a test speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    Responses,
    Chat,
}

/// Everything one request gave.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) texts: Vec<String>,
    pub(crate) retries: Vec<(Duration, String)>,
    pub(crate) result: Result<Completion, ProviderError>,
}

impl Outcome {
    pub(crate) fn text(&self) -> String {
        self.texts.concat()
    }

    pub(crate) fn completion(&self) -> &Completion {
        match &self.result {
            Ok(completion) => completion,
            Err(error) => panic!("expected an answer, got {error:?}"),
        }
    }

    pub(crate) fn error(&self) -> &ProviderError {
        match &self.result {
            Ok(completion) => panic!("expected an error, got {completion:?}"),
            Err(error) => error,
        }
    }

    pub(crate) fn calls(&self) -> Vec<ToolCall> {
        self.completion().message.calls().cloned().collect()
    }
}

/// Settings for a test: short waits, no chance.
pub(crate) fn settings(api: Api, base_url: &str) -> ProviderSettings {
    let kind = match api {
        Api::Responses => ProviderKind::OpenaiResponses,
        Api::Chat => ProviderKind::OpenaiChat,
    };
    let mut settings = ProviderSettings::new(kind, || 0.0);
    settings.base_url = Some(base_url.to_owned());
    settings.connect_timeout = Duration::from_secs(10);
    settings.idle_timeout = Duration::from_secs(20);
    settings.backoff = Duration::from_millis(1);
    settings
}

pub(crate) fn provider(settings: ProviderSettings) -> Arc<dyn Provider> {
    raddle_model::provider(settings).expect("the settings are good")
}

/// One request in a fresh conversation.
pub(crate) async fn ask(provider: &Arc<dyn Provider>) -> Outcome {
    let mut conversation = provider.conversation();
    ask_in(conversation.as_mut(), &[user("hello")], 1).await
}

/// The request of step `step` in a conversation.
pub(crate) async fn ask_in(
    conversation: &mut dyn Conversation,
    messages: &[Arc<Message>],
    step: u32,
) -> Outcome {
    let options = Map::new();
    let body = conversation.encode(&request(messages, &options));
    let key = RequestKey {
        path: "main".to_owned(),
        run: 1,
        step,
    };
    collect(conversation.send(body, &key)).await
}

pub(crate) async fn collect(
    mut stream: impl futures::Stream<Item = Result<StreamEvent, ProviderError>> + Unpin,
) -> Outcome {
    let mut texts = Vec::new();
    let mut retries = Vec::new();
    let mut result = None;
    while let Some(event) = stream.next().await {
        assert!(result.is_none(), "something follows the end: {event:?}");
        match event {
            Ok(StreamEvent::Text(text)) => texts.push(text),
            Ok(StreamEvent::Retry { wait, reason }) => {
                assert!(texts.is_empty(), "a retry after output");
                retries.push((wait, reason));
            }
            Ok(StreamEvent::Done(completion)) => result = Some(Ok(completion)),
            Err(error) => result = Some(Err(error)),
        }
    }
    Outcome {
        texts,
        retries,
        result: result.expect("a stream ends with an answer or an error"),
    }
}

pub(crate) fn request<'a>(
    messages: &'a [Arc<Message>],
    options: &'a Map<String, Value>,
) -> Request<'a> {
    Request {
        model: "m",
        system: "",
        tools: &[],
        messages,
        revision: 1,
        cache_key: "session-1",
        options,
        max_tokens: None,
    }
}

pub(crate) fn read_tool() -> ToolSchema {
    ToolSchema {
        name: "read".to_owned(),
        description: "Reads a file.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    }
}

pub(crate) fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::User {
        text: text.to_owned(),
    })
}

pub(crate) fn developer(text: &str) -> Arc<Message> {
    Arc::new(Message::Developer {
        text: text.to_owned(),
    })
}

pub(crate) fn answer(parts: Vec<Part>) -> Arc<Message> {
    Arc::new(Message::Assistant(AssistantMessage {
        parts,
        finish: Finish::Stop,
    }))
}

pub(crate) fn result(call_id: &str, text: &str) -> Arc<Message> {
    Arc::new(Message::Tool(ToolResult {
        call_id: call_id.to_owned(),
        text: text.to_owned(),
        is_error: false,
    }))
}

pub(crate) fn text(text: &str) -> Part {
    Part::Text {
        text: text.to_owned(),
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::Call(ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    })
}

pub(crate) fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path)
}
