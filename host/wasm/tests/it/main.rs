//! The plugin runtime, from bytes to answers: guests are built from text, loaded and called. What
//! stands behind `workspace` and `process` is tested on its own as well, with real files and real
//! programs.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not there"
)]

mod cache;
mod capabilities;
mod conduct;
mod contributing;
mod folder;
mod grants;
mod guest;
mod importing;
mod isolation;
mod limits;
mod malformed;
mod process;
mod refusals;
mod settings;
mod workspace;
