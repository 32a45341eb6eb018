//! Why a set of plugins is no deployment.

use std::fmt;

use crate::plugins::PluginError;
use crate::prompt::TemplateError;
use crate::prompt::template::{TemplateFault, nearest};

/// A fault in what the plugins contribute. All of them are found at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryFault {
    /// A plugin could not say what it offers.
    #[error(transparent)]
    Offer(#[from] PluginError),
    /// Two plugins have the same id.
    #[error("two plugins are called `{plugin}`")]
    DuplicatePlugin {
        /// The id.
        plugin: String,
    },
    /// What plugins offer depends on each other in a circle that never settles.
    #[error(
        "the offers of {} keep changing, because each depends on what the others offer; \
         what comes and goes: {}",
        Names("plugin", plugins), entries.join(", ")
    )]
    Unsettled {
        /// The plugins whose offers keep changing, sorted.
        plugins: Vec<String>,
        /// What comes and goes (`tool bash`), sorted.
        entries: Vec<String>,
    },
    /// A name has two owners.
    #[error(
        "{kind} `{name}` has two owners, {}: every {kind} has exactly one",
        Owners(first, second)
    )]
    Duplicate {
        /// What it names.
        kind: Kind,
        /// The name.
        name: String,
        /// The owner whose id sorts first.
        first: String,
        /// The other owner.
        second: String,
    },
    /// Two plugins would decide the same thing.
    #[error(
        "{} both export {interface}: a deployment has at most one plugin that does",
        Owners(first, second)
    )]
    SecondExport {
        /// The interface.
        interface: &'static str,
        /// The plugin whose id sorts first.
        first: String,
        /// The other one.
        second: String,
    },
    /// A name outside the grammar: nothing could refer to it.
    #[error("{kind} `{}` of plugin `{plugin}` has no valid name: {}", name.escape_debug(), kind.grammar())]
    Name {
        /// What it names.
        kind: Kind,
        /// The name as offered.
        name: String,
        /// The plugin that offers it.
        plugin: String,
    },
    /// A section took a name that the host gives.
    #[error(
        "section `{name}` of plugin `{plugin}`: the name is reserved for {}",
        purpose(name)
    )]
    Reserved {
        /// The name.
        name: String,
        /// The plugin that offers it.
        plugin: String,
    },
    /// A tool's name is too long for the models' APIs.
    #[error(
        "tool `{tool}` of plugin `{plugin}`: its name on the wire, `{wire}`, has {} bytes; at most {} are allowed",
        wire.len(), super::tool::LONGEST_WIRE_NAME
    )]
    LongToolName {
        /// The tool.
        tool: String,
        /// The plugin that offers it.
        plugin: String,
        /// The name on the wire.
        wire: String,
    },
    /// Two tools have the same name on the wire.
    #[error(
        "tools `{first_tool}` (plugin `{first}`) and `{second_tool}` (plugin `{second}`) are both \
         `{wire}` on the wire, where `.` is written `__`: rename one"
    )]
    WireCollision {
        /// The name on the wire.
        wire: String,
        /// The tool that sorts first.
        first_tool: String,
        /// Its owner.
        first: String,
        /// The other tool.
        second_tool: String,
        /// Its owner.
        second: String,
    },
    /// A tool's parameters are no JSON schema of an object.
    #[error(
        "tool `{tool}` of plugin `{plugin}`: its parameters are no JSON schema of an object: {message}"
    )]
    Parameters {
        /// The tool.
        tool: String,
        /// The plugin that offers it.
        plugin: String,
        /// What is wrong.
        message: String,
    },
    /// A tool's calls are to wait for each other by an argument that there is not.
    #[error(
        "tool `{tool}` of plugin `{plugin}`: its hint `exclusive` names `{argument}`, which is none \
         of its parameters"
    )]
    Exclusive {
        /// The tool.
        tool: String,
        /// The plugin that offers it.
        plugin: String,
        /// What the hint says.
        argument: String,
    },
    /// A filter is to run first that no plugin offers.
    #[error(
        "`[filters] order` names `{filter}`, which no plugin offers{}",
        Near(filter, known)
    )]
    UnknownOrderedFilter {
        /// The name.
        filter: String,
        /// All filters there are, sorted.
        known: Vec<String>,
    },
    /// An agent is to see a tool that no plugin offers.
    #[error(
        "agent `{agent}` of plugin `{plugin}`: its `tools` name `{tool}`, which no plugin offers{}",
        Near(tool, known)
    )]
    UnknownAgentTool {
        /// The agent.
        agent: String,
        /// The plugin that offers it.
        plugin: String,
        /// The name.
        tool: String,
        /// All tools there are, sorted.
        known: Vec<String>,
    },
    /// A section's text is at fault.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// `[tools] order` names a tool that no plugin offers.
    #[error(
        "`[tools] order` names `{tool}`, which no plugin offers{}",
        Near(tool, known)
    )]
    UnknownOrderedTool {
        /// The name.
        tool: String,
        /// All tools there are, sorted.
        known: Vec<String>,
    },
    /// `[tools] order` names a tool twice.
    #[error("`[tools] order` names `{tool}` twice")]
    OrderedTwice {
        /// The name.
        tool: String,
    },
}

/// What a name can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A section.
    Section,
    /// A variable.
    Variable,
    /// A tool.
    Tool,
    /// An agent.
    Agent,
    /// A kind of injection.
    Injection,
    /// A skill.
    Skill,
    /// A subagent provider.
    Provider,
    /// A filter.
    Filter,
}

impl RegistryFault {
    /// The plugin to leave out where it is `optional`: the one whose own offer is at fault.
    pub fn plugin(&self) -> Option<&str> {
        match self {
            Self::Offer(error) => Some(&error.plugin),
            Self::Template(error) => Some(&error.plugin),
            Self::DuplicatePlugin { plugin }
            | Self::Name { plugin, .. }
            | Self::Reserved { plugin, .. }
            | Self::LongToolName { plugin, .. }
            | Self::UnknownAgentTool { plugin, .. }
            | Self::Exclusive { plugin, .. }
            | Self::Parameters { plugin, .. } => Some(plugin),
            Self::Unsettled { .. }
            | Self::Duplicate { .. }
            | Self::SecondExport { .. }
            | Self::WireCollision { .. }
            | Self::UnknownOrderedTool { .. }
            | Self::UnknownOrderedFilter { .. }
            | Self::OrderedTwice { .. } => None,
        }
    }

    /// Whether it may be there only because a plugin that another fault names is missing.
    pub fn is_about_absence(&self) -> bool {
        match self {
            Self::Template(error) => matches!(error.fault, TemplateFault::Unknown { .. }),
            Self::UnknownOrderedTool { .. }
            | Self::UnknownOrderedFilter { .. }
            | Self::UnknownAgentTool { .. } => true,
            _ => false,
        }
    }
}

impl Kind {
    fn grammar(self) -> &'static str {
        match self {
            Self::Section => {
                "it starts with a lower-case letter and goes on in lower-case letters, digits and `_-.:`"
            }
            Self::Variable => "it has the form [a-z][a-z0-9_]*",
            Self::Tool => "it is made of letters, digits and `_-.`",
            Self::Injection => "it is one of the reserved tags",
            Self::Skill => "it is not empty and holds no white space",
            Self::Agent | Self::Provider | Self::Filter => {
                "it starts with a lower-case letter and goes on in lower-case letters, digits and `_-.`"
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Section => "section",
            Self::Variable => "variable",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Injection => "injection kind",
            Self::Skill => "skill",
            Self::Provider => "subagent provider",
            Self::Filter => "filter",
        })
    }
}

fn purpose(name: &str) -> &'static str {
    if name == super::PERSONA {
        "the active agent's body (offer an agent instead)"
    } else if name.starts_with(super::MEANING_PREFIX) {
        "what an injection kind means (offer it with the kind instead)"
    } else {
        "the guidance of a tool (offer it with the tool instead)"
    }
}

struct Owners<'a>(&'a str, &'a str);

impl fmt::Display for Owners<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(first, second) = self;
        if first == second {
            write!(formatter, "plugin `{first}` and again plugin `{first}`")
        } else {
            write!(formatter, "plugin `{first}` and plugin `{second}`")
        }
    }
}

struct Names<'a>(&'static str, &'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(kind, names) = self;
        let plural = if names.len() == 1 { "" } else { "s" };
        write!(formatter, "{kind}{plural} ")?;
        for (index, name) in names.iter().enumerate() {
            let lead = if index == 0 { "" } else { ", " };
            write!(formatter, "{lead}`{name}`")?;
        }
        Ok(())
    }
}

struct Near<'a>(&'a str, &'a [String]);

impl fmt::Display for Near<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, known) = self;
        if let Some(near) = nearest(name, known.iter().map(String::as_str)) {
            write!(formatter, "; did you mean `{near}`?")?;
        }
        if known.is_empty() {
            formatter.write_str(" (there are none)")
        } else {
            write!(formatter, " (there are: {})", known.join(", "))
        }
    }
}
