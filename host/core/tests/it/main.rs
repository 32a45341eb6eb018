//! Tests of the core at its public seam.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod injections;
mod prompt;
mod session;
