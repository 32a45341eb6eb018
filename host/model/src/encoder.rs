//! Request bodies, encoded once and only ever added to.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use raddle_core::digest::RunningDigest;
use raddle_core::message::Message;
use raddle_core::provider::{Body, Request, ToolSchema};
use raddle_core::transcript::{Entry, next_piece};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::answer::AnswerReader;

/// Members of a request body that `options` cannot set: they are the harness's own. Any other
/// member can be set, and taken out with `null`.
pub const RESERVED_OPTIONS: &[&str] = &[
    "input",
    "instructions",
    "messages",
    "model",
    "stream",
    "tools",
];

/// A wire protocol: how requests are written and answers are read.
pub(crate) trait Form: Send + Sync + 'static {
    /// Reads one answer.
    type Answer: AnswerReader;
    /// Where requests go, after the base URL.
    const PATH: &'static str;
    /// The member that holds the message array.
    const ARRAY: &'static str;

    /// Every other member of the body, in order, without the options.
    fn members(&self, request: &Request<'_>) -> Map<String, Value>;
    /// What stands in the message array before the transcript.
    fn opening(&self, request: &Request<'_>, array: &mut Array<'_>);
    /// Adds a piece of the transcript.
    fn entry(&self, entry: &Entry<'_>, array: &mut Array<'_>);
    /// A reader for one answer.
    fn answer(&self) -> Self::Answer;
}

/// The inside of a JSON array, added to at its end.
pub(crate) struct Array<'a> {
    out: &'a mut BytesMut,
    is_empty: bool,
}

/// One session's requests in one form.
///
/// The message array is the last member of the body, so everything up to its closing bracket,
/// and the digest of that, is carried on from request to request: in place, as soon as nobody sends
/// the last one any more.
pub(crate) struct Encoder<F> {
    form: Arc<F>,
    /// Which revision `settled` belongs to.
    revision: Option<u64>,
    /// The last body.
    last: Bytes,
    /// How much of it is settled: up to the last piece of the transcript that cannot change.
    settled: usize,
    digest: RunningDigest,
    /// How many messages `settled` holds.
    messages: usize,
    /// Ids of all calls ever seen; shared with the answer being read.
    call_ids: Arc<HashSet<String>>,
}

impl<F: Form> Encoder<F> {
    pub(crate) fn new(form: Arc<F>) -> Self {
        Self {
            form,
            revision: None,
            last: Bytes::new(),
            settled: 0,
            digest: RunningDigest::default(),
            messages: 0,
            call_ids: Arc::default(),
        }
    }

    /// Ids that no new call may have.
    pub(crate) fn call_ids(&self) -> Arc<HashSet<String>> {
        Arc::clone(&self.call_ids)
    }

    /// See [`raddle_core::provider::Conversation::encode`].
    pub(crate) fn encode(&mut self, request: &Request<'_>) -> Body {
        let mut body =
            if self.revision != Some(request.revision) || self.messages > request.messages.len() {
                self.restart(request)
            } else {
                self.go_on()
            };
        while let Some(piece) = next_piece(request.messages, self.messages) {
            note_call_ids(
                &mut self.call_ids,
                &request.messages[self.messages..piece.next],
            );
            if let Some(entry) = &piece.entry {
                self.form.entry(entry, &mut Array::at_end_of(&mut body));
            }
            if !piece.settled {
                // A batch that still lacks results is written for this request alone.
                break;
            }
            self.messages = piece.next;
            self.digest.update(&body[self.settled..]);
            self.settled = body.len();
        }
        body.extend_from_slice(b"]}");
        let mut digest = self.digest.clone();
        digest.update(&body[self.settled..]);
        self.last = body.freeze();
        Body {
            bytes: self.last.clone(),
            digest: digest.current(),
        }
    }

    /// The last body as far as it is settled: itself, or a copy while somebody still sends it.
    fn go_on(&mut self) -> BytesMut {
        let last = std::mem::take(&mut self.last);
        match last.try_into_mut() {
            Ok(mut body) => {
                body.truncate(self.settled);
                body
            }
            Err(last) => BytesMut::from(&last[..self.settled]),
        }
    }

    /// A body without messages.
    fn restart(&mut self, request: &Request<'_>) -> BytesMut {
        let mut members = self.form.members(request);
        for (name, value) in request.options {
            if RESERVED_OPTIONS.contains(&name.as_str()) {
                tracing::warn!(option = %name, "the harness sets this member itself");
            } else if value.is_null() {
                members.shift_remove(name);
            } else {
                members.insert(name.clone(), value.clone());
            }
        }
        let mut body = BytesMut::new();
        body.put_u8(b'{');
        for (name, value) in &members {
            write_json(&mut body, name);
            body.put_u8(b':');
            write_json(&mut body, value);
            body.put_u8(b',');
        }
        write_json(&mut body, F::ARRAY);
        body.extend_from_slice(b":[");
        self.form.opening(request, &mut Array::at_end_of(&mut body));
        self.digest = RunningDigest::default();
        self.digest.update(&body);
        self.settled = body.len();
        self.messages = 0;
        self.revision = Some(request.revision);
        body
    }
}

impl<'a> Array<'a> {
    fn at_end_of(out: &'a mut BytesMut) -> Self {
        let is_empty = out.ends_with(b"[");
        Self { out, is_empty }
    }

    /// Adds an element.
    pub(crate) fn push(&mut self, element: &impl Serialize) {
        if !self.is_empty {
            self.out.put_u8(b',');
        }
        self.is_empty = false;
        write_json(self.out, element);
    }
}

/// Members that describe the tools, where there are any.
pub(crate) fn tool_members(
    tools: &[ToolSchema],
    one: impl Fn(&ToolSchema) -> Value,
) -> impl Iterator<Item = (String, Value)> {
    // Services refuse `parallel_tool_calls` in a request without tools.
    let members = (!tools.is_empty()).then(|| {
        [
            ("tools".to_owned(), tools.iter().map(one).collect()),
            ("parallel_tool_calls".to_owned(), Value::Bool(true)),
        ]
    });
    members.into_iter().flatten()
}

/// A tool's name as services allow it (letters, digits, `_`, `-`; 64 bytes), because a name the
/// model made up would otherwise make every later request fail.
pub(crate) fn wire_name(name: &str) -> String {
    let mut wire = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '.' => wire.push_str("__"),
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => wire.push(c),
            _ => wire.push('_'),
        }
    }
    wire.truncate(64);
    wire
}

/// Arguments as they can be sent back: an object, because some services parse what they are sent.
/// Anything else becomes the one member `malformed`, so that the model still sees what it wrote.
pub(crate) fn wire_arguments(arguments: &str) -> std::borrow::Cow<'_, str> {
    if crate::answer::is_object(arguments) {
        arguments.into()
    } else {
        serde_json::json!({ "malformed": arguments })
            .to_string()
            .into()
    }
}

fn note_call_ids(known: &mut Arc<HashSet<String>>, messages: &[Arc<Message>]) {
    for message in messages {
        if let Message::Assistant(answer) = message.as_ref() {
            for call in answer.calls() {
                if !known.contains(&call.id) {
                    Arc::make_mut(known).insert(call.id.clone());
                }
            }
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "writing to memory cannot fail, and every map key here is a string"
)]
fn write_json(out: &mut BytesMut, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out.writer(), value).expect("plain data always has a JSON form");
}
