//! The guest side of the Raddle plugin contract: what a plugin written in Rust builds on.
//!
//! A plugin is a type that implements the `Guest` trait of every interface it offers, and one
//! [`export!`] line that names them:
//!
//! ```
//! use raddle_sdk::sections::Section;
//! use raddle_sdk::{Context, Environment, Error};
//!
//! struct Plugin;
//!
//! impl raddle_sdk::sections::Guest for Plugin {
//!     fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
//!         // Words stand in `prompts/`: `raddle_sdk::include_prompt!("greeting.md")`.
//!         Ok(vec![Section::fixed("greeting", 10, "You work for <<agent>>.")])
//!     }
//!
//!     fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
//!         Err(Error::not_found("section", format!("no computed section `{name}`")))
//!     }
//! }
//!
//! raddle_sdk::export!(Plugin: sections);
//! # fn main() {}
//! ```
//!
//! Built for `wasm32-wasip2` with `crate-type = ["cdylib", "rlib"]` that is a component which
//! exports only the named interfaces and imports only what it uses. On other targets nothing is
//! exported, so that the same crate is checked and tested natively. There the imports panic, so
//! keep what a plugin decides in plain functions; only the settings have a native stand-in,
//! [`testing::with_settings`].
//!
//! What every function means, and when the host calls it, stands in `wit/`, and from there in
//! the documentation of the traits and types here.

#[doc(hidden)]
pub mod __bindings;
mod constructors;
pub mod hosted;
mod input;
mod prompt;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;

pub use __bindings::imports::raddle::plugin::{
    inject, log, model, process, progress, session_state, sessions, skills_host, tasks, types,
    workspace,
};
pub use input::{arguments, settings, settings_files};
pub use prompt::trim_prompt;
pub use types::{Content, Context, Environment, Error, ErrorKind, Fact, Lifetime};

/// Export `sections`: named, ordered text.
pub mod sections {
    pub use crate::__bindings::sections::exports::raddle::plugin::sections::*;
}

/// Export `variables`: named values that sections refer to as `<<name>>`.
pub mod variables {
    pub use crate::__bindings::variables::exports::raddle::plugin::variables::*;
}

/// Export `tools`: tools, their guidance, and their calls.
pub mod tools {
    pub use crate::__bindings::tools::exports::raddle::plugin::tools::*;
}

/// Export `agents`: agents and their bodies.
pub mod agents {
    pub use crate::__bindings::agents::exports::raddle::plugin::agents::*;
}

/// Export `injections`: kinds of injections and what they mean.
pub mod injections {
    pub use crate::__bindings::injections::exports::raddle::plugin::injections::*;
    pub use crate::types::Delivery;
}

/// Export `watchers`: looking for what happened outside the conversation.
pub mod watchers {
    pub use crate::__bindings::watchers::exports::raddle::plugin::watchers::*;
}

/// Export `compaction`: when to compact, and the summary.
pub mod compaction {
    pub use crate::__bindings::compaction::exports::raddle::plugin::compaction::*;
    pub use crate::types::{Message, Role};
}

/// Export `skills`: skills that the host can make active by itself.
pub mod skills {
    pub use crate::__bindings::skills::exports::raddle::plugin::skills::*;
}

/// Export `knowledge`: pointers to notes.
pub mod knowledge {
    pub use crate::__bindings::knowledge::exports::raddle::plugin::knowledge::*;
}

/// Export `filters`: changes to an assembly or a request.
pub mod filters {
    pub use crate::__bindings::filters::exports::raddle::plugin::filters::*;
}

/// Export `subagents`: who runs children.
pub mod subagents {
    pub use crate::__bindings::subagents::exports::raddle::plugin::subagents::*;
    pub use crate::types::Provider;
}

/// Export `settings`: the schema of the plugin's own settings.
pub mod settings {
    pub use crate::__bindings::settings::exports::raddle::plugin::settings::*;
}

/// Exports a plugin's implementations: `export!(Plugin: sections, tools, settings);`.
///
/// Each name is an interface whose `Guest` trait the type implements. On targets other than
/// wasm32 this only checks that it does.
#[macro_export]
macro_rules! export {
    ($plugin:ident: $($interface:ident),+ $(,)?) => {
        $(
            #[cfg(target_arch = "wasm32")]
            $crate::__bindings::$interface::export!(
                $plugin with_types_in $crate::__bindings::$interface
            );
            #[cfg(not(target_arch = "wasm32"))]
            const _: fn() = {
                fn implements<T: $crate::$interface::Guest>() {}
                implements::<$plugin>
            };
        )+
    };
}
