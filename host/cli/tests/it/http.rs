//! A client of the server under test, and the server itself.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::harness::Home;

/// `raddle serve`, ended when it is dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
}

/// A response: its head, and its body as it comes.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: Box<dyn std::io::BufRead>,
}

/// A server-sent event.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) event: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Served {
    pub(crate) fn start(home: &Home, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = home.command(["serve", "--listen", "127.0.0.1:0"]);
        command.args(arguments).envs(environment.iter().copied());
        let child = command.stdout(Stdio::piped()).spawn();
        Self::of(child.expect("the binary runs"))
    }

    /// A server whose standard output nobody has read yet.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("http://");
        let address = address.expect("the address").to_owned();
        Self { child, address }
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, "")
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let json = [("Content-Type", "application/json")];
        let headers: Vec<(&str, &str)> = json.iter().chain(headers).copied().collect();
        self.ask("POST", path, &headers, &body.to_string())
    }

    pub(crate) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        // Far more than anything here takes.
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a limit");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).expect("sent");
        // One that was refused early may have been closed.
        let _ = stream.write_all(body.as_bytes());
        Answer::read(stream)
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args([&format!("-{name}"), &*id])
            .status();
        assert!(kill.expect("kill runs").success());
    }

    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.wait().expect("an end").code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn read(stream: TcpStream) -> Self {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).expect("a head"), 0, "{head:?}");
        }
        let status = head.split(' ').nth(1).expect("a status");
        let status = status.parse().expect("a number");
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body: Box<dyn std::io::BufRead> = match is_chunked {
            true => Box::new(BufReader::new(Chunks { reader, left: 0 })),
            false => Box::new(reader),
        };
        Self { status, head, body }
    }

    pub(crate) fn text(mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).expect("a body");
        text
    }

    pub(crate) fn json(self) -> Value {
        let text = self.text();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The next event; none at the end.
    pub(crate) fn event(&mut self) -> Option<Sent> {
        let (mut event, mut id, mut data) = (String::new(), None, String::new());
        loop {
            let mut line = String::new();
            if self.body.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            let line = line.trim_end_matches('\n');
            if line.is_empty() && !data.is_empty() {
                let data = serde_json::from_str(&data).expect("JSON");
                return Some(Sent { event, id, data });
            }
            match line.split_once(": ") {
                Some(("event", value)) => value.clone_into(&mut event),
                Some(("id", value)) => id = Some(value.parse().expect("a number")),
                Some(("data", value)) => data.push_str(value),
                _ => {}
            }
        }
    }

    /// All events up to the end, or up to and with one of this type.
    pub(crate) fn events(&mut self, last: &str) -> Vec<Sent> {
        let mut events = Vec::new();
        while let Some(event) = self.event() {
            let is_last = event.event == last;
            events.push(event);
            if is_last {
                break;
            }
        }
        events
    }
}

/// A body in chunks.
struct Chunks {
    reader: BufReader<TcpStream>,
    left: usize,
}

impl std::io::Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let size = line.trim();
            let size = if size.is_empty() { "0" } else { size };
            self.left = usize::from_str_radix(size, 16).map_err(std::io::Error::other)?;
            if self.left == 0 {
                return Ok(0);
            }
        }
        let wanted = buffer.len().min(self.left);
        let count = self.reader.read(&mut buffer[..wanted])?;
        self.left -= count;
        if self.left == 0 {
            self.reader.read_line(&mut String::new())?;
        }
        Ok(count)
    }
}
