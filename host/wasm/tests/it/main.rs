//! The plugin runtime, from bytes to answers: guests are built from text, loaded and called.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something is not there"
)]

mod cache;
mod capabilities;
mod contributing;
mod grants;
mod guest;
mod importing;
mod isolation;
mod limits;
mod malformed;
mod refusals;
mod settings;
