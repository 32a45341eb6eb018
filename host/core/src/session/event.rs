//! The session log's events. A session is what its events say.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compaction::Compaction;
use super::injection::{Injection, Kind, Subject};
use super::skills::{ChecklistStep, SkillActivation};
use super::tasks::TaskList;
use crate::digest::Digest;
use crate::message::{AssistantMessage, Message, ToolCall};
use crate::provider::Usage;

/// One entry of the log, of `exec --json`, and of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Position in the session, from 1. 0 for what is never logged (`text.delta`).
    pub seq: u64,
    /// RFC 3339, UTC.
    pub time: String,
    /// The session's id.
    pub session: String,
    /// The run it belongs to, from 1; 0 before the first.
    pub run: u32,
    /// The step in its run, from 1; 0 before the first.
    pub step: u32,
    /// What happened.
    #[serde(flatten)]
    pub data: EventData,
    /// Whether a transcript shows it; the inspector shows all.
    pub display: bool,
}

/// What happened: `type` and `data` of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data")]
pub enum EventData {
    /// A run began.
    #[serde(rename = "run.started")]
    RunStarted {},
    /// The set of plugins and the prompt prefix the session uses from here on.
    #[serde(rename = "generation")]
    Generation(Generation),
    /// The user said something.
    #[serde(rename = "message.user")]
    UserMessage {
        /// The words, as written.
        text: String,
    },
    /// A tail entry became part of the transcript.
    #[serde(rename = "context", rename_all = "camelCase")]
    Context {
        /// The section it came from.
        section: String,
        /// The plugin that owns the section.
        plugin: String,
        /// The whole text of the developer message, tags included.
        text: String,
    },
    /// Something happened outside the conversation: it waits, unless the next event says otherwise.
    #[serde(rename = "injection.queued")]
    InjectionQueued(Box<Injection>),
    /// A newer injection took the place of one.
    #[serde(rename = "injection.coalesced")]
    InjectionCoalesced {
        /// The injection.
        id: String,
        /// The newer one.
        into: String,
    },
    /// The model knows already what an injection would tell.
    #[serde(rename = "injection.suppressed")]
    InjectionSuppressed {
        /// The injection.
        id: String,
        /// The call or the injection that told it.
        because: String,
    },
    /// The agent said that it does nothing about an injection.
    #[serde(rename = "injection.dismissed")]
    InjectionDismissed {
        /// The injection.
        id: String,
        /// Why.
        reason: String,
    },
    /// An injection will not be delivered.
    #[serde(rename = "injection.dropped")]
    InjectionDropped {
        /// The injection.
        id: String,
        /// Why.
        because: String,
    },
    /// An injection was delivered: it became part of the transcript.
    #[serde(rename = "injection.delivered")]
    InjectionDelivered {
        /// The injection.
        id: String,
        /// Its kind.
        kind: String,
        /// The whole text of the trusted message, tags included.
        text: String,
    },
    /// A piece of an answer as it streams. Never logged.
    #[serde(rename = "text.delta")]
    TextDelta {
        /// The piece.
        text: String,
    },
    /// An attempt at a model request failed before any output and is repeated. Never logged.
    #[serde(rename = "retry", rename_all = "camelCase")]
    Retry {
        /// Milliseconds until the next attempt.
        wait_ms: u64,
        /// Why.
        reason: String,
    },
    /// The model answered.
    #[serde(rename = "message.assistant", rename_all = "camelCase")]
    AssistantMessage {
        /// The whole answer.
        message: AssistantMessage,
        /// Digest of the exact request body it answers.
        request: Digest,
    },
    /// Token counts of the request just answered.
    #[serde(rename = "usage")]
    Usage(Usage),
    /// A tool call is about to be served.
    #[serde(rename = "tool.call", rename_all = "camelCase")]
    ToolCall {
        /// The call.
        #[serde(flatten)]
        call: ToolCall,
        /// The plugin that owns the tool; absent when no plugin does.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        plugin: Option<String>,
    },
    /// A tool call reports on itself. Never logged.
    #[serde(rename = "tool.progress", rename_all = "camelCase")]
    ToolProgress {
        /// The call, where one is being served.
        call_id: Option<String>,
        /// The plugin.
        plugin: String,
        /// A line or a piece of output.
        text: String,
    },
    /// A tool call was answered.
    #[serde(rename = "tool.result", rename_all = "camelCase")]
    ToolResult {
        /// The call answered.
        call_id: String,
        /// What the model sees.
        text: String,
        /// Whether the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        /// For front ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        /// What the call changed or showed, and the state it is in now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        artifact: Option<Subject>,
    },
    /// The agent told the user something, by a tool: shown once, whatever else is said.
    #[serde(rename = "yield", rename_all = "camelCase")]
    Yield {
        /// The call that did.
        call_id: String,
        /// The words.
        message: String,
        /// Whether the run ends with it and the user is to act.
        block_on_user: bool,
        /// What it was about, in the plugin's word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        intent: Option<String>,
        /// Required steps that were not followed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        deviations: Vec<Deviation>,
    },
    /// The task list changed.
    #[serde(rename = "task.changed")]
    TasksChanged(TaskList),
    /// A skill was loaded, by itself or with one that requires it.
    #[serde(rename = "skill.activated")]
    SkillActivated(Box<SkillActivation>),
    /// What became of the steps of an active skill changed.
    #[serde(rename = "checklist.changed")]
    ChecklistChanged {
        /// The skill.
        skill: String,
        /// All of its steps.
        steps: Vec<ChecklistStep>,
    },
    /// A note was read: its text outlasts compaction.
    #[serde(rename = "note.read")]
    NoteRead {
        /// The note.
        id: String,
        /// The state it was in.
        revision: String,
        /// Digest of what the model reads of it.
        text: Digest,
    },
    /// A note does not matter any more.
    #[serde(rename = "note.discarded")]
    NoteDiscarded {
        /// The note.
        id: String,
    },
    /// Pointers to notes became part of the transcript, as a trusted message of their own type.
    #[serde(rename = "note.hinted")]
    NotesHinted {
        /// The plugin that knows them.
        plugin: String,
        /// The whole text, tags included.
        text: String,
    },
    /// The tools of a deferred namespace are told of from the next request on.
    #[serde(rename = "tools.loaded")]
    ToolsLoaded {
        /// The namespace.
        namespace: String,
    },
    /// The earlier part of the conversation gave way to a summary.
    #[serde(rename = "compaction")]
    Compacted(Box<Compaction>),
    /// A plugin asked the model something of its own.
    #[serde(rename = "model.asked")]
    ModelAsked {
        /// The plugin.
        plugin: String,
        /// Digest of the exact request body.
        request: Digest,
        /// Token counts, where the service gave them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    /// The session begins with what another one said.
    #[serde(rename = "inherited")]
    Inherited(Box<Inherited>),
    /// A child of the session was started.
    #[serde(rename = "child.started", rename_all = "camelCase")]
    ChildStarted {
        /// Id of its session.
        child: String,
        /// The provider that runs it.
        provider: String,
        /// The plugin that owns the provider.
        plugin: String,
        /// The call that started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
    },
    /// A child of the session ended.
    #[serde(rename = "child.ended", rename_all = "camelCase")]
    ChildEnded {
        /// Id of its session.
        child: String,
        /// The code of what kept it from its answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A plugin kept failing and is not called any more, until it is loaded anew.
    #[serde(rename = "plugin.quarantined")]
    PluginQuarantined {
        /// The plugin.
        plugin: String,
    },
    /// A call was allowed or denied, by a rule or by the user.
    #[serde(rename = "permission", rename_all = "camelCase")]
    Permission {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it may run.
        allowed: bool,
        /// `rule`, `hint`, `user`, or `no-terminal`.
        by: String,
    },
    /// The prefix or the tool list changed under a session.
    #[serde(rename = "cache.break")]
    CacheBreak(CacheBreak),
    /// Something failed.
    #[serde(rename = "error")]
    Error {
        /// Stable, kebab-case.
        code: String,
        /// One line.
        message: String,
    },
    /// A run ended.
    #[serde(rename = "run.ended")]
    RunEnded {
        /// Why.
        cause: EndCause,
    },
    /// The last event of a run, for scripts.
    #[serde(rename = "done")]
    Done {
        /// The answer's text.
        message: String,
        /// What it was about: one of the active agent's `intents`, else [`ANSWER`](Self::ANSWER).
        #[serde(default = "EventData::answer")]
        intent: String,
    },
}

/// A required step that was not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deviation {
    /// Which.
    pub step: String,
    /// Why.
    pub reason: String,
}

/// What a session's prompt is made from. Texts are stored once, under their digests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Generation {
    /// The loaded plugins, by id.
    pub plugins: Vec<LoadedPlugin>,
    /// The active agent.
    pub agent: Option<String>,
    /// The provider kind (`openai-responses`, …).
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// Further members of every request body.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub options: serde_json::Map<String, Value>,
    /// The kinds of injections it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub injection_kinds: Vec<Kind>,
    /// Digest of the system prompt.
    pub system: Digest,
    /// Digest of the tool list as JSON.
    pub tools: Digest,
}

/// A plugin of a generation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedPlugin {
    /// Its id.
    pub id: String,
    /// Digest of its component.
    pub digest: Digest,
}

/// What a session took over from its parent when it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inherited {
    /// The parent.
    pub from: String,
    /// The parent's completed turns.
    pub messages: Vec<Message>,
}

/// Where a cached prefix stopped being one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheBreak {
    /// `system` or `tools`.
    pub part: String,
    /// The plugin whose words differ; absent when a plugin left.
    pub plugin: Option<String>,
    /// The section or tool that differs.
    pub name: Option<String>,
    /// The first differing byte of the part.
    pub at: usize,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    /// The model answered in text and asked for nothing more.
    Answered,
    /// Every result of a batch said that the run ends.
    Yielded,
    /// The user cancelled.
    Cancelled,
    /// The answer was cut by the output limit or withheld.
    Cut,
    /// Something failed; an `error` event says what.
    Failed,
    /// The process ended during the run; found when the session was next opened.
    Interrupted,
    /// The limit of steps in one run was reached.
    StepLimit,
    /// The limit of tokens in one run was reached.
    TokenLimit,
}

impl EventData {
    /// What an answer was about that says nothing else.
    pub const ANSWER: &'static str = "answer";

    fn answer() -> String {
        Self::ANSWER.to_owned()
    }

    /// Every type there is: what stands under `type`.
    pub const TYPES: [&'static str; 36] = [
        "cache.break",
        "checklist.changed",
        "child.ended",
        "child.started",
        "compaction",
        "context",
        "done",
        "error",
        "generation",
        "inherited",
        "injection.coalesced",
        "injection.delivered",
        "injection.dismissed",
        "injection.dropped",
        "injection.queued",
        "injection.suppressed",
        "message.assistant",
        "message.user",
        "model.asked",
        "note.discarded",
        "note.hinted",
        "note.read",
        "permission",
        "plugin.quarantined",
        "retry",
        "run.ended",
        "run.started",
        "skill.activated",
        "task.changed",
        "text.delta",
        "tool.call",
        "tool.progress",
        "tool.result",
        "tools.loaded",
        "usage",
        "yield",
    ];

    /// Whether the event is part of the log; the others are only shown.
    pub fn is_logged(&self) -> bool {
        !matches!(
            self,
            Self::TextDelta { .. } | Self::Retry { .. } | Self::ToolProgress { .. }
        )
    }

    /// Whether a transcript shows it.
    pub fn is_displayed(&self) -> bool {
        matches!(
            self,
            Self::UserMessage { .. }
                | Self::AssistantMessage { .. }
                | Self::TextDelta { .. }
                | Self::ToolCall { .. }
                | Self::ToolResult { .. }
                | Self::Yield { .. }
                | Self::TasksChanged(_)
                | Self::ChecklistChanged { .. }
                | Self::SkillActivated(_)
                | Self::Compacted(_)
                | Self::Error { .. }
        )
    }
}
