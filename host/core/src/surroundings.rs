//! What comes in from outside: time, platform, branch, ids. Core reads none of them itself, so that
//! the same inputs give the same bytes.

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;

/// The world around a session.
pub trait Surroundings: Send + Sync {
    /// The current time: RFC 3339, UTC, milliseconds (`2026-01-31T12:00:00.000Z`).
    fn now(&self) -> String;

    /// The operating system and architecture (`linux x86_64`).
    fn platform(&self) -> String;

    /// The git branch checked out in `directory`, if it is in a repository.
    fn branch(&self, directory: &Path) -> Option<String>;

    /// A new id for a session: no two are alike. `None` where there are no random numbers.
    fn new_id(&self) -> Option<String>;

    /// Is done when so much time has passed.
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Tokens of a text. Without a tokenizer, four bytes are one.
    fn tokens(&self, text: &str) -> u64 {
        u64::try_from(text.len().div_ceil(4)).unwrap_or(u64::MAX)
    }
}
