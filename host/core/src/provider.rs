//! The model side: what a step sends and what comes back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::message::{AssistantMessage, Finish, Message, Part};

/// A model service.
pub trait Provider: Send + Sync {
    /// Opens one session's link to the model. Nothing is sent yet.
    fn conversation(&self) -> Box<dyn Conversation>;
}

/// One session's link to a model. It may keep what it has already encoded, so that step 10,000
/// costs no more than step 100 apart from the bytes sent.
pub trait Conversation: Send {
    /// The exact body of a request. The same request gives the same bytes; within a session
    /// the encoded message array of request n is a byte prefix of that of request n+1
    ///.
    fn encode(&mut self, request: &Request<'_>) -> Body;

    /// Sends a body and streams the answer. Dropping the stream cancels the request.
    ///
    /// The stream ends after [`StreamEvent::Done`] or after the first error. A failed attempt
    /// is retried inside only while nothing of its answer has been handed out.
    fn send(
        &mut self,
        body: Body,
        key: &RequestKey,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>>;
}

/// What the model is asked in one step.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The model's name, as the service knows it.
    pub model: &'a str,
    /// The whole system prompt; empty means none is sent.
    pub system: &'a str,
    /// All tools, in the order they are sent.
    pub tools: &'a [ToolSchema],
    /// The transcript; only ever grows while `revision` stays the same.
    pub messages: &'a [Arc<Message>],
    /// Changes when earlier messages were replaced (compaction) or the head changed.
    pub revision: u64,
    /// `prompt_cache_key`: the same for a whole session.
    pub cache_key: &'a str,
    /// Further members of the request body, by their names on the wire.
    pub options: &'a Map<String, Value>,
    /// Most tokens of the answer, where the request has a limit of its own.
    pub max_tokens: Option<u32>,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// The name on the wire (`.` written as `__`).
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON schema of the arguments: an object.
    pub parameters: Value,
}

/// An encoded request.
#[derive(Debug, Clone)]
pub struct Body {
    /// The bytes as sent.
    pub bytes: Bytes,
    /// Digest of `bytes`, for the log.
    pub digest: Digest,
}

/// Which request of a session this is: `main/1/1` is the first step of the first run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestKey {
    /// `main`, a child's path, or `compaction`.
    pub path: String,
    /// Number of the run, from 1.
    pub run: u32,
    /// Number of the step in its run, from 1.
    pub step: u32,
}

/// What arrives while the model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The next piece of visible text.
    Text(String),
    /// An attempt failed before any output; another follows after `wait`.
    Retry {
        /// How long until the next attempt.
        wait: Duration,
        /// One line about the failure.
        reason: String,
    },
    /// The whole answer; nothing follows.
    Done(Completion),
}

/// A finished answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The answer, with every part.
    pub message: AssistantMessage,
    /// Token counts, where the service gave them.
    pub usage: Option<Usage>,
    /// The model's name as the service reported it.
    pub model: Option<String>,
}

/// Tokens of one request, as the service counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Tokens of the prompt, cached ones included.
    pub input_tokens: u64,
    /// Of those, read from the provider's prompt cache.
    pub cached_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// Of those, spent on reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Tokens of prompt and answer together.
    pub fn total(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

/// A request that failed for good.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    /// What kind of failure, for decisions.
    pub kind: ProviderErrorKind,
    /// One line for people: what happened and what to do. Never holds a key.
    pub message: String,
    /// HTTP status, where one came.
    pub status: Option<u16>,
    /// The service's id of the request, where it gave one.
    pub request_id: Option<String>,
    /// The [part](Partial) of the text that had already been streamed when the answer broke off.
    pub partial_text: String,
}

/// What is kept of an answer while it comes, in case it breaks off: its first
/// [`LIMIT`](Self::LIMIT) bytes, which is more than a model says in one.
#[derive(Debug, Clone, Default)]
pub struct Partial {
    text: String,
    is_full: bool,
}

/// Kinds of failed requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProviderErrorKind {
    /// The service could not be reached, or the connection broke.
    Connection,
    /// Nothing came for too long.
    Timeout,
    /// The key is missing, wrong or not allowed.
    Authentication,
    /// Too many requests, and the retries are used up or the asked wait is too long.
    RateLimit,
    /// The account's quota is used up: waiting does not help.
    Quota,
    /// The prompt does not fit the model's window.
    ContextOverflow,
    /// The service refused the request (another 4xx).
    Refused,
    /// The service failed (5xx, or an error inside the stream).
    Service,
    /// The answer could not be understood.
    Malformed,
    /// A recording did not expect this request.
    Recording,
}

impl ProviderErrorKind {
    /// Whether the same request may work a little later.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Connection | Self::Timeout | Self::RateLimit | Self::Service
        )
    }

    /// The stable kebab-case code of `error` events.
    pub fn code(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Timeout => "timeout",
            Self::Authentication => "authentication",
            Self::RateLimit => "rate-limit",
            Self::Quota => "quota",
            Self::ContextOverflow => "context-overflow",
            Self::Refused => "refused",
            Self::Service => "service",
            Self::Malformed => "malformed",
            Self::Recording => "recording",
        }
    }
}

impl std::fmt::Display for RequestKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}/{}", self.path, self.run, self.step)
    }
}

impl Partial {
    /// The most bytes of text that are kept.
    pub const LIMIT: usize = 1 << 20;

    /// Adds a piece, as far as there is room.
    pub fn push(&mut self, piece: &str) {
        if self.is_full {
            return;
        }
        let room = Self::LIMIT - self.text.len();
        self.is_full = piece.len() > room;
        self.text
            .push_str(&piece[..piece.floor_char_boundary(room)]);
    }

    /// Whether nothing came.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text.
    pub fn into_text(self) -> String {
        self.text
    }

    /// The answer that it is.
    pub fn into_answer(self, finish: Finish) -> AssistantMessage {
        let text = (!self.is_empty()).then_some(Part::Text { text: self.text });
        let parts = text.into_iter().collect();
        AssistantMessage { parts, finish }
    }
}

impl ProviderError {
    /// An error with nothing but a kind and a line about it.
    pub fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            request_id: None,
            partial_text: String::new(),
        }
    }
}
