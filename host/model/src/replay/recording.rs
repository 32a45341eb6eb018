//! The file format of recordings.

use std::collections::HashMap;

use raddle_core::digest::Digest;
use raddle_core::message::Finish;
use raddle_core::provider::{ProviderErrorKind, Usage};
use serde::Deserialize;
use serde_json::Value;

/// Answers to play, each with what it expects of the request it answers.
///
/// A recording is a text of JSON lines; blank lines are skipped. The first line may be a header:
///
/// ```json
/// {"recording": 1, "message": "Fix the typo in notes.md."}
/// ```
///
/// `message` is what a user would say to start it; a front end can have it ready at its prompt. A
/// list is what the user says run by run.
/// Every other line is a step:
///
/// ```json
/// {"key": "main/1/1",
///  "chunks": [{"text": "Let me "}, {"text": "look."},
///             {"call": {"name": "read", "arguments": {"path": "notes.md"}}},
///             {"finish": "toolCalls"}],
///  "expect": [{"pointer": "/input/0/content/0/text", "contains": "typo"}]}
/// ```
///
/// - `key`: the request it answers: `main`, a child's path or `compaction`, then run and step,
///   both from 1.
/// - `chunks`: what is streamed, in order:
///   - `{"pause": 500}`: how many milliseconds the model thinks before it answers; several add up.
///   - `{"text": "…"}`: visible text; neighbours make one part.
///   - `{"reasoning": {…}}`: a reasoning item, as a service would give it.
///   - `{"call": {"id"?, "name", "arguments"}}`: a tool call by its name on the wire; `arguments`
///     is an object, or text that is taken as it stands. Without an `id` one is generated.
///   - `{"usage": {"inputTokens", "cachedTokens", "outputTokens", "reasoningTokens"}}`: token
///     counts, each 0 when absent.
///   - `{"finish": "stop" | "toolCalls" | "length" | "contentFilter" | "cancelled" |
///     {"other": "…"}}`, or `{"error": {"kind", "message"}}` with a
///     [`ProviderErrorKind`]: how it ends. The last chunk, and only the last, is one of these.
/// - `expect`: at least one `{"pointer", "contains"}` or `{"pointer", "equals"}`: a JSON pointer
///   (RFC 6901) into the request's body as `openai-responses` sends it, and the text that stands
///   there (in anything but a text: in its compact JSON), or the value that is there.
/// - `digest`: optional, the digest of the whole body.
#[derive(Debug, Clone)]
pub struct Recording {
    messages: Vec<String>,
    steps: Vec<Step>,
    by_key: HashMap<String, usize>,
}

/// A recording that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A line is not what it should be.
    #[error("{name}:{line}: {reason}")]
    Line {
        /// The file, or whatever the recording goes by.
        name: String,
        /// Which line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no step at all.
    #[error("{name}: the recording has no steps")]
    Empty {
        /// The file, or whatever the recording goes by.
        name: String,
    },
}

/// One answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) key: String,
    pub(super) chunks: Vec<Chunk>,
    #[serde(default)]
    pub(super) expect: Vec<Expectation>,
    pub(super) digest: Option<Digest>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Chunk {
    /// Milliseconds.
    Pause(u64),
    Text(String),
    Reasoning(Value),
    Call(RecordedCall),
    #[serde(deserialize_with = "usage")]
    Usage(Usage),
    Finish(Finish),
    Error(RecordedError),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    arguments: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedError {
    pub(super) kind: ProviderErrorKind,
    pub(super) message: String,
}

/// What a request is expected to hold at one place.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "WrittenExpectation")]
pub(super) struct Expectation {
    pub(super) pointer: String,
    pub(super) check: Check,
}

#[derive(Debug, Clone)]
pub(super) enum Check {
    Contains(String),
    Equals(Value),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExpectation {
    pointer: String,
    contains: Option<String>,
    /// `null` is a value like any other here.
    #[serde(default, deserialize_with = "present")]
    equals: Option<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    recording: u32,
    #[serde(default)]
    message: Messages,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Messages {
    One(String),
    Several(Vec<String>),
}

impl Default for Messages {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl Recording {
    /// Reads `text`, which errors call `name`.
    pub fn parse(name: &str, text: &str) -> Result<Self, RecordingError> {
        let mut recording = Self {
            messages: Vec::new(),
            steps: Vec::new(),
            by_key: HashMap::new(),
        };
        // Where each step stands, for the message about a second one.
        let mut lines = Vec::new();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, content) in (1..).zip(text.lines()) {
            let fail = |reason: String| RecordingError::Line {
                name: name.to_owned(),
                line,
                reason,
            };
            if content.trim().is_empty() {
                continue;
            }
            let value: Value = serde_json::from_str(content)
                .map_err(|error| fail(format!("this is not JSON: {}", described(&error))))?;
            if !value.is_object() {
                return Err(fail(format!(
                    "a line is a JSON object, a step such as `{{\"key\": \"main/1/1\", \"chunks\": \
                     […], \"expect\": […]}}`; found {}",
                    kind_of(&value)
                )));
            }
            if value.get("recording").is_some() && recording.steps.is_empty() {
                let header: Header =
                    serde_json::from_value(value).map_err(|error| fail(error.to_string()))?;
                if header.recording != 1 {
                    return Err(fail(format!(
                        "recording format {} is not known, only 1 is",
                        header.recording
                    )));
                }
                recording.messages = match header.message {
                    Messages::One(message) => vec![message],
                    Messages::Several(messages) => messages,
                };
                continue;
            }
            let step: Step =
                serde_json::from_value(value).map_err(|error| fail(error.to_string()))?;
            step.check().map_err(fail)?;
            if let Some(first) = recording
                .by_key
                .insert(step.key.clone(), recording.steps.len())
            {
                return Err(fail(format!(
                    "step `{}` stands in line {} already",
                    step.key, lines[first]
                )));
            }
            lines.push(line);
            recording.steps.push(step);
        }
        if recording.steps.is_empty() {
            return Err(RecordingError::Empty {
                name: name.to_owned(),
            });
        }
        Ok(recording)
    }

    /// What a user would say, run by run, where the header tells.
    pub fn messages(&self) -> &[String] {
        &self.messages
    }

    /// The keys of all steps, in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.key.as_str())
    }

    pub(super) fn step(&self, key: &str) -> Option<&Step> {
        self.by_key.get(key).map(|index| &self.steps[*index])
    }
}

impl Step {
    fn check(&self) -> Result<(), String> {
        let key = &self.key;
        let is_number = |text: &str| text.parse::<u32>().is_ok_and(|number| number > 0);
        let mut places = key.rsplitn(3, '/');
        let (step, run) = (places.next(), places.next());
        let path = places.next().unwrap_or_default();
        if path.is_empty() || !step.is_some_and(is_number) || !run.is_some_and(is_number) {
            return Err(format!(
                "key `{key}` is not a path, a run and a step, as in `main/1/1`"
            ));
        }
        if self.expect.is_empty() {
            return Err(format!(
                "step `{key}` expects nothing of its request: give it an `expect`"
            ));
        }
        let ends = |chunk: &Chunk| matches!(chunk, Chunk::Finish(_) | Chunk::Error(_));
        match self.chunks.iter().position(ends) {
            None => Err(format!("step `{key}` has no `finish` chunk at its end")),
            Some(end) if end + 1 < self.chunks.len() => Err(format!(
                "step `{key}` has chunks after the one that ends it"
            )),
            Some(_) => Ok(()),
        }
    }
}

impl RecordedCall {
    pub(super) fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

impl TryFrom<WrittenExpectation> for Expectation {
    type Error = String;

    fn try_from(written: WrittenExpectation) -> Result<Self, String> {
        let pointer = written.pointer;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!(
                "pointer `{pointer}` is no JSON pointer: it starts with `/`"
            ));
        }
        let check = match (written.contains, written.equals) {
            (Some(text), None) if text.is_empty() => {
                return Err(format!("`{pointer}` contains \"\" whatever it holds"));
            }
            (Some(text), None) => Check::Contains(text),
            (None, Some(value)) => Check::Equals(value),
            _ => {
                return Err(format!(
                    "`{pointer}` wants exactly one of `contains` and `equals`"
                ));
            }
        };
        Ok(Self { pointer, check })
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Serde's message without its own line, which is always the first.
fn described(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match message.strip_suffix(&place) {
        Some(message) => format!("{message} at column {}", error.column()),
        None => message,
    }
}

fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn usage<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Usage, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
    struct Written {
        input_tokens: u64,
        cached_tokens: u64,
        output_tokens: u64,
        reasoning_tokens: u64,
    }
    let written = Written::deserialize(deserializer)?;
    Ok(Usage {
        input_tokens: written.input_tokens,
        cached_tokens: written.cached_tokens,
        output_tokens: written.output_tokens,
        reasoning_tokens: written.reasoning_tokens,
    })
}
