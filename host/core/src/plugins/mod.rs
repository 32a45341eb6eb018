//! The plugin side: what plugins contribute and how they are asked and called. `raddle-wasm`
//! implements these traits over components; tests implement them in memory.
//!
//! The types mirror `wit/`, so that core never sees the runtime.

mod asked;
mod error;
mod held;
mod offer;

use futures::future::BoxFuture;
use serde::Serialize;

pub use asked::{
    Caller, Context, Environment, Invocation, Outcome, Progress, Question, Reply, SessionServices,
};
pub use error::{DomainError, ErrorKind, Fault, LimitKind, PluginError};
pub use held::Held;
pub use offer::{
    Agent, Content, Entry, Fact, Guidance, InjectionKind, Lifetime, Offer, Section, Tool, Variable,
};

use crate::digest::Digest;

/// One configured instance of a component.
pub trait Plugin: Send + Sync {
    /// What is known without running it.
    fn info(&self) -> &PluginInfo;

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
    /// `raddle:plugin` interfaces it exports, by name.
    pub exports: Vec<String>,
    /// Capabilities it imports, by name (`log`, `workspace`, `wasi:http`, …).
    pub imports: Vec<String>,
}
