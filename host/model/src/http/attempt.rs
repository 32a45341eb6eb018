//! One attempt: an answer read from its head to its end.

use std::time::Duration;

use bytes::Bytes;
use raddle_core::provider::{Completion, ProviderErrorKind};
use reqwest::Response;
use serde_json::Value;

use super::retry::asked_wait;
use super::service::{Service, causes};
use crate::answer::{AnswerReader, CallIds, Progress};
use crate::failure::{Failure, excerpt};
use crate::sse::{EVENT_LIMIT, Event, EventReader, TooLong};
use crate::surrogates::Surrogates;

/// The most bytes that are taken as one answer: many times what a model can say, and little enough
/// to be kept. An event may be half of it.
const ANSWER_LIMIT: usize = 2 * EVENT_LIMIT;
/// The most bytes of a refusal that are read.
const REFUSAL_LIMIT: usize = 64 << 10;
/// How much of the start is kept, to be shown when it turns out to be no stream of events.
const OPENING_LIMIT: usize = 2 << 10;
/// How long token counts may take after the answer is over.
const GRACE: Duration = Duration::from_secs(5);
/// How long the end of a body may take, so that the connection can be used again.
const DRAIN: Duration = Duration::from_secs(1);

/// An answer being read.
pub(super) struct Attempt<A> {
    response: Response,
    answer: A,
    shape: Shape,
    events: EventReader,
    surrogates: Surrogates,
    /// The first bytes of the body; all of it when it is [`Shape::Whole`].
    opening: Vec<u8>,
    received: usize,
    saw_event: bool,
    at_end: bool,
    idle_timeout: Duration,
    request_id: Option<String>,
}

/// What a step of reading gave.
pub(super) enum Step<A> {
    /// Text that became visible, and the attempt, which goes on.
    Text(String, Box<Attempt<A>>),
    /// The whole answer.
    Done(Completion),
}

/// What a body looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Nothing but white space so far.
    Unknown,
    /// Events, as asked for.
    Events,
    /// One JSON document: the service does not stream.
    Whole,
}

impl<A: AnswerReader> Attempt<A> {
    /// Sends the request and reads the answer's head.
    pub(super) async fn open(service: &Service, body: Bytes, answer: A) -> Result<Self, Failure> {
        let response = service.post(body).await?;
        let request_id = ["x-request-id", "request-id", "apim-request-id", "cf-ray"]
            .iter()
            .find_map(|name| response.headers().get(*name)?.to_str().ok())
            .map(str::to_owned);
        if response.status().is_success() {
            return Ok(Self {
                response,
                answer,
                shape: Shape::Unknown,
                events: EventReader::default(),
                surrogates: Surrogates::default(),
                opening: Vec::new(),
                received: 0,
                saw_event: false,
                at_end: false,
                idle_timeout: service.idle_timeout,
                request_id,
            });
        }
        let mut failure = refusal(service, response).await;
        failure.error.request_id = request_id;
        Err(failure)
    }

    /// Reads until text becomes visible or the answer is over.
    pub(super) async fn step(mut self: Box<Self>, ids: &CallIds) -> Result<Step<A>, Failure> {
        match self.read().await {
            Ok(text) if !text.is_empty() => Ok(Step::Text(text, self)),
            Ok(_) => {
                let request_id = self.request_id.take();
                let at_end = self.at_end;
                let Self {
                    response, answer, ..
                } = *self;
                if !at_end {
                    drain(response);
                }
                answer
                    .complete(ids)
                    .map(Step::Done)
                    .map_err(|failure| identified(failure, request_id))
            }
            Err(failure) => Err(identified(failure, self.request_id.take())),
        }
    }

    /// The next visible text; empty once nothing more comes.
    async fn read(&mut self) -> Result<String, Failure> {
        loop {
            if self.answer.progress() == Progress::Closed {
                return Ok(String::new());
            }
            while let Some(event) = self.events.next_event().map_err(too_long)? {
                let text = self.take(&event)?;
                if !text.is_empty() {
                    return Ok(text);
                }
                if self.answer.progress() == Progress::Closed {
                    return Ok(text);
                }
            }
            if self.at_end {
                return Ok(String::new());
            }
            match self.receive().await? {
                Some(bytes) => self.accept(&bytes)?,
                None => {
                    self.at_end = true;
                    let text = self.finish()?;
                    if !text.is_empty() {
                        return Ok(text);
                    }
                }
            }
        }
    }

    /// The next bytes of the body; `None` at its end, and when an answer that is already over
    /// breaks off or falls silent.
    async fn receive(&mut self) -> Result<Option<Bytes>, Failure> {
        let finished = self.answer.progress() == Progress::Finished;
        let patience = if finished {
            self.idle_timeout.min(GRACE)
        } else {
            self.idle_timeout
        };
        match tokio::time::timeout(patience, self.response.chunk()).await {
            Ok(Ok(bytes)) => Ok(bytes),
            _ if finished => Ok(None),
            Ok(Err(error)) => Err(Failure::cut(format!(
                "the connection broke in the middle of the answer: {}",
                causes(&error.without_url())
            ))),
            Err(_) => Err(Failure::new(
                ProviderErrorKind::Timeout,
                format!("the answer stopped: nothing came for {patience:?}"),
            )),
        }
    }

    fn accept(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.received += bytes.len();
        if self.received > ANSWER_LIMIT {
            return Err(Failure::malformed(format!(
                "the answer is longer than {} MiB",
                ANSWER_LIMIT >> 20
            )));
        }
        match self.shape {
            Shape::Unknown => {
                self.opening.extend_from_slice(bytes);
                self.shape = shape_of(&self.opening);
                if self.shape == Shape::Events {
                    self.events.push(&self.opening);
                    self.opening.truncate(OPENING_LIMIT);
                }
            }
            Shape::Events => {
                if !self.saw_event {
                    let room = OPENING_LIMIT.saturating_sub(self.opening.len());
                    self.opening
                        .extend_from_slice(&bytes[..room.min(bytes.len())]);
                }
                self.events.push(bytes);
            }
            Shape::Whole => self.opening.extend_from_slice(bytes),
        }
        if self.shape != Shape::Events && self.opening.len() > EVENT_LIMIT {
            return Err(too_long(TooLong));
        }
        Ok(())
    }

    fn take(&mut self, event: &Event) -> Result<String, Failure> {
        let data = event.data.trim_ascii();
        if data.is_empty() {
            return Ok(String::new());
        }
        self.saw_event = true;
        if data == b"[DONE]" {
            self.answer.done_marker();
            return Ok(String::new());
        }
        match self.parse(data) {
            Ok(data) => {
                if event.name == "error" || reports_error(&data) {
                    return Err(Failure::in_stream(&data));
                }
                self.answer.event(&event.name, &data)
            }
            Err(_) if event.name == "error" => {
                Err(Failure::in_stream(&Value::String(excerpt(data))))
            }
            Err(error) => Err(Failure::malformed(format!(
                "an event is not JSON ({error}): {}",
                excerpt(data)
            ))),
        }
    }

    fn parse(&mut self, data: &[u8]) -> serde_json::Result<Value> {
        if !self.surrogates.is_waiting()
            && let Ok(value) = serde_json::from_slice(data)
        {
            return Ok(value);
        }
        serde_json::from_slice(&self.surrogates.mend(data))
    }

    /// What the end of the body means for what was still open.
    fn finish(&mut self) -> Result<String, Failure> {
        if self.shape == Shape::Whole {
            return self.finish_whole();
        }
        if let Some(event) = self.events.end().map_err(too_long)? {
            let finished = self.answer.progress() == Progress::Finished;
            return match self.take(&event) {
                Err(failure) if failure.error.kind == ProviderErrorKind::Malformed => {
                    if finished {
                        Ok(String::new())
                    } else {
                        Err(Failure::cut("the stream ended inside an event"))
                    }
                }
                taken => taken,
            };
        }
        if !self.saw_event {
            return Err(match excerpt(&without_comments(&self.opening)).as_str() {
                "" => Failure::cut("the answer is empty"),
                text => Failure::malformed(format!("the answer is not a stream of events: {text}")),
            });
        }
        Ok(String::new())
    }

    fn finish_whole(&mut self) -> Result<String, Failure> {
        let text = self
            .opening
            .strip_prefix(b"\xEF\xBB\xBF")
            .unwrap_or(&self.opening);
        match serde_json::from_slice::<Value>(text) {
            Ok(body) if reports_error(&body) => Err(Failure::in_stream(&body)),
            Ok(body) => self.answer.whole(&body),
            Err(error) if error.is_eof() => {
                Err(Failure::cut("the answer ended inside a JSON document"))
            }
            Err(error) => Err(Failure::malformed(format!(
                "the answer is neither a stream of events nor JSON ({error}): {}",
                excerpt(&self.opening)
            ))),
        }
    }
}

/// Reads a refusal and says what it means.
async fn refusal(service: &Service, mut response: Response) -> Failure {
    let status = response.status().as_u16();
    let asked = asked_wait(response.headers(), || (service.now)());
    let should_retry = response
        .headers()
        .get("x-should-retry")
        .map(|value| value != "false");
    let mut body = Vec::new();
    while body.len() < REFUSAL_LIMIT {
        match tokio::time::timeout(service.idle_timeout.min(GRACE), response.chunk()).await {
            Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
            // What came so far has to do.
            _ => break,
        }
    }
    body.truncate(REFUSAL_LIMIT);
    let mut failure = Failure::of_status(status, &body);
    if let Some(hint) = service.hint(status) {
        failure.error.message.push_str("; ");
        failure.error.message.push_str(&hint);
    }
    failure.retryable &= should_retry.unwrap_or(true);
    failure.asked_wait = asked;
    failure
}

/// Lets a body come to its end in the background: a connection is used again only then, and
/// nobody has to wait for it.
fn drain(mut response: Response) {
    tokio::spawn(tokio::time::timeout(DRAIN, async move {
        while let Ok(Some(_)) = response.chunk().await {}
    }));
}

fn identified(mut failure: Failure, request_id: Option<String>) -> Failure {
    failure.error.request_id = failure.error.request_id.or(request_id);
    failure
}

fn shape_of(opening: &[u8]) -> Shape {
    let text = opening.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(opening);
    match text.trim_ascii_start().first() {
        None => Shape::Unknown,
        // The start of a byte order mark that is still coming.
        Some(0xEF) if text.len() < 3 => Shape::Unknown,
        Some(b'{' | b'[') => Shape::Whole,
        Some(_) => Shape::Events,
    }
}

/// An error record where a piece of an answer should be.
fn reports_error(data: &Value) -> bool {
    match data {
        Value::Object(members) => {
            let error = members.get("error").unwrap_or(&Value::Null);
            let is_response = members
                .get("object")
                .is_some_and(|object| object == "response");
            match error {
                Value::Null => ["type", "object"]
                    .iter()
                    .any(|name| members.get(*name).is_some_and(|kind| kind == "error")),
                Value::String(text) => !text.is_empty(),
                Value::Object(_) => !is_response,
                _ => false,
            }
        }
        Value::Array(items) => items.first().is_some_and(reports_error),
        _ => false,
    }
}

fn too_long(_: TooLong) -> Failure {
    Failure::malformed(format!(
        "a line of the answer is longer than {} MiB",
        EVENT_LIMIT >> 20
    ))
}

/// What a body holds besides the comments of an event stream, which keep connections alive.
fn without_comments(body: &[u8]) -> Vec<u8> {
    body.split_inclusive(|byte| matches!(byte, b'\n' | b'\r'))
        .filter(|line| !line.starts_with(b":"))
        .flatten()
        .copied()
        .collect()
}
