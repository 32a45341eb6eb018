//! The plugin's answers, over real folders.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

mod collecting;
mod offering;
mod showing;
mod tree;
