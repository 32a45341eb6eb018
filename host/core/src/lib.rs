//! The core of the Raddle agent harness: prompt, session, loop, and the traits the outer crates
//! implement. No I/O and no plugin runtime.

pub mod agent;
pub mod digest;
pub mod message;
pub mod plugins;
pub mod prompt;
pub mod provider;
pub mod registry;
pub mod session;
pub mod store;
pub mod surroundings;
pub mod transcript;
pub mod trust;
pub mod wire;
