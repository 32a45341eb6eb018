//! The plugin runtime of the Raddle agent harness: loads WASM components, checks them against the
//! contract and the deployment's grants, and runs each call in a fresh instance.
//!
//! [`Runtime::load`] turns [`PluginSpec`]s into the `Plugin`s of `raddle-core`.

mod bindings;
mod cache;
mod conduct;
mod contract;
mod contributions;
mod deadline;
mod engine;
mod exports;
mod fault;
pub mod folder;
pub mod grants;
pub mod imports;
mod last_words;
mod limits;
mod load;
mod plugin;
mod refusal;
mod settings;
mod source;
mod visit;
mod weight;

pub use contract::{Interface, VERSION, VERSIONS};
pub use engine::Allocation;
pub use limits::Limits;
pub use load::{
    ComponentInfo, LoadProgress, Loaded, PluginSpec, Runtime, RuntimeFault, RuntimeSettings,
};
pub use refusal::{LoadFault, LoadReason};
pub use source::ComponentSource;
