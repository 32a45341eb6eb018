//! What spans crates: the loop over a real store, and the real binary.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

mod agent;
mod support;
