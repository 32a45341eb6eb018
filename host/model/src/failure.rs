//! What a failed request means: its kind, one line about it, and whether it is tried again.

use std::time::Duration;

use raddle_core::provider::{ProviderError, ProviderErrorKind};
use serde_json::Value;

use crate::sse::EventReader;

/// One failed attempt.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ProviderError,
    /// Whether another attempt may help.
    pub(crate) retryable: bool,
    /// How long the service asks to wait before it.
    pub(crate) asked_wait: Option<Duration>,
}

/// Longest piece of a service's answer that is repeated in an error, in characters.
const EXCERPT: usize = 400;

const QUOTA_CODES: &[&str] = &[
    "billing_hard_limit_reached",
    "billing_not_active",
    "credits_exhausted",
    "insufficient_balance",
    "insufficient_credits",
    "insufficient_quota",
    "payment_required",
    "quota_exceeded",
    "usage_limit_reached",
];
const QUOTA_WORDS: &[&str] = &[
    "check your plan and billing",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "insufficient quota",
    "insufficient_quota",
];
const OVERFLOW_CODES: &[&str] = &[
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "max_tokens_exceeded",
    "model_context_window_exceeded",
    "string_above_max_length",
];
const OVERFLOW_WORDS: &[&str] = &[
    "available context size",
    "context length",
    "context window",
    "context_length_exceeded",
    "exceeds the maximum number of tokens",
    "input is too long",
    "maximum context",
    "maximum prompt length",
    "prompt is too long",
    "prompt too long",
    "reduce the length of the messages",
    "too large for model with",
    "too many input tokens",
];
const AUTHENTICATION_CODES: &[&str] = &[
    "authentication_error",
    "invalid_api_key",
    "permission_denied",
    "permission_error",
    "unauthorized",
];
const RATE_CODES: &[&str] = &[
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limited",
    "requests",
    "tokens",
    "too_many_requests",
];
const REFUSED_CODES: &[&str] = &[
    "bad_request",
    "content_policy_violation",
    "invalid_argument",
    "invalid_prompt",
    "invalid_request",
    "invalid_request_error",
    "invalid_value",
    "model_not_found",
    "not_found",
    "not_found_error",
    "unsupported_parameter",
    "unsupported_value",
];

impl Failure {
    /// A failure that is tried again when its kind says so.
    pub(crate) fn new(kind: ProviderErrorKind, message: impl Into<String>) -> Self {
        Self {
            error: ProviderError::new(kind, message),
            retryable: kind.is_transient(),
            asked_wait: None,
        }
    }

    pub(crate) fn malformed(message: impl Into<String>) -> Self {
        Self::new(ProviderErrorKind::Malformed, message)
    }

    /// The connection ended although the service had not said that the answer was over.
    pub(crate) fn cut(message: impl Into<String>) -> Self {
        Self::new(ProviderErrorKind::Connection, message)
    }

    /// An error record inside an answer that began well.
    pub(crate) fn in_stream(record: &Value) -> Self {
        let message = described(record)
            .unwrap_or_else(|| "the service reported an error without saying which".to_owned());
        Self::new(kind_of(None, record, &message), message)
    }

    /// An answer with a status that is not a success.
    pub(crate) fn of_status(status: u16, body: &[u8]) -> Self {
        let record = record_in(body);
        let said = described(&record);
        let kind = kind_of(Some(status), &record, said.as_deref().unwrap_or_default());
        let mut message = format!("HTTP {status}");
        if let Some(said) = said {
            message.push_str(": ");
            message.push_str(&said);
        }
        let mut failure = Self::new(kind, message);
        failure.error.status = Some(status);
        failure
    }
}

/// The error record in a body: the whole of it, or the first event of a stream, which some
/// services send with any status once a stream was asked for. Other bodies are taken as text.
fn record_in(body: &[u8]) -> Value {
    if let Ok(record) = serde_json::from_slice(body) {
        return record;
    }
    let mut events = EventReader::default();
    events.push(body);
    let first = match events.next_event() {
        Ok(None) => events.end(),
        first => first,
    };
    if let Ok(Some(event)) = first
        && let Ok(record) = serde_json::from_slice(&event.data)
    {
        return record;
    }
    Value::String(excerpt(body))
}

/// A piece of a body that fits one line. Bytes that are not text are left out.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let text: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
    one_line(&text)
}

pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        for c in word.chars() {
            if length == EXCERPT {
                line.push('…');
                return line;
            }
            line.push(c);
            length += 1;
        }
    }
    line
}

/// What an error record says, with its code when the words do not hold it.
fn described(record: &Value) -> Option<String> {
    let mut codes = codes_of(record).into_iter();
    let Some(message) = message_of(record, 0) else {
        return codes.next();
    };
    let mut message = one_line(&message);
    // The upstream's own words, where a router only says that it failed.
    if let Some(raw) = record
        .pointer("/error/metadata/raw")
        .and_then(Value::as_str)
    {
        message = one_line(&format!("{message}: {raw}"));
    }
    match codes.next() {
        Some(code) if !message.contains(&code) => Some(format!("{message} ({code})")),
        _ => Some(message),
    }
}

/// The words of an error record, in any of the shapes services use: `{error: {message}}`,
/// `{error: "…"}`, `{message}`, `{detail: "…" | [{msg}]}`, `{errors: […]}`, a list of one of
/// these, or a string that holds one of these.
fn message_of(record: &Value, depth: usize) -> Option<String> {
    // A record inside a record inside a text: services nest, but not for ever.
    if depth > 8 {
        return None;
    }
    match record {
        Value::String(text) => {
            let text = text.trim();
            if text.is_empty() {
                return None;
            }
            let nested = text.starts_with(['{', '[']).then(|| {
                serde_json::from_str::<Value>(text)
                    .ok()
                    .and_then(|nested| message_of(&nested, depth + 1))
            });
            Some(nested.flatten().unwrap_or_else(|| text.to_owned()))
        }
        Value::Array(items) => {
            let messages: Vec<String> = items
                .iter()
                .filter_map(|item| message_of(item, depth + 1))
                .take(3)
                .collect();
            (!messages.is_empty()).then(|| messages.join("; "))
        }
        Value::Object(members) => [
            "error",
            "message",
            "detail",
            "errors",
            "msg",
            "error_message",
            "error_description",
            "error_msg",
            "reason",
            "title",
        ]
        .iter()
        .find_map(|name| message_of(members.get(*name)?, depth + 1)),
        _ => None,
    }
}

/// Every code an error record bears: words before numbers, which tell less.
fn codes_of(record: &Value) -> Vec<String> {
    let record = match record {
        Value::Array(items) => items.first().unwrap_or(&Value::Null),
        other => other,
    };
    let inner = &record["error"];
    let mut codes: Vec<String> = [
        &inner["code"],
        &inner["type"],
        &inner["status"],
        &record["code"],
        &record["type"],
        &record["status"],
        &record["status_code"],
    ]
    .into_iter()
    .filter_map(|code| match code {
        Value::String(text) if !text.is_empty() && text != "error" => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
    .collect();
    codes.sort_by_key(|code| code.bytes().all(|byte| byte.is_ascii_digit()));
    codes
}

fn kind_of(status: Option<u16>, record: &Value, message: &str) -> ProviderErrorKind {
    use ProviderErrorKind as Kind;

    let codes: Vec<String> = codes_of(record)
        .iter()
        .map(|code| code.to_ascii_lowercase().replace('-', "_"))
        .collect();
    let has = |known: &[&str]| codes.iter().any(|code| known.contains(&code.as_str()));
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    // Inside a stream the status, if there is one, stands in the record.
    let status = status.or_else(|| {
        codes
            .iter()
            .find_map(|code| code.parse().ok().filter(|code| (400..600).contains(code)))
    });

    if status == Some(402) || has(QUOTA_CODES) || says(QUOTA_WORDS) {
        return Kind::Quota;
    }
    // A rate limit may speak of too many tokens too.
    let limited = status == Some(429);
    if !limited && (has(OVERFLOW_CODES) || says(OVERFLOW_WORDS)) {
        return Kind::ContextOverflow;
    }
    match status {
        Some(401 | 403) => Kind::Authentication,
        Some(408) => Kind::Timeout,
        Some(429) => Kind::RateLimit,
        // A lock that was held, and a replay that was too early: both pass.
        Some(409 | 425) => Kind::Service,
        Some(500..) => Kind::Service,
        Some(_) => Kind::Refused,
        None if has(AUTHENTICATION_CODES) => Kind::Authentication,
        None if has(RATE_CODES) => Kind::RateLimit,
        None if has(REFUSED_CODES) => Kind::Refused,
        None => Kind::Service,
    }
}
