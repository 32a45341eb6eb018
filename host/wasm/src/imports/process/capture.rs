//! Taking in what a program writes, with bounded memory.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::pin;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use super::Live;

const CHUNK: usize = 64 * 1024;

/// Bytes shown live of one command: a person reads no more, and front ends keep what they get.
const MAX_LIVE: usize = 1024 * 1024;

/// The ends of the pipes that the program writes to.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) output: OwnedFd,
    /// `None` when both streams go to `output`.
    pub(super) errors: Option<OwnedFd>,
}

/// Both streams of a program.
pub(super) struct Outputs<'a> {
    output: Stream,
    errors: Stream,
    live: Option<Live<'a>>,
    live_left: usize,
}

impl<'a> Outputs<'a> {
    pub(super) fn open(
        keep: u32,
        merge: bool,
        live: Option<Live<'a>>,
    ) -> io::Result<(Self, Written)> {
        let keep = keep as usize;
        let (output, output_written) = Stream::open(keep)?;
        let (errors, errors_written) = if merge {
            (Stream::closed(), None)
        } else {
            let (errors, written) = Stream::open(keep)?;
            (errors, Some(written))
        };
        let outputs = Self {
            output,
            errors,
            live,
            live_left: MAX_LIVE,
        };
        let written = Written {
            output: output_written,
            errors: errors_written,
        };
        Ok((outputs, written))
    }

    /// Reads while `other` runs, so that the program is never held up.
    pub(super) async fn during<F: Future>(&mut self, other: F) -> F::Output {
        let mut other = pin!(other);
        tokio::select! {
            biased;
            done = &mut other => return done,
            () = self.read_to_end() => {}
        }
        other.await
    }

    /// Reads what there is until nobody can write any more, for `limit` at most; says whether the
    /// end came.
    pub(super) async fn drain(&mut self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.read_to_end())
            .await
            .is_ok()
    }

    /// Which pipes these are, as `/proc` names them.
    pub(super) fn pipes(&self) -> Vec<String> {
        [&self.output, &self.errors]
            .into_iter()
            .filter_map(|stream| stream.name.clone())
            .collect()
    }

    /// What was kept of output and errors, and how much was left out of both.
    pub(super) fn finish(mut self) -> (Vec<u8>, Vec<u8>, u64) {
        if let Some(live) = &mut self.live {
            for stream in [&mut self.output, &mut self.errors] {
                let rest = stream.text.finish();
                if !rest.is_empty() {
                    live(&rest);
                }
            }
        }
        let (output, cut) = self.output.kept.finish();
        let (errors, cut_too) = self.errors.kept.finish();
        (output, errors, cut + cut_too)
    }

    /// Safe to drop half way: a read that was not finished has taken nothing.
    async fn read_to_end(&mut self) {
        while self.output.pipe.is_some() || self.errors.pipe.is_some() {
            let (stream, count) = tokio::select! {
                count = self.output.read() => (&mut self.output, count),
                count = self.errors.read() => (&mut self.errors, count),
            };
            let bytes = &stream.buffer[..count];
            stream.kept.push(bytes);
            if let Some(live) = &mut self.live
                && self.live_left > 0
            {
                let shown = &bytes[..count.min(self.live_left)];
                self.live_left -= shown.len();
                let text = stream.text.push(shown);
                if !text.is_empty() {
                    live(&text);
                }
            }
        }
    }
}

/// The end of a pipe that a program writes to, and what is kept of it.
pub(super) struct Stream {
    /// `None` when nobody can write to it any more.
    pipe: Option<Receiver>,
    name: Option<String>,
    buffer: Vec<u8>,
    kept: Kept,
    text: Text,
}

impl Stream {
    /// Keeps `keep` bytes; with the end that the program gets.
    pub(super) fn open(keep: usize) -> io::Result<(Self, OwnedFd)> {
        let (read, write) = io::pipe()?;
        let inode = rustix::fs::fstat(read.as_fd())?.st_ino;
        let stream = Self {
            pipe: Some(Receiver::from_owned_fd(read.into())?),
            name: Some(format!("pipe:[{inode}]")),
            buffer: vec![0; CHUNK],
            kept: Kept::new(keep),
            text: Text::default(),
        };
        Ok((stream, write.into()))
    }

    fn closed() -> Self {
        Self {
            pipe: None,
            name: None,
            buffer: Vec::new(),
            kept: Kept::new(0),
            text: Text::default(),
        }
    }

    /// Reads into the buffer: how many bytes came; 0 at the end, once. A closed stream never answers.
    /// Safe to drop half way.
    pub(super) async fn read(&mut self) -> usize {
        let count = match &mut self.pipe {
            // A pipe that cannot be read gives nothing more.
            Some(pipe) => pipe.read(&mut self.buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        };
        if count == 0 {
            self.pipe = None;
        }
        count
    }

    /// What was read last.
    pub(super) fn bytes(&self, count: usize) -> &[u8] {
        &self.buffer[..count]
    }

    /// Reads, and keeps what it is to keep.
    pub(super) async fn keep(&mut self) {
        let count = self.read().await;
        self.kept.push(&self.buffer[..count]);
    }

    /// Whether nobody can write to it any more.
    pub(super) fn is_closed(&self) -> bool {
        self.pipe.is_none()
    }

    /// What was kept, and how many bytes were left out.
    pub(super) fn kept(self) -> (Vec<u8>, u64) {
        self.kept.finish()
    }
}

/// The first and the last bytes of a stream.
struct Kept {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    omitted: u64,
}

impl Kept {
    fn new(limit: usize) -> Self {
        Self {
            head: Vec::new(),
            head_limit: limit.div_ceil(2),
            tail: VecDeque::new(),
            tail_limit: limit / 2,
            omitted: 0,
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(self.head_limit - self.head.len()));
        self.head.extend_from_slice(head);
        let last = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let over = (self.tail.len() + last.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..over);
        self.tail.extend(last);
        self.omitted += (over + rest.len() - last.len()) as u64;
    }

    fn finish(self) -> (Vec<u8>, u64) {
        let mut kept = self.head;
        let (front, back) = self.tail.as_slices();
        kept.extend_from_slice(front);
        kept.extend_from_slice(back);
        (kept, self.omitted)
    }
}

/// Bytes on their way to become text: the start of a character waits for its end.
#[derive(Default)]
struct Text {
    waiting: Vec<u8>,
}

impl Text {
    fn push(&mut self, bytes: &[u8]) -> String {
        self.waiting.extend_from_slice(bytes);
        let rest = self.waiting.split_off(complete(&self.waiting));
        let text = String::from_utf8_lossy(&self.waiting).into_owned();
        self.waiting = rest;
        text
    }

    fn finish(&mut self) -> String {
        let waiting = std::mem::take(&mut self.waiting);
        String::from_utf8_lossy(&waiting).into_owned()
    }
}

/// How many of `bytes` can be decoded now: all but a character that is only begun.
fn complete(bytes: &[u8]) -> usize {
    for (back, byte) in bytes.iter().rev().enumerate().take(3) {
        let length = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => break,
        };
        if length > back + 1 {
            return bytes.len() - back - 1;
        }
        break;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::{Kept, Text};

    /// What `Kept` keeps, said the slow way.
    fn expected(bytes: &[u8], limit: usize) -> (Vec<u8>, u64) {
        if bytes.len() <= limit {
            return (bytes.to_vec(), 0);
        }
        let head = &bytes[..limit.div_ceil(2)];
        let tail = &bytes[bytes.len() - limit / 2..];
        ([head, tail].concat(), (bytes.len() - limit) as u64)
    }

    #[test]
    fn head_and_tail_are_kept_however_the_bytes_arrive() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300).collect();
        for length in [0, 1, 2, 9, 10, 11, 12, 300] {
            for limit in [0, 1, 2, 3, 10, 11, 299, 300, 301] {
                for chunk in [1, 2, 3, 7, 300] {
                    let mut kept = Kept::new(limit);
                    for part in bytes[..length].chunks(chunk) {
                        kept.push(part);
                    }
                    assert_eq!(
                        kept.finish(),
                        expected(&bytes[..length], limit),
                        "length {length}, limit {limit}, chunk {chunk}"
                    );
                }
            }
        }
    }

    #[test]
    fn text_is_the_same_however_the_bytes_arrive() {
        for text in [
            "a語🦀é\u{301}b".as_bytes(),
            b"a\xe8\xaa\xff\xf0\x9f",
            b"\x80\x80\x80\x80z",
        ] {
            for chunk in 1..=text.len() {
                let mut decoder = Text::default();
                let mut decoded: String =
                    text.chunks(chunk).map(|part| decoder.push(part)).collect();
                decoded += &decoder.finish();
                assert_eq!(decoded, String::from_utf8_lossy(text), "chunk {chunk}");
            }
        }
    }
}
