//! What keeps a plugin from loading, in words that say what to do.

use std::path::PathBuf;

use raddle_core::plugins::PluginError;

/// Something that keeps a plugin from loading.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}` {reason}{}", reason.under(plugin))]
pub struct LoadFault {
    /// The plugin's id.
    pub plugin: String,
    /// What is wrong.
    pub reason: LoadReason,
}

/// What keeps a plugin from loading. The texts go on after "plugin `x`".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadReason {
    /// Its file cannot be read.
    #[error("cannot be read: {path}: {message}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// Its file is empty.
    #[error("is an empty file")]
    Empty,
    /// It is a core module.
    #[error(
        "is a core module; a component is needed (build for wasm32-wasip2, or encode the module as a component)"
    )]
    CoreModule,
    /// It is text.
    #[error("is WebAssembly text; a binary component is needed")]
    Text,
    /// It does not start like WebAssembly.
    #[error("is not a WebAssembly component")]
    NotWasm,
    /// It is damaged, or uses what the runtime does not support.
    #[error("is not a valid component: {message}")]
    Invalid {
        /// What the compiler found.
        message: String,
    },
    /// It starts with more memory than its limit.
    #[error(
        "starts with {needed} of memory, over its limit of {allowed}; raise `limits.memory` or build it with less"
    )]
    Memory {
        /// What it starts with, for people.
        needed: String,
        /// Its limit, for people.
        allowed: String,
    },
    /// It imports a capability that it has no grant for.
    #[error("imports {import} without a grant; to allow it, add `{line}`")]
    NotGranted {
        /// The interface, or the package for `wasi:http`.
        import: String,
        /// The line to add under `[plugins.ID]`.
        line: &'static str,
    },
    /// Its programs must be held to their grant, and cannot be.
    #[error("requires a sandbox for its programs, and this machine has none: {message}")]
    NoSandbox {
        /// Why.
        message: String,
    },
    /// It imports what no host function stands behind.
    #[error("imports {interface}, which is not served; served are {served}")]
    UnknownImport {
        /// The import, with its version.
        interface: String,
        /// What there is.
        served: String,
    },
    /// It exports an interface of the contract's namespace that the contract does not have.
    #[error("exports {interface}, which this version does not have; it has {served}")]
    UnknownExport {
        /// The export, with its version.
        interface: String,
        /// What there is.
        served: String,
    },
    /// It was built for another version.
    #[error("{verb} {interface}, and this version serves {served}; build it against one of these")]
    Version {
        /// `imports` or `exports`.
        verb: &'static str,
        /// The interface, with the version it asks for.
        interface: String,
        /// The package and version that are served.
        served: String,
    },
    /// It exports nothing that a plugin can contribute.
    #[error("exports no interface of the plugin contract; it can export {served}")]
    NothingExported {
        /// What there is.
        served: String,
    },
    /// It exports something else under the name of an interface.
    #[error("exports {interface}, but not as an interface")]
    NotAnInterface {
        /// The export.
        interface: String,
    },
    /// An interface it exports lacks a function.
    #[error("exports {interface} without its function `{function}`")]
    MissingFunction {
        /// The interface, with its version.
        interface: String,
        /// The function.
        function: String,
    },
    /// A function it exports has another type.
    #[error(
        "exports `{function}` of {interface} with another type than the contract's: {difference}"
    )]
    WrongType {
        /// The interface, with its version.
        interface: String,
        /// The function.
        function: String,
        /// Where the types differ.
        difference: String,
    },
    /// What it imports does not fit what is served.
    #[error("cannot be linked: {message}")]
    Unlinkable {
        /// The import and the function that do not fit.
        message: String,
    },
    /// It has settings, but no way to read them.
    #[error("takes no settings, but has `{keys}`")]
    NoSettings {
        /// The keys.
        keys: String,
    },
    /// Its own schema for its settings is not one.
    #[error("describes its settings with something that is not a JSON schema: {message}")]
    SettingsSchema {
        /// What is wrong with it.
        message: String,
    },
    /// A setting breaks the plugin's schema.
    #[error("has a bad setting: {}{message}", at_key(key))]
    Setting {
        /// The key below `settings`, dotted; empty for the settings as a whole.
        key: String,
        /// How it breaks the schema.
        message: String,
    },
    /// A setting names a file or folder that cannot be read.
    #[error("has a bad setting: `{key}`: {path}: {message}")]
    SettingFile {
        /// The key below `settings`, dotted.
        key: String,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// It failed when asked for the schema of its settings.
    #[error("cannot say what its settings are: {0}")]
    Failed(Box<PluginError>),
}

impl LoadReason {
    /// Where a line that is to be added goes.
    fn under(&self, plugin: &str) -> String {
        match self {
            Self::NotGranted { .. } => format!(" under `[plugins.{plugin}]`"),
            _ => String::new(),
        }
    }
}

fn at_key(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!("`{key}`: ")
    }
}
