//! The `raddle` binary, driven as a user drives it.
//!
//! The standard components must be built first: `cargo xtask components`.

#![expect(
    clippy::expect_used,
    reason = "a test ends where something is not there"
)]

mod command_line;
mod config;
#[cfg(target_os = "linux")]
mod contract;
mod damage;
mod deployments;
mod endless;
mod examples;
mod exit_codes;
mod filters;
mod harness;
mod http;
mod injections;
mod killed;
#[cfg(target_os = "linux")]
mod outside;
mod programs;
mod protocol;
mod runs;
mod script;
mod serve;
mod session_protocol;
mod skills;
#[cfg(target_os = "linux")]
mod subagents;
mod terminal;
