//! The crate's promises, tested from outside: real requests to a real server on loopback.

mod conversation;
mod encoding;
mod failures;
mod pairing;
mod recordings;
mod server;
mod streams;
mod support;
