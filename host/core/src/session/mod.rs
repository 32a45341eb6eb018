//! Sessions: the event log and what is folded from it.

pub mod compaction;
mod event;
pub mod injection;
pub mod skills;
mod state;
pub mod tasks;
mod transcript;
mod verify;

pub use event::{
    CacheBreak, Deviation, EndCause, Event, EventData, Generation, Inherited, LoadedPlugin,
};
pub use state::{ActiveNote, ExecutionState};
pub use transcript::Transcript;
pub use verify::{Mismatch, Verification, verify};
