//! The capabilities behind `workspace` and `process`, with real files and real programs.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod process;
mod workspace;
