//! One turn of an agent: from its start to its answer.

use std::collections::BTreeMap;

use raddle_sdk::process::Completed;
use raddle_sdk::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::messages::{
    BAD_PARAMETERS, INTERNAL, Lines, Message, NO_METHOD, NOT_FOUND, Refusal, SIGN_IN, respond,
};
use crate::{Host, Settings};

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;

/// Bytes of what an agent says that are kept.
const MAX_TEXT: usize = 512 * 1024;

/// Characters of its last words that an error repeats.
const MAX_LAST_WORDS: usize = 200;

/// A conversation with an agent that was just started.
pub struct Turn<'a, H> {
    host: &'a mut H,
    settings: &'a Settings,
    lines: Lines,
    /// What it said since it last did something.
    answer: String,
    /// The same before that.
    before: String,
    /// Kinds of its calls, by their ids.
    kinds: BTreeMap<String, String>,
}

impl<'a, H: Host> Turn<'a, H> {
    /// With an agent that `host` has started.
    pub fn of(host: &'a mut H, settings: &'a Settings) -> Self {
        Self {
            host,
            settings,
            lines: Lines::default(),
            answer: String::new(),
            before: String::new(),
            kinds: BTreeMap::new(),
        }
    }

    /// Has the agent do what `prompt` says, in `directory`, and gives what it said at the end.
    ///
    /// # Errors
    ///
    /// `unavailable`, code `protocol` or `sign-in`, if there is no talking with it; `limit`, code
    /// `tokens` or `steps`, if it reached one of its own; `failed`, code `refused`, `agent` (an error
    /// of its own) or `ended`; `cancelled`.
    pub fn run(mut self, directory: &str, prompt: &str) -> Result<String, Error> {
        let files = json!({ "readTextFile": true, "writeTextFile": true });
        let agreed = self.ask(
            "initialize",
            &json!({
                "protocolVersion": VERSION,
                "clientCapabilities": { "fs": files, "terminal": false },
                "clientInfo": { "name": "raddle", "version": env!("CARGO_PKG_VERSION") },
            }),
        )?;
        if agreed["protocolVersion"] != VERSION {
            let other = &agreed["protocolVersion"];
            let message =
                format!("the agent speaks version {other} of the protocol, not {VERSION}");
            return Err(Error::unavailable("protocol", message));
        }
        let begun = json!({ "cwd": directory, "mcpServers": [] });
        let begun = self.ask("session/new", &begun)?;
        let session = begun["sessionId"].as_str().ok_or_else(|| {
            Error::unavailable("protocol", "the agent gave its session no `sessionId`")
        })?;
        let text = json!({ "type": "text", "text": prompt });
        let ended = self.ask(
            "session/prompt",
            &json!({ "sessionId": session, "prompt": [text] }),
        )?;
        match ended["stopReason"].as_str() {
            Some("end_turn") => Ok(self.said()),
            Some("max_tokens") => Err(Error::limit("tokens", "the agent reached its token limit")),
            Some("max_turn_requests") => Err(Error::limit(
                "steps",
                "the agent reached its limit of requests",
            )),
            Some("cancelled") => Err(Error::cancelled("cancelled", "the agent was cancelled")),
            Some("refusal") => {
                let message = format!("the agent refused: {}", self.said());
                Err(Error::failed("refused", message.trim_end_matches(": ")))
            }
            other => {
                let message = format!("the agent stopped for an unknown reason: {other:?}");
                Err(Error::failed("agent", message))
            }
        }
    }

    /// What it said last: after all it did, if it said anything then.
    fn said(&self) -> String {
        let said = match self.answer.trim().is_empty() {
            true => &self.before,
            false => &self.answer,
        };
        said.trim().to_owned()
    }

    /// Sends a request, and serves the agent until it answers.
    fn ask(&mut self, method: &str, parameters: &Value) -> Result<Value, Error> {
        let asked = self.lines.request(self.host, method, parameters)?;
        loop {
            match self.lines.next(self.host)? {
                Message::Response { id, result } if id == asked => {
                    return result.map_err(|refusal| refused(method, &refusal));
                }
                Message::Response { .. } => {}
                Message::Request {
                    id,
                    method,
                    parameters,
                } => {
                    let served = self.serve(&method, &parameters);
                    respond(self.host, &id, served)?;
                }
                Message::Notification { method, parameters } => {
                    if method == "session/update" {
                        self.update(&parameters["update"]);
                    }
                }
            }
        }
    }

    fn update(&mut self, update: &Value) {
        if let (Some(id), Some(kind)) = (update["toolCallId"].as_str(), update["kind"].as_str()) {
            self.kinds.insert(id.to_owned(), kind.to_owned());
        }
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let text = update["content"]["text"].as_str().unwrap_or_default();
                self.host.say(text);
                let room = MAX_TEXT.saturating_sub(self.answer.len());
                self.answer
                    .push_str(&text[..text.floor_char_boundary(room)]);
            }
            Some("tool_call") => {
                if let Some(title) = update["title"].as_str() {
                    self.host.show(title);
                }
                if !self.answer.trim().is_empty() {
                    self.before = std::mem::take(&mut self.answer);
                }
            }
            // Thoughts, plans and how far a call is are the agent's own.
            _ => {}
        }
    }

    fn serve(&mut self, method: &str, parameters: &Value) -> Result<Value, Refusal> {
        match method {
            "session/request_permission" => Ok(self.permit(parameters)),
            "fs/read_text_file" => {
                let text = self.host.read_file(path(parameters)?).map_err(failed)?;
                Ok(json!({ "content": part(text, parameters) }))
            }
            "fs/write_text_file" => {
                let Some(text) = parameters["content"].as_str() else {
                    return Err(bad("`content` is missing"));
                };
                let path = path(parameters)?;
                self.host.write_file(path, text).map_err(failed)?;
                Ok(json!({}))
            }
            _ => Err(Refusal {
                code: NO_METHOD,
                message: format!("there is no {method} here"),
            }),
        }
    }

    /// Permits once what the deployment permits, and refuses everything else.
    fn permit(&self, parameters: &Value) -> Value {
        let call = &parameters["toolCall"];
        let known = call["toolCallId"]
            .as_str()
            .and_then(|id| self.kinds.get(id));
        let kind = call["kind"].as_str().or(known.map(String::as_str));
        let kind = kind.unwrap_or("other");
        let kinds = match self
            .settings
            .permit
            .iter()
            .any(|permitted| permitted == kind)
        {
            true => ["allow_once", "allow_always"],
            false => ["reject_once", "reject_always"],
        };
        let options = parameters["options"].as_array();
        let options = || options.into_iter().flatten();
        let chosen = kinds
            .iter()
            .find_map(|kind| options().find(|option| option["kind"] == *kind));
        match chosen {
            Some(option) => json!({
                "outcome": { "outcome": "selected", "optionId": option["optionId"] },
            }),
            None => json!({ "outcome": { "outcome": "cancelled" } }),
        }
    }
}

/// `error`, with what the program last wrote on its standard error.
pub(crate) fn with_last_words(error: Error, ended: &Completed) -> Error {
    if !matches!(error.kind, ErrorKind::Failed | ErrorKind::Unavailable) {
        return error;
    }
    let words = String::from_utf8_lossy(&ended.errors);
    let Some(last) = words.lines().rev().find(|line| !line.trim().is_empty()) else {
        return error;
    };
    let last: String = last.trim().chars().take(MAX_LAST_WORDS).collect();
    Error {
        message: format!("{}; it last wrote: {last}", error.message),
        ..error
    }
}

fn refused(method: &str, refusal: &Refusal) -> Error {
    let Refusal { code, message } = refusal;
    match *code {
        SIGN_IN => {
            let message = format!("the agent wants to be signed in, by hand: {message}");
            Error::unavailable("sign-in", message)
        }
        _ => Error::failed("agent", format!("{method} failed: {message} ({code})")),
    }
}

fn path(parameters: &Value) -> Result<&str, Refusal> {
    parameters["path"]
        .as_str()
        .ok_or_else(|| bad("`path` is missing"))
}

/// The lines that are asked for: `limit` from number `line` on, which counts from 1.
fn part(text: String, parameters: &Value) -> String {
    let number = |name: &str| {
        parameters[name]
            .as_u64()
            .and_then(|n| usize::try_from(n).ok())
    };
    if number("line").is_none() && number("limit").is_none() {
        return text;
    }
    let skipped = number("line").unwrap_or(1).saturating_sub(1);
    let lines = text.split_inclusive('\n').skip(skipped);
    lines.take(number("limit").unwrap_or(usize::MAX)).collect()
}

fn bad(message: &str) -> Refusal {
    Refusal {
        code: BAD_PARAMETERS,
        message: message.to_owned(),
    }
}

fn failed(error: Error) -> Refusal {
    Refusal {
        code: match error.kind {
            ErrorKind::NotFound => NOT_FOUND,
            _ => INTERNAL,
        },
        message: error.message,
    }
}
