//! The plugin side: what plugins contribute and how they are asked and called. `raddle-wasm`
//! implements these traits over components; tests implement them in memory.
//!
//! The types mirror `wit/`, so that core never sees the runtime.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::message::ToolCall;

/// One configured instance of a component.
pub trait Plugin: Send + Sync {
    /// What is known without running it.
    fn info(&self) -> &PluginInfo;

    /// Everything it contributes in `environment`: a pure function of its settings and the
    /// environment (DESIGN §5).
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

/// How long a text stays as it is (DESIGN §4). Ordered from longest to shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lifetime {
    /// The same for every session of a deployment.
    Deployment,
    /// Fixed once per session; with `Deployment` it makes up the cached prefix.
    Session,
    /// Fixed once per run.
    Turn,
    /// Asked for before every model request.
    Step,
}

/// Text that is known now, or asked for once per lifetime.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Known now.
    Fixed(String),
    /// Asked for with a [`Question`].
    Computed,
}

/// What a plugin contributes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// Prompt sections.
    pub sections: Vec<Section>,
    /// Prompt variables.
    pub variables: Vec<Variable>,
    /// Tools.
    pub tools: Vec<Tool>,
    /// Agents.
    pub agents: Vec<Agent>,
}

/// A named, ordered piece of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name; one owner for each.
    pub name: String,
    /// Ascending, then by name (bands: DESIGN §4).
    pub order: i32,
    /// Never scanned for `<<variables>>`.
    pub verbatim: bool,
    /// How long its text stays.
    pub lifetime: Lifetime,
    /// Its text.
    pub content: Content,
}

/// A named value that sections refer to as `<<name>>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `[a-z][a-z0-9_]*`; one owner for each.
    pub name: String,
    /// How long its value stays.
    pub lifetime: Lifetime,
    /// Its value.
    pub content: Content,
}

/// A tool and the guidance that belongs to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its name; one owner for each. Dots are allowed.
    pub name: String,
    /// When and how to use it.
    pub description: String,
    /// JSON schema of the arguments: an object.
    pub parameters: Value,
    /// Habits across calls; becomes section `tool:<name>`.
    pub guidance: Option<Guidance>,
    /// For front ends and scheduling: `title`, `kind`, `read-only`, `exclusive`.
    pub hints: Vec<Fact>,
}

/// The section that comes with a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guidance {
    /// Order of the section (tool guidance: 100–199).
    pub order: i32,
    /// Its text, a template.
    pub text: String,
}

/// An agent: its body is the persona, section `agent:persona` at order 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// Its name; one owner for each.
    pub name: String,
    /// One line about it.
    pub description: String,
    /// Its model; the deployment's if absent.
    pub model: Option<String>,
    /// Names of the tools it may see; empty is all.
    pub tools: Vec<String>,
    /// Further facts about it, as offered.
    pub metadata: Vec<Fact>,
}

/// A named open-ended value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A name with one line about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub description: String,
}

/// What is present now. Lists are sorted by name, so that equal sets are equal values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    /// Agents of all plugins.
    pub agents: Vec<Entry>,
    /// Tools of all plugins.
    pub tools: Vec<Entry>,
    /// Facts the host supplies.
    pub facts: Vec<Fact>,
}

/// For whom and when a text is asked. What lives shorter than the thing asked for is absent, so
/// that a deployment text cannot depend on a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// Name of the active agent.
    pub agent: Option<String>,
    /// Name of the model.
    pub model: Option<String>,
    /// Prompt variant; `base` if none was chosen.
    pub prompt_variant: Option<String>,
    /// Id of the session.
    pub session: Option<String>,
    /// Absolute path of the session's directory.
    pub cwd: Option<String>,
    /// Number of the run.
    pub turn: Option<u32>,
    /// Number of the step in its run.
    pub step: Option<u32>,
    /// RFC 3339, UTC.
    pub now: Option<String>,
    /// Host-supplied facts by fixed names: `platform` (session), `git-branch` (turn).
    pub facts: Vec<Fact>,
}

/// A computed text to ask for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// Text of the computed section of this name.
    Section(String),
    /// Value of the computed variable of this name.
    Variable(String),
    /// Body of the agent of this name: a template.
    Agent(String),
}

/// A tool call on its way to its plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// The call. Its arguments are a JSON object that matched the tool's schema.
    pub call: ToolCall,
    /// Names of the other calls in the same batch.
    pub batch: Vec<String>,
}

/// How a tool call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With a result for the model.
    Done(Reply),
    /// The run pauses until the user acts. Not yet served: the tool runner answers it as an error.
    NeedsUser {
        /// One line for the user.
        title: String,
    },
}

/// A tool's result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// What the model sees.
    pub text: String,
    /// For front ends; never model-visible.
    pub details: Option<Value>,
    /// The run ends when every result of its batch says so.
    pub terminate: bool,
    /// Further facts about the result.
    pub facts: Vec<Fact>,
}

/// On whose behalf a plugin runs: its imports act for this session. Without a session the
/// imports that need one answer `unavailable`.
#[derive(Clone, Default)]
pub struct Caller {
    /// The calling session.
    pub session: Option<Arc<dyn SessionServices>>,
    /// Id of the tool call being served.
    pub call_id: Option<String>,
}

/// What a session does for the plugins that run in it.
pub trait SessionServices: Send + Sync {
    /// The session's directory: what `"<session>"` means in a grant.
    fn directory(&self) -> Option<&Path>;

    /// Reads a key of `plugin`.
    fn get_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, DomainError>>;

    /// Sets (`Some`) or removes (`None`) a key of `plugin`.
    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), DomainError>>;

    /// Sets a key only if it still holds `expected`; says whether it did.
    fn swap_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, DomainError>>;

    /// The keys of `plugin` that start with `prefix`, sorted.
    fn list_state<'a>(
        &'a self,
        plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, DomainError>>;

    /// Shows people what a running call does. Never model-visible.
    fn progress(&self, plugin: &str, call_id: Option<&str>, progress: Progress);
}

/// What people see while a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// A line about the state of the call.
    Report {
        /// The line.
        message: String,
        /// How far it is, 0 to 100.
        percent: Option<u8>,
    },
    /// A piece of the output so far.
    Output(String),
    /// A message to the user.
    Say(String),
    /// An event for front ends; the payload is JSON.
    Emit {
        /// Name of the event.
        event: String,
        /// JSON text.
        payload: String,
    },
}

/// What went wrong, for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The input was wrong.
    Invalid,
    /// There is no such thing.
    NotFound,
    /// It is not allowed.
    Denied,
    /// It changed in the meantime.
    Conflict,
    /// A limit was reached.
    Limit,
    /// It is not there now.
    Unavailable,
    /// It was cancelled.
    Cancelled,
    /// Everything else.
    Failed,
}

/// A domain answer of a plugin or of a host import: not a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct DomainError {
    /// What kind.
    pub kind: ErrorKind,
    /// Open, kebab-case, stable.
    pub code: String,
    /// One line.
    pub message: String,
}

/// Running a plugin went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}`, {interface}.{function}: {fault}")]
pub struct PluginError {
    /// The plugin's id.
    pub plugin: String,
    /// The exported interface, or `component` before one was reached.
    pub interface: String,
    /// The function.
    pub function: String,
    /// What happened.
    pub fault: Fault,
}

/// Ways a plugin run ends badly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The plugin answered with an error: a domain answer, the plugin is fine.
    #[error("{0}")]
    Domain(DomainError),
    /// The plugin trapped.
    #[error("trapped: {message}")]
    Trap {
        /// The trap and the guest's last words on stderr.
        message: String,
    },
    /// The plugin went over a limit of its own.
    #[error("went over its {limit} limit of {allowed}")]
    Limit {
        /// Which limit.
        limit: LimitKind,
        /// The limit in force, for people (`64 MiB`).
        allowed: String,
    },
    /// What it returned breaks the contract.
    #[error("returned a malformed value: {message}")]
    Malformed {
        /// What is wrong.
        message: String,
    },
    /// The component could not be loaded or instantiated.
    #[error("{message}")]
    Load {
        /// Why, and the fix.
        message: String,
    },
}

/// Limits on one plugin (DESIGN §5, Isolation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Sum over all memories, the initial size included.
    Memory,
    /// Table elements.
    Tables,
    /// Native stack.
    Stack,
    /// Size of what a call returns.
    Output,
    /// Bytes a call may move through host calls.
    HostCalls,
    /// Wall clock, start functions and host calls included.
    Time,
}

impl std::fmt::Display for LimitKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Memory => "memory",
            Self::Tables => "table",
            Self::Stack => "stack",
            Self::Output => "output",
            Self::HostCalls => "host call",
            Self::Time => "time",
        })
    }
}

impl Context {
    /// What a text of this lifetime may depend on: everything that lives shorter is absent.
    ///
    /// | lifetime | present |
    /// |---|---|
    /// | deployment | nothing |
    /// | session | agent, model, variant, session, cwd, fact `platform` |
    /// | turn | also turn, now, fact `git-branch` |
    /// | step | everything |
    pub fn narrowed(&self, lifetime: Lifetime) -> Cow<'_, Self> {
        let facts = || {
            let lives = |fact: &&Fact| fact_lifetime(&fact.name) <= lifetime;
            self.facts.iter().filter(lives).cloned().collect()
        };
        match lifetime {
            Lifetime::Deployment => Cow::Owned(Self::default()),
            Lifetime::Session => Cow::Owned(Self {
                turn: None,
                step: None,
                now: None,
                facts: facts(),
                ..self.clone()
            }),
            Lifetime::Turn => Cow::Owned(Self {
                step: None,
                facts: facts(),
                ..self.clone()
            }),
            Lifetime::Step => Cow::Borrowed(self),
        }
    }
}

/// A fact this host does not know the lifetime of could change at any step.
fn fact_lifetime(name: &str) -> Lifetime {
    match name {
        "platform" => Lifetime::Session,
        "git-branch" => Lifetime::Turn,
        _ => Lifetime::Step,
    }
}

impl std::fmt::Display for Lifetime {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Deployment => "deployment",
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Step => "step",
        })
    }
}

impl Tool {
    /// The value of the hint `name`, if there is one.
    pub fn hint(&self, name: &str) -> Option<&str> {
        self.hints
            .iter()
            .find(|hint| hint.name == name)
            .map(|hint| hint.value.as_str())
    }
}

impl DomainError {
    /// An error of `kind` with a stable code and one line about it.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.to_owned(),
            message: message.into(),
        }
    }
}
