//! What the host does for plugins: the capabilities behind `workspace` and `process`, in plain
//! Rust. Nothing here knows the plugin runtime, so that the rules can be tested without one.

pub mod process;
pub mod workspace;
