//! Messages of JSON-RPC 2.0, one on each line.

use raddle_sdk::Error;
use serde_json::{Value, json};

use crate::{Heard, Host};

/// Bytes of the longest line.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// A message from the agent.
#[derive(Debug)]
pub(crate) enum Message {
    /// To one of our requests.
    Response {
        id: u64,
        result: Result<Value, Refusal>,
    },
    /// It waits for an answer.
    Request {
        id: Value,
        method: String,
        parameters: Value,
    },
    Notification {
        method: String,
        parameters: Value,
    },
}

/// A request that was not served.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) message: String,
}

/// The lines of an agent.
#[derive(Default)]
pub(crate) struct Lines {
    waiting: Vec<u8>,
    /// How far `waiting` has no end of a line.
    searched: usize,
    requests: u64,
}

/// No such method, by JSON-RPC.
pub(crate) const NO_METHOD: i64 = -32601;

/// Wrong parameters, by JSON-RPC.
pub(crate) const BAD_PARAMETERS: i64 = -32602;

/// What went wrong inside, by JSON-RPC.
pub(crate) const INTERNAL: i64 = -32603;

/// The agent wants to be signed in, by the Agent Client Protocol.
pub(crate) const SIGN_IN: i64 = -32000;

/// There is no such thing, by the Agent Client Protocol.
pub(crate) const NOT_FOUND: i64 = -32002;

impl Lines {
    /// Sends a request; its number is in the response.
    pub(crate) fn request(
        &mut self,
        host: &mut impl Host,
        method: &str,
        parameters: &Value,
    ) -> Result<u64, Error> {
        let id = self.requests;
        self.requests += 1;
        let message = json!({
            "jsonrpc": "2.0", "id": id, "method": method, "params": parameters,
        });
        send(host, &message)?;
        Ok(id)
    }

    /// The next message. What is no message at all is passed over: some programs greet.
    ///
    /// # Errors
    ///
    /// `ended`: the agent ended. `line`: one line is too long.
    pub(crate) fn next(&mut self, host: &mut impl Host) -> Result<Message, Error> {
        loop {
            let line = self.line(host)?;
            if let Some(message) = parse(&line) {
                return Ok(message);
            }
        }
    }

    fn line(&mut self, host: &mut impl Host) -> Result<Vec<u8>, Error> {
        loop {
            let rest = &self.waiting[self.searched..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.waiting.drain(..=self.searched + end).collect();
                self.searched = 0;
                return Ok(line);
            }
            self.searched = self.waiting.len();
            if self.searched > MAX_LINE {
                let message = format!("the agent wrote a line over {MAX_LINE} bytes");
                return Err(Error::limit("line", message));
            }
            match host.read()? {
                Heard::Bytes(bytes) => self.waiting.extend(bytes),
                Heard::End => {
                    let message = "the agent ended before it had answered";
                    return Err(Error::failed("ended", message));
                }
            }
        }
    }
}

/// Answers a request of the agent.
pub(crate) fn respond(
    host: &mut impl Host,
    id: &Value,
    result: Result<Value, Refusal>,
) -> Result<(), Error> {
    let message = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(Refusal { code, message }) => json!({
            "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message },
        }),
    };
    send(host, &message)
}

fn send(host: &mut impl Host, message: &Value) -> Result<(), Error> {
    host.write(format!("{message}\n").as_bytes())
}

fn parse(line: &[u8]) -> Option<Message> {
    let mut message: Value = serde_json::from_slice(line).ok()?;
    let object = message.as_object_mut()?;
    let id = object.remove("id").filter(|id| !id.is_null());
    let method = object.remove("method");
    let parameters = object.remove("params").unwrap_or_default();
    match (method, id) {
        (Some(Value::String(method)), Some(id)) => Some(Message::Request {
            id,
            method,
            parameters,
        }),
        (Some(Value::String(method)), None) => Some(Message::Notification { method, parameters }),
        (None, Some(id)) => {
            let id = id.as_u64()?;
            let result = match object.remove("error") {
                None => Ok(object.remove("result").unwrap_or_default()),
                Some(error) => Err(Refusal {
                    code: error["code"].as_i64().unwrap_or(INTERNAL),
                    message: error["message"].as_str().unwrap_or_default().to_owned(),
                }),
            };
            Some(Message::Response { id, result })
        }
        _ => None,
    }
}
