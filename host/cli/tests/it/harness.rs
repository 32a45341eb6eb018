//! A home of its own for each test, and the binary in it.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

/// Folders that nobody else uses.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

/// What a command did.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("work")).expect("a working folder");
        Self { folder }
    }

    /// The directory that commands run in.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where sessions and the like are kept.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Writes a file below the working directory.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.work().join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).expect("a folder for the file");
        }
        fs::write(&file, text).expect("the file is written");
        file
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).expect("the file can be read")
    }

    /// The binary, in the working directory, with folders of its own, no key and no terminal.
    pub(crate) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.data())
            .env("XDG_CACHE_HOME", shared_cache())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Done {
        Done::of(self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs and must end well.
    pub(crate) fn good<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        let done = self.run(arguments);
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        done.stdout
    }
}

impl Done {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

/// Compiled plugins are shared by all tests: what they hold does not depend on who asks.
fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// A server on loopback that gives its answers one after the other.
pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

/// What arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A stream of chunks, as OpenAI's chat API ends one.
pub(crate) fn sse(chunks: &[&str]) -> String {
    let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
    events.chain(["data: [DONE]\n\n".to_owned()]).collect()
}

impl Server {
    pub(crate) fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else {
                    return;
                };
                let request = serve(stream, &answer);
                seen.lock().expect("no panic").push(request);
            }
        });
        Self { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().expect("no panic").clone()
    }
}

fn serve(stream: TcpStream, answer: &str) -> Request {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).expect("a line"), 0, "{head}");
    }
    let lower = head.to_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length = length.expect("a length").trim().parse().expect("a number");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
    reader
        .get_mut()
        .write_all(reply.as_bytes())
        .expect("written");
    Request {
        head,
        body: String::from_utf8(body).expect("text"),
    }
}
