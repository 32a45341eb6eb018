//! Tests of the plugin `web`: addresses, encodings, HTML as text, and fetching.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod address;
mod charset;
mod fetch;
mod html;
mod offer;
