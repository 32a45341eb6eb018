//! The crate's promises, tested from outside: real requests to a real server on loopback.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod conversation;
mod encoding;
mod endless;
mod failures;
mod hostile;
mod pairing;
mod recordings;
mod server;
mod streams;
mod support;
