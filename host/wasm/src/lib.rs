//! The plugin runtime of Raddle.

pub mod imports;
