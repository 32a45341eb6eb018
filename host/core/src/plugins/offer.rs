//! What plugins contribute.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::children::SubagentProvider;
use super::filters::Filter;
use crate::session::injection::Kind;
use crate::session::skills::SkillKind;

/// How long a text stays as it is. Ordered from longest to shortest.
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
    /// Asked for with a [`Question`](super::Question).
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
    /// Injection kinds.
    pub injections: Vec<InjectionKind>,
    /// Skills that the host can make active.
    pub skills: Vec<SkillEntry>,
    /// Subagent providers.
    pub providers: Vec<SubagentProvider>,
    /// Filters.
    pub filters: Vec<Filter>,
}

/// A named, ordered piece of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name; one owner for each.
    pub name: String,
    /// Ascending, then by name: below 0 identity, 0 the persona, 100–199 tool guidance, 200–299
    /// protocol, 900 and up what changes.
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
    /// For front ends and scheduling: `title`, `kind`, `read-only`, `exclusive`, `protocol`, `display`.
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
    /// Agents it may hand over to.
    pub handoffs: Vec<String>,
    /// Globs on skill names; empty is all.
    pub skills: Vec<String>,
    /// Prompt variants it is for; empty is all.
    pub variants: Vec<String>,
    /// What it may say an answer was about; empty is anything.
    pub intents: Vec<String>,
    /// Further facts about it, as offered.
    pub metadata: Vec<Fact>,
}

/// A kind of injection and what it means; the meaning becomes section `injection:<name>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionKind {
    /// How its injections move.
    pub kind: Kind,
    /// Order of the section (protocol: 200–299).
    pub order: i32,
    /// What it means and what the agent does about it, a template.
    pub meaning: String,
}

/// A skill that the host can make active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillEntry {
    /// Its name; one owner for each.
    pub name: String,
    /// The condition that triggers it.
    pub description: String,
    /// What it is.
    pub kind: SkillKind,
    /// Where it comes from.
    pub path: String,
    /// For whom and when it is offered by itself: `applies-to`, `keywords`, `priority`.
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
