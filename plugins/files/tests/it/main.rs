//! Tests of the plugin `files`: the pure edit, and every tool over a real folder.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod edit;
mod folder;
mod offer;
mod read;
mod tools;
mod versions;
