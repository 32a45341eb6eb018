//! Sessions: the event log and what is folded from it.

mod event;

pub use event::{CacheBreak, EndCause, Event, EventData, Generation, LoadedPlugin};
