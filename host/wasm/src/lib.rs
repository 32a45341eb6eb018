//! The plugin runtime of the Raddle agent harness.

pub mod grants;
