//! What plugins are asked, for whom, and what they answer.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::Value;

use super::children::{Child, ChildReport, ChildStart, ChildState, SubagentProvider};
use super::error::{DomainError, ErrorKind};
use super::held::Held;
use super::offer::{Entry, Fact, Lifetime};
use super::protocol::{ModelAnswer, ModelPrompt};
use crate::message::ToolCall;
use crate::session::injection::{Injection, Receipt, Subject};
use crate::session::skills::ActiveSkills;
use crate::session::tasks::{Task, TaskList};

/// What is present now. Lists are sorted by name, so that equal sets are equal values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    /// Agents of all plugins.
    pub agents: Vec<Entry>,
    /// Subagent providers of all plugins.
    pub providers: Vec<SubagentProvider>,
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
    /// Host-supplied facts by fixed names: `platform`, `preload` (session), `git-branch` (turn).
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
    /// The other calls in the same batch; those of other plugins without their arguments (`{}`).
    pub batch: Vec<ToolCall>,
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
    /// What the call changed or showed, and the state it is in now.
    pub artifact: Option<Subject>,
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
    /// The child that a provider was asked to run.
    pub child: Option<Arc<dyn Child>>,
}

/// What a session does for the plugins that run in it.
pub trait SessionServices: Send + Sync {
    /// The session's directory: what `"<session>"` means in a grant.
    fn directory(&self) -> Option<&Path>;

    /// What the plugin runtime keeps for this session.
    fn held(&self) -> &Held;

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

    /// The task list; empty where nothing runs.
    fn tasks(&self) -> TaskList {
        TaskList::default()
    }

    /// Changes the task list, if it is still at `revision`.
    fn replace_tasks(&self, revision: u32, tasks: Vec<Task>) -> Result<TaskList, DomainError> {
        let _ = (revision, tasks);
        Err(nothing_runs())
    }

    /// The active skills with their checklists; none where nothing runs.
    fn active_skills(&self) -> ActiveSkills {
        ActiveSkills::default()
    }

    /// Asks the session's model on behalf of `plugin`.
    fn ask_model<'a>(
        &'a self,
        plugin: &'a str,
        prompt: ModelPrompt,
    ) -> BoxFuture<'a, Result<ModelAnswer, DomainError>> {
        let _ = (plugin, prompt);
        Box::pin(std::future::ready(Err(nothing_runs())))
    }

    /// The time, RFC 3339; none where nothing runs.
    fn now(&self) -> Option<String> {
        None
    }

    /// Leaves an injection for the session, durable; gives the receipt of one that is known.
    fn send_injection(&self, injection: Injection) -> BoxFuture<'_, Result<Receipt, DomainError>> {
        let _ = injection;
        Box::pin(std::future::ready(Err(nothing_runs())))
    }

    /// What became of an injection.
    fn receipt(&self, id: &str) -> Option<Receipt> {
        let _ = id;
        None
    }

    /// The agent's deliberate dismissal of an injection that it was told.
    fn dismiss_injection(&self, id: &str, reason: &str) -> Result<Receipt, DomainError> {
        let _ = (id, reason);
        Err(nothing_runs())
    }

    /// Starts a child on behalf of `caller` and waits until it has ended. Dropping the future
    /// cancels the child.
    fn delegate(
        &self,
        caller: Caller,
        start: ChildStart,
    ) -> BoxFuture<'_, Result<ChildReport, DomainError>> {
        let _ = (caller, start);
        Box::pin(std::future::ready(Err(nothing_runs())))
    }

    /// Starts a child that goes on by itself; gives the id of its session.
    fn detach(
        &self,
        caller: Caller,
        start: ChildStart,
    ) -> BoxFuture<'_, Result<String, DomainError>> {
        let _ = (caller, start);
        Box::pin(std::future::ready(Err(nothing_runs())))
    }

    /// What became of a child of this session.
    fn child_state<'a>(
        &'a self,
        session: &'a str,
    ) -> BoxFuture<'a, Result<ChildState, DomainError>> {
        let _ = session;
        Box::pin(std::future::ready(Err(nothing_runs())))
    }

    /// Cancels a child of this session; says whether it still ran.
    fn cancel_child<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, DomainError>> {
        let _ = session;
        Box::pin(std::future::ready(Err(nothing_runs())))
    }

    /// Shows people what a running call does. Never model-visible.
    fn progress(&self, plugin: &str, call_id: Option<&str>, progress: Progress);
}

fn nothing_runs() -> DomainError {
    let message = "there is no running session here";
    DomainError::new(ErrorKind::Unavailable, "no-session", message)
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

impl Context {
    /// What a text of this lifetime may depend on: everything that lives shorter is absent.
    ///
    /// | lifetime | present |
    /// |---|---|
    /// | deployment | nothing |
    /// | session | agent, model, variant, session, cwd, facts `platform`, `preload` |
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
        "platform" | "preload" => Lifetime::Session,
        "git-branch" => Lifetime::Turn,
        _ => Lifetime::Step,
    }
}
