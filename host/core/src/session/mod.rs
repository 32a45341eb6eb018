//! Sessions: the event log and what is folded from it.

mod event;
pub mod injection;
pub mod skills;
pub mod tasks;
mod transcript;
mod verify;

pub use event::{CacheBreak, Deviation, EndCause, Event, EventData, Generation, LoadedPlugin};
pub use transcript::Transcript;
pub use verify::{Mismatch, Verification, verify};
