//! The `raddle` binary, driven as a user drives it.
//!
//! The standard components must be built first: `cargo xtask components`.

mod command_line;
mod config;
mod deployments;
mod harness;
mod runs;
#[cfg(target_os = "linux")]
mod terminal;
