//! What plugins are asked for the session protocol, beside texts and calls.

use serde::Deserialize;

use crate::message::Message;
use crate::provider::Usage;
use crate::session::injection::Subject;
use crate::session::skills::{SkillKind, SkillStep};

/// How full a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pressure {
    /// Tokens of the request that is about to be sent.
    pub prompt_tokens: u64,
    /// Of these, the system text and the tools.
    pub fixed_tokens: u64,
    /// What the model can take, where the deployment says it.
    pub window_tokens: Option<u64>,
    /// Messages of the conversation.
    pub messages: usize,
    /// Compactions in a row that did not help.
    pub attempts: u32,
    /// Whether somebody asked for it.
    pub asked: bool,
}

/// When watchers look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before a model request.
    Step,
    /// The session is idle.
    Idle,
}

/// What watchers are told.
#[derive(Debug, Clone, PartialEq)]
pub struct Occasion {
    /// When it is.
    pub moment: Moment,
    /// Whether nobody looked yet since the session was opened.
    pub first: bool,
    /// Calls that ended since the last time.
    pub calls: Vec<EndedCall>,
    /// What went wrong in the host since the last time.
    pub faults: Vec<RuntimeFault>,
}

/// A call that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The tool's hint `kind`; empty if it has none.
    pub kind: String,
    /// What it changed or showed.
    pub artifact: Option<Subject>,
}

/// Something of the host's own that went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuntimeFault {
    /// Unique in the session.
    pub id: String,
    /// Kebab-case.
    pub code: String,
    /// One line.
    pub message: String,
}

/// A skill as its plugin gives it: `skill-activated` facts are this as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedSkill {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: SkillKind,
    /// Where it comes from.
    pub path: String,
    /// The skill it came along with, where it was not asked for itself.
    #[serde(default)]
    pub required_by: Option<String>,
    /// What the model reads of it, whole.
    pub text: String,
    /// Its checklist.
    #[serde(default)]
    pub steps: Vec<SkillStep>,
}

/// A model request of a plugin's own.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelPrompt {
    /// The system text.
    pub system: String,
    /// The messages.
    pub messages: Vec<Message>,
    /// Most tokens of the answer.
    pub max_tokens: u32,
}

/// The model's answer to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    /// The visible text.
    pub text: String,
    /// Token counts, where the service gave them.
    pub usage: Option<Usage>,
    /// Whether the answer was cut.
    pub truncated: bool,
}
