//! An HTTP server on loopback that answers from a script, cut into pieces as told.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A running server. It ends with the runtime of its test.
pub(crate) struct Server {
    pub(crate) base_url: String,
    requests: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
}

/// A request as it arrived.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// One scripted answer.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Sizes of the writes; the rest goes in one.
    pub(crate) writes: Vec<usize>,
    pub(crate) end: End,
}

/// What comes after the body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Chunked transfer, then the connection goes on.
    Chunked,
    /// The connection is closed; nothing else says that the body is over.
    Close,
    /// Chunked transfer that is never ended: the connection breaks.
    Break,
    /// Nothing, ever.
    Silence,
    /// The body again and again, until the client has gone.
    Repeat,
    /// No answer at all: the connection is reset.
    Reset,
}

impl Reply {
    pub(crate) fn events(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream".into())],
            body: body.into(),
            writes: Vec::new(),
            end: End::Chunked,
        }
    }

    pub(crate) fn status(status: u16, headers: &[(&str, &str)], body: &str) -> Self {
        Self {
            status,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: body.as_bytes().to_vec(),
            writes: Vec::new(),
            end: End::Chunked,
        }
    }

    pub(crate) fn reset() -> Self {
        Self {
            end: End::Reset,
            ..Self::events("")
        }
    }

    pub(crate) fn in_writes_of(mut self, size: usize) -> Self {
        self.writes = vec![size; self.body.len() / size];
        self
    }

    pub(crate) fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

impl Server {
    /// Answers requests with `replies` in order, and with the last one ever after.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let connections: Arc<AtomicUsize> = Arc::default();
        let server = Self {
            base_url,
            requests: Arc::clone(&requests),
            connections: Arc::clone(&connections),
        };
        let replies = Arc::new(replies);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(socket, Arc::clone(&replies), Arc::clone(&requests)));
            }
        });
        server
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Seen {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

async fn serve(mut socket: TcpStream, replies: Arc<Vec<Reply>>, requests: Arc<Mutex<Vec<Seen>>>) {
    socket.set_nodelay(true).unwrap();
    let mut buffer = Vec::new();
    while let Some(seen) = read_request(&mut socket, &mut buffer).await {
        let reply = {
            let mut requests = requests.lock().unwrap();
            requests.push(seen);
            replies[(requests.len() - 1).min(replies.len() - 1)].clone()
        };
        if answer(&mut socket, &reply).await.is_err() || reply.end != End::Chunked {
            return;
        }
    }
}

async fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Seen> {
    loop {
        let head = &buffer[..buffer.len().min(16 << 10)];
        if let Some(end) = head.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
            let length: usize = head
                .lines()
                .find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().unwrap())
                })
                .unwrap_or(0);
            if buffer.len() >= end + 4 + length {
                let body = buffer[end + 4..end + 4 + length].to_vec();
                buffer.drain(..end + 4 + length);
                return Some(Seen { head, body });
            }
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

async fn answer(socket: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    if reply.end == End::Reset {
        socket.set_zero_linger()?;
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let chunked = !matches!(reply.end, End::Close);
    head.push_str(if chunked {
        "transfer-encoding: chunked\r\n\r\n"
    } else {
        "connection: close\r\n\r\n"
    });
    socket.write_all(head.as_bytes()).await?;
    let mut rest = &reply.body[..];
    for size in &reply.writes {
        let (piece, after) = rest.split_at((*size).min(rest.len()));
        rest = after;
        write_piece(socket, piece, chunked).await?;
    }
    write_piece(socket, rest, chunked).await?;
    match reply.end {
        End::Chunked => socket.write_all(b"0\r\n\r\n").await,
        End::Close | End::Reset => socket.shutdown().await,
        End::Break => {
            // A chunk that is announced and does not come.
            socket.write_all(b"ff\r\n").await?;
            socket.shutdown().await
        }
        End::Silence => {
            let mut byte = [0];
            // Until the client gives up.
            let _ = socket.read(&mut byte).await;
            Ok(())
        }
        End::Repeat => {
            for _ in 0..4096 {
                write_piece(socket, &reply.body, chunked).await?;
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(())
        }
    }
}

async fn write_piece(socket: &mut TcpStream, piece: &[u8], chunked: bool) -> std::io::Result<()> {
    if piece.is_empty() {
        return Ok(());
    }
    if chunked {
        let mut framed = format!("{:x}\r\n", piece.len()).into_bytes();
        framed.extend_from_slice(piece);
        framed.extend_from_slice(b"\r\n");
        socket.write_all(&framed).await?;
    } else {
        socket.write_all(piece).await?;
    }
    socket.flush().await
}
