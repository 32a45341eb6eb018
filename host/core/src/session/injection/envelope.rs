//! The envelope.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::kind::Kind;

/// The most bytes of a summary: it points at something, it does not carry it.
const LONGEST_SUMMARY: usize = 16 << 10;

/// The most bytes of an id, a reference, a path, a revision.
const LONGEST_NAME: usize = 1 << 10;

/// Something that happened outside the conversation. Shape: the seed's `RuntimeInjection`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Injection {
    /// Unique in its session: the same id again is the same injection.
    pub id: String,
    /// Name of its [`Kind`].
    pub kind: String,
    /// When it happened, RFC 3339: injections are delivered in this order.
    pub occurred_at: String,
    /// What kind of thing it comes from.
    pub source: Source,
    /// When it is delivered; absent is as its kind says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Whether somebody has to decide something about it: it is never coalesced, and it wakes an
    /// idle session with an active task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_decision: bool,
    /// What the model reads.
    pub summary: String,
    /// Of injections with the same key, the model is told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe_key: Option<String>,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Subject::is_empty")]
    pub subject: Subject,
    /// Who did it, in which interaction or call.
    #[serde(default, skip_serializing_if = "Origin::is_empty")]
    pub origin: Origin,
    /// For the harness and front ends; the model sees `change` of it, where its kind says so.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// What kind of thing an injection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A front end.
    Client,
    /// A service.
    Server,
    /// A tool.
    Tool,
    /// The workspace.
    Workspace,
    /// A job that goes on after its call.
    BackgroundJob,
}

/// When an injection reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// With the next user message.
    NextTurn,
    /// Before the next model request.
    Steer,
    /// After the run that is going on.
    FollowUp,
}

/// What an injection is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Subject {
    /// A stable reference: `gamma:file:g_123:d_456`.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A path in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The state it is in now: a digest or another mark.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl Subject {
    /// The same with its path as one inside of the session's `directory` is written: without `./`, and
    /// relative. What names the same file is then equal.
    #[must_use]
    pub fn inside(mut self, directory: Option<&str>) -> Self {
        if let Some(path) = &self.path {
            let directory = directory.map(|directory| directory.trim_end_matches('/'));
            let relative = directory.and_then(|directory| path.strip_prefix(directory));
            let relative = relative.and_then(|path| path.strip_prefix('/'));
            let parts = relative.unwrap_or(path).split('/');
            let kept: Vec<&str> = parts.filter(|part| *part != ".").collect();
            self.path = Some(kept.join("/"));
        }
        self
    }
}

/// Who did it, and in which interaction or call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Origin {
    /// Who.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// The front end's interaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interaction_id: Option<String>,
    /// The tool call whose result tells of it already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// Who changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The session's user.
    User,
    /// Somebody who works on the same thing.
    Collaborator,
    /// The agent itself.
    Agent,
    /// A service.
    Service,
}

/// Why an injection is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InjectionFault {
    /// Nobody offers such a kind.
    #[error("unknown kind `{kind}`: there are {known}")]
    UnknownKind {
        /// The kind.
        kind: String,
        /// The kinds there are.
        known: String,
    },
    /// `occurredAt` is no time.
    #[error("`{0}` is not a time: write RFC 3339, such as `2026-01-31T12:00:00Z`")]
    Time(String),
    /// A field has no text, or too much.
    #[error("`{field}` must have 1 to {most} bytes of text, it has {length}")]
    Length {
        /// The field.
        field: &'static str,
        /// The most it may have.
        most: usize,
        /// What it has.
        length: usize,
    },
}

impl Injection {
    /// Everything that is wrong with it.
    pub fn faults(&self, kinds: &[Kind]) -> Vec<InjectionFault> {
        let mut faults = Vec::new();
        if !kinds.iter().any(|kind| kind.name == self.kind) {
            let known: Vec<_> = kinds
                .iter()
                .map(|kind| format!("`{}`", kind.name))
                .collect();
            faults.push(InjectionFault::UnknownKind {
                kind: self.kind.clone(),
                known: if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                },
            });
        }
        if self.instant().is_none() {
            faults.push(InjectionFault::Time(self.occurred_at.clone()));
        }
        let subject = &self.subject;
        let fields = [
            ("id", LONGEST_NAME, Some(&self.id)),
            ("summary", LONGEST_SUMMARY, Some(&self.summary)),
            ("dedupeKey", LONGEST_NAME, self.dedupe_key.as_ref()),
            ("ref", LONGEST_NAME, subject.reference.as_ref()),
            ("path", LONGEST_NAME, subject.path.as_ref()),
            ("revision", LONGEST_NAME, subject.revision.as_ref()),
        ];
        for (field, most, text) in fields {
            let Some(text) = text else { continue };
            if text.trim().is_empty() || text.len() > most {
                let length = text.trim().len();
                faults.push(InjectionFault::Length {
                    field,
                    most,
                    length,
                });
            }
        }
        faults
    }

    /// The order of delivery: when it happened, then its id.
    pub fn order(&self, other: &Self) -> Ordering {
        (self.instant(), &self.id).cmp(&(other.instant(), &other.id))
    }

    /// Whether it happened before `other`, by the clock alone.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        self.instant() < other.instant()
    }

    fn instant(&self) -> Option<Timestamp> {
        self.occurred_at.parse().ok()
    }
}

impl Subject {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether both are about the same thing, in whatever state.
    pub fn is_same_thing(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        match (&self.reference, &other.reference) {
            (Some(_), Some(_)) => same(&self.reference, &other.reference),
            _ => same(&self.path, &other.path),
        }
    }
}

impl Actor {
    /// Its name in a tag.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Collaborator => "collaborator",
            Self::Agent => "agent",
            Self::Service => "service",
        }
    }
}

impl Origin {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
