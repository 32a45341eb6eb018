//! The prompt: ordered sections with `<<variables>>`, contributed by plugins, assembled on one
//! path.
//!
//! A session owns one [`Prompt`]. [`Prompt::assemble`] is the only way text reaches the system
//! prompt. What lives for the deployment or the session is rendered once: the [`Prefix`].

pub mod template;

mod ask;
mod assembly;
mod cache;
mod cell;
mod error;
mod filter;
mod mentions;
mod prefix;
mod provenance;
mod restated;
mod tail;

pub use assembly::{Assembly, Dynamic, Prompt, PromptOptions};
pub use cache::cache_breaks;
pub use error::{Asked, PromptError, TemplateError};
pub use prefix::{Prefix, ToolList};
pub use provenance::{ContextPart, Explanation, Span};
pub use restated::{Finding, Problem, restated};
pub use tail::TailEntry;
