//! What a guest wrote to stderr: kept in memory, bounded, and shown when it traps. Rust, Go and
//! Python put the message of a trap there.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes kept: the end of what was written.
const KEPT: usize = 4096;

/// A shared, bounded stderr.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    /// What was written last, trimmed; bytes that are not text are replaced.
    pub(crate) fn text(&self) -> String {
        let written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = &written[written.len().saturating_sub(KEPT)..];
        String::from_utf8_lossy(kept).trim().to_owned()
    }

    fn append(&self, bytes: &[u8]) {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        if written.len() > 2 * KEPT {
            let excess = written.len() - KEPT;
            written.drain(..excess);
        }
    }
}

impl IsTerminal for LastWords {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for LastWords {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for LastWords {
    async fn ready(&mut self) {}
}

impl OutputStream for LastWords {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.append(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for LastWords {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.append(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
