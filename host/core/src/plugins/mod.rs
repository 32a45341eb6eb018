//! The plugin side: what plugins contribute and how they are asked and called. `raddle-wasm`
//! implements these traits over components; tests implement them in memory.
//!
//! The types mirror `wit/`, so that core never sees the runtime.

mod asked;
mod children;
mod error;
mod filters;
mod held;
mod offer;
mod protocol;

use std::path::PathBuf;

use futures::future::BoxFuture;
use serde::Serialize;

pub use asked::{
    Caller, Context, Environment, Invocation, Outcome, Progress, Question, Reply, SessionServices,
};
pub use children::{
    AGENT_CAPABILITY, Assignment, Child, ChildLimits, ChildOutcome, ChildReport, ChildStart,
    ChildState, ChildWork, SubagentProvider,
};
pub use error::{DomainError, ErrorKind, Fault, LimitKind, PluginError};
pub use filters::{
    AssemblyEdit, Filter, FilterTarget, FilteredAssembly, FilteredRequest, FilteredSection,
    PlacedText, RequestEdit,
};
pub use held::Held;
pub use offer::{
    Agent, Content, Entry, Fact, Guidance, InjectionKind, Lifetime, Offer, Section, SkillEntry,
    Tool, Variable,
};
pub use protocol::{
    EndedCall, LoadedSkill, ModelAnswer, ModelPrompt, Moment, Occasion, Pressure, RuntimeFault,
};

use crate::digest::Digest;
use crate::message::Message;

/// One configured instance of a component.
pub trait Plugin: Send + Sync {
    /// What is known without running it.
    fn info(&self) -> &PluginInfo;

    /// Files and folders that it was made from: when one of them changes, loading it again may give
    /// another plugin.
    fn sources(&self) -> &[PathBuf] {
        &[]
    }

    /// Whether it failed so often that it is not called any more.
    fn is_quarantined(&self) -> bool {
        false
    }

    /// Everything it contributes in `environment`: a pure function of its settings and the
    /// environment.
    fn offer<'a>(
        &'a self,
        environment: &'a Environment,
    ) -> BoxFuture<'a, Result<Offer, PluginError>>;

    /// Asks for computed texts. All questions of one assembly share one instance; there is one
    /// answer for each question, in order. `None` is "no text" or "no value" for this prompt.
    fn answer<'a>(
        &'a self,
        questions: &'a [Question],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, PluginError>>;

    /// Calls one of its tools in a fresh instance. Dropping the future cancels the call and
    /// everything it started.
    fn call<'a>(
        &'a self,
        invocation: &'a Invocation,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, PluginError>>;

    /// Looks for what happened outside the conversation, where it exports `watchers`.
    fn observe<'a>(
        &'a self,
        occasion: &'a Occasion,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        let _ = (occasion, context, caller);
        lacks(self.info(), "watchers", "observe")
    }

    /// How many messages at the end are kept if the conversation is to be compacted now, where it
    /// exports `compaction`.
    fn decide<'a>(
        &'a self,
        pressure: &'a Pressure,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Option<usize>, PluginError>> {
        let _ = (pressure, context, caller);
        lacks(self.info(), "compaction", "decide")
    }

    /// What stands for messages that are cut, where it exports `compaction`.
    fn summarize<'a>(
        &'a self,
        messages: &'a [Message],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<String, PluginError>> {
        let _ = (messages, context, caller);
        lacks(self.info(), "compaction", "summarize")
    }

    /// Skills of its own and those they require, each once, where it exports `skills`.
    fn load_skills<'a>(
        &'a self,
        names: &'a [String],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<LoadedSkill>, PluginError>> {
        let _ = (names, context, caller);
        lacks(self.info(), "skills", "load")
    }

    /// Pointers to notes that were not told before, where it exports `knowledge`.
    fn hint<'a>(
        &'a self,
        recent: &'a [String],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        let _ = (recent, context, caller);
        lacks(self.info(), "knowledge", "hint")
    }

    /// How its filter `name` changes an assembly, where it exports `filters`.
    fn edit_assembly<'a>(
        &'a self,
        name: &'a str,
        assembly: &'a FilteredAssembly,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<AssemblyEdit>, PluginError>> {
        let _ = (name, assembly, context, caller);
        lacks(self.info(), "filters", "edit-assembly")
    }

    /// How its filter `name` changes a request, where it exports `filters`.
    fn edit_request<'a>(
        &'a self,
        name: &'a str,
        request: &'a FilteredRequest,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<RequestEdit>, PluginError>> {
        let _ = (name, request, context, caller);
        lacks(self.info(), "filters", "edit-request")
    }

    /// Runs a child until it has ended, where it exports `subagents`. Dropping the future ends
    /// what the plugin does for it.
    fn start<'a>(
        &'a self,
        assignment: &'a Assignment,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<ChildOutcome, PluginError>> {
        let _ = (assignment, context, caller);
        lacks(self.info(), "subagents", "start")
    }
}

/// The answer of a plugin that does not export an interface.
fn lacks<T: Send + 'static>(
    info: &PluginInfo,
    interface: &'static str,
    function: &'static str,
) -> BoxFuture<'static, Result<T, PluginError>> {
    let error = PluginError {
        plugin: info.id.clone(),
        interface: interface.to_owned(),
        function: function.to_owned(),
        fault: Fault::Load {
            message: format!("does not export {interface}"),
        },
    };
    Box::pin(std::future::ready(Err(error)))
}

/// What is known of a plugin without running it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginInfo {
    /// The id in the deployment: the key under `[plugins]`.
    pub id: String,
    /// Where it came from, as the deployment writes it (`std:bash`, a path).
    pub source: String,
    /// Digest of the component's bytes.
    pub digest: Digest,
    /// Digest of what else it was loaded with: settings, the files they name, grants and limits.
    /// Comparable within one process.
    #[serde(skip)]
    pub configuration: Digest,
    /// Digest of the folders that its settings name: texts that change by themselves.
    #[serde(skip)]
    pub data: Digest,
    /// `raddle:plugin` interfaces it exports, by name.
    pub exports: Vec<String>,
    /// Capabilities it imports, by name (`log`, `workspace`, `wasi:http`, …).
    pub imports: Vec<String>,
}

impl PluginInfo {
    /// Whether it imports the capability of this name.
    pub fn imports(&self, capability: &str) -> bool {
        self.imports.iter().any(|import| import == capability)
    }

    /// Whether it exports the contract's interface of this name.
    pub fn exports(&self, interface: &str) -> bool {
        self.exports.iter().any(|export| export == interface)
    }
}
