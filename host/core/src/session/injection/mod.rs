//! Typed injections: what happened outside the conversation, told to the model by rule.
//!
//! An injection is a notification, never the truth about an artifact. Its envelope, the kinds,
//! their delivery and the rules of the queue are those of `gamma-harness-design.txt`, "Runtime
//! injections". What a kind means to the model is its plugin's to say; here is only how it moves.

mod envelope;
mod kind;
mod queue;
mod receipt;

pub use envelope::{Actor, Delivery, Injection, InjectionFault, Origin, Source, Subject};
pub use kind::{Coalescing, Kind};
pub use queue::{Moment, Queue};
pub use receipt::Receipt;
