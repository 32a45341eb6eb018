//! Tests of the plugin `bash`: what becomes of real commands' output.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod offer;
mod output;
mod shell;
