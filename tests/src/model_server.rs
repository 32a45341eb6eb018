//! A model service on loopback that answers at once, so that all the time that passes is the
//! harness's own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

/// Serves `/v1/responses` and `/v1/chat/completions`: first a number of calls of the tool `bash`
/// with the command `true`, one in each answer, then a closing text.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// One request and its answer.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// When its first byte was there.
    pub begun: Instant,
    /// When its last byte was there.
    pub arrived: Instant,
    /// When the answer's last byte was handed to the system.
    pub answered: Instant,
    /// Size of the request's body.
    pub bytes: usize,
}

struct Shared {
    calls: usize,
    on_last: Box<dyn Fn() + Send + Sync>,
    exchanges: Mutex<Vec<Exchange>>,
}

impl ModelServer {
    /// Starts a server that asks for `calls` calls. `on_last` runs when the last request has
    /// arrived, before it is answered: the client is alive then, and at its largest.
    ///
    /// # Errors
    /// If no port of the loopback interface can be had.
    pub fn start(calls: usize, on_last: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            calls,
            on_last: Box::new(on_last),
            exchanges: Mutex::new(Vec::new()),
        });
        std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for connection in listener.incoming().flatten() {
                    let shared = Arc::clone(&shared);
                    // A client that goes away ends its thread, and nothing else.
                    std::thread::spawn(move || shared.serve(connection));
                }
            }
        });
        Ok(Self { address, shared })
    }

    /// The base URL a harness is given: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// All exchanges so far, in order.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.exchanges().clone()
    }
}

impl Shared {
    fn exchanges(&self) -> MutexGuard<'_, Vec<Exchange>> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection until the client closes it.
    fn serve(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut reader = BufReader::with_capacity(1 << 16, connection.try_clone()?);
        while !reader.fill_buf()?.is_empty() {
            let begun = Instant::now();
            let (path, bytes) = read_request(&mut reader)?;
            let arrived = Instant::now();
            let number = self.exchanges().len();
            if number == self.calls {
                (self.on_last)();
            }
            let call = (number < self.calls).then(|| format!("call_{number}"));
            let body = match path.ends_with("/responses") {
                true => responses_answer(call),
                false => chat_answer(call),
            };
            // Noted before the answer is sent: the client may be quicker than this thread.
            self.exchanges().push(Exchange {
                begun,
                arrived,
                answered: Instant::now(),
                bytes,
            });
            write!(
                connection,
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                 transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                body.len()
            )?;
        }
        Ok(())
    }
}

/// Reads a request to its end; gives its path and the size of its body.
fn read_request(reader: &mut impl BufRead) -> io::Result<(String, usize)> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let header = line.trim_end();
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    io::copy(&mut reader.take(length), &mut io::sink())?;
    Ok((path, usize::try_from(length).map_err(io::Error::other)?))
}

/// An answer in the form of the responses API: the call, or the closing text.
fn responses_answer(call: Option<String>) -> String {
    let item = match call {
        Some(id) => json!({
            "type": "function_call", "id": format!("fc_{id}"), "call_id": id,
            "name": "bash", "arguments": r#"{"command":"true"}"#, "status": "completed",
        }),
        None => json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Done.", "annotations": []}],
        }),
    };
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "total_tokens": 110});
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": item}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
        json!({"type": "response.completed", "response": {
            "id": "resp_1", "status": "completed", "output": [item], "usage": usage,
        }}),
    ];
    let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", text(&data["type"]));
    events.iter().map(event).collect()
}

/// The same in the form of the chat completions API.
fn chat_answer(call: Option<String>) -> String {
    let (delta, finish) = match call {
        Some(id) => {
            let function = json!({"name": "bash", "arguments": r#"{"command":"true"}"#});
            let call = json!({"index": 0, "id": id, "type": "function", "function": function});
            (
                json!({"role": "assistant", "tool_calls": [call]}),
                "tool_calls",
            )
        }
        None => (json!({"role": "assistant", "content": "Done."}), "stop"),
    };
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    let chunk = |rest: Value| {
        let mut chunk = json!({
            "id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        });
        if let (Value::Object(chunk), Value::Object(rest)) = (&mut chunk, rest) {
            chunk.extend(rest);
        }
        format!("data: {chunk}\n\n")
    };
    let choice = |delta: Value, finish: Option<&str>| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    [
        chunk(choice(delta, None)),
        chunk(choice(json!({}), Some(finish))),
        chunk(json!({"choices": [], "usage": usage})),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
