//! Child sessions: who runs them, what is asked for, and what becomes of them.

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use super::error::DomainError;
use super::offer::Fact;

/// A capability: the caller may name the agent that the child is.
pub const AGENT_CAPABILITY: &str = "agent";

/// Who runs children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentProvider {
    /// Its name; one owner for each.
    pub name: String,
    /// Whether a child begins with the completed turns of its parent. Descriptive: nothing is
    /// checked against it.
    pub inherits_parent_context: bool,
    /// What a start may ask for.
    pub capabilities: Vec<String>,
}

/// A child to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildStart {
    /// Name of the provider.
    pub provider: String,
    /// What it is to do.
    pub prompt: String,
    /// Name of the agent that it is.
    pub agent: Option<String>,
    /// Further wishes.
    pub options: Vec<Fact>,
    /// What it may use up.
    pub limits: ChildLimits,
}

/// What children may use up: the deployer's grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// How deep children may have children: 1 is children that have none.
    pub depth: u32,
    /// How many children of one session may run at the same time.
    pub children: usize,
    /// Most steps of one child.
    pub steps: Option<u32>,
    /// Most tokens of one child, of all its requests and answers together.
    pub tokens: Option<u64>,
    /// Wall clock of one child.
    pub time: Duration,
}

/// What a provider is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// Name of the provider.
    pub provider: String,
    /// Id of the child's session.
    pub session: String,
    /// What the child is to do.
    pub prompt: String,
    /// Name of the agent that it is.
    pub agent: Option<String>,
    /// Further wishes.
    pub options: Vec<Fact>,
}

/// How a child ended well.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChildOutcome {
    /// What it answered.
    pub text: String,
    /// For front ends.
    pub details: Option<Value>,
}

/// The same, for the caller.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildReport {
    /// Id of its session.
    pub session: String,
    /// How it ended.
    pub outcome: ChildOutcome,
}

/// How far a child is.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildState {
    /// It runs.
    Running,
    /// It ended well.
    Ended(ChildReport),
    /// It did not.
    Failed(DomainError),
}

/// How a provider wants a child to run in this host.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildWork {
    /// What it is to do.
    pub prompt: String,
    /// Name of the agent that it is; the parent's if absent.
    pub agent: Option<String>,
    /// Whether it begins with the completed turns of the parent.
    pub inherit: bool,
    /// What it may use up by the provider's own grant.
    pub limits: ChildLimits,
}

/// A child that a provider was asked to run.
pub trait Child: Send + Sync {
    /// Runs it as an agent in this host, once.
    fn run(&self, work: ChildWork) -> BoxFuture<'_, Result<ChildReport, DomainError>>;
}

impl ChildLimits {
    /// What both allow.
    pub fn and(self, other: Self) -> Self {
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        Self {
            depth: self.depth.min(other.depth),
            children: self.children.min(other.children),
            steps: self.steps.into_iter().chain(other.steps).min(),
            tokens: least(self.tokens, other.tokens),
            time: self.time.min(other.time),
        }
    }
}
