//! Why a prompt could not be made. Each names section and plugin.

use std::fmt;

use super::template::{Position, TemplateFault};
use crate::plugins::{Lifetime, PluginError};

/// Assembly failed: the turn fails, the prompt stays usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    /// The wanted agent is not offered.
    #[error("no plugin offers the agent `{agent}` ({})", Agents(known))]
    UnknownAgent {
        /// The wanted agent.
        agent: String,
        /// All agents there are, sorted.
        known: Vec<String>,
    },
    /// A section's text could not be rendered: all that is wrong with it.
    #[error("{}", Lines(.0))]
    Template(Vec<TemplateError>),
    /// A plugin failed when asked for texts.
    #[error("{error} (asked for {})", AskedFor(asked))]
    Plugin {
        /// What it was asked for in that call.
        asked: Vec<Asked>,
        /// Its error.
        error: Box<PluginError>,
    },
    /// A filter wants to change what cannot be changed.
    #[error("filter `{filter}` of plugin `{plugin}`: {message}")]
    Filter {
        /// The filter.
        filter: String,
        /// The plugin that owns it.
        plugin: String,
        /// What it wants, and why not.
        message: String,
    },
    /// A plugin gave another number of answers than it was asked questions.
    #[error("plugin `{plugin}` gave {given} answers to {} questions (asked for {})", asked.len(), AskedFor(asked))]
    Answers {
        /// The plugin.
        plugin: String,
        /// What it was asked for.
        asked: Vec<Asked>,
        /// How many answers came.
        given: usize,
    },
}

/// A section's text is at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("section `{section}` of plugin `{plugin}`, {position}: {}", self.advice())]
pub struct TemplateError {
    /// The section.
    pub section: String,
    /// The plugin that owns it.
    pub plugin: String,
    /// Where in its text: line:column, in characters, from 1.
    pub position: Position,
    /// What is wrong.
    pub fault: TemplateFault,
    /// The variables that could be referred to there, sorted: all, but for a valueless one those
    /// that have a value, and for a shorter-lived one those that live long enough.
    pub usable: Vec<String>,
}

impl TemplateError {
    /// What is wrong, what could be referred to instead, and how to write a literal `<<`.
    pub fn advice(&self) -> String {
        let usable = Usable(&self.fault, &self.usable);
        format!(
            r"{} ({usable}); a literal `<<` is written `\<<`",
            self.fault
        )
    }
}

/// A text a plugin was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// The text of a computed section; for a persona `agent:persona`.
    Section {
        /// Its name.
        section: String,
        /// How long the answer stays.
        lifetime: Lifetime,
    },
    /// The value of a computed variable.
    Variable {
        /// Its name.
        variable: String,
        /// How long the answer stays.
        lifetime: Lifetime,
        /// The sections that refer to it, in order.
        sections: Vec<String>,
    },
    /// The edits of the filter of this name.
    Filter(String),
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filter(name) => write!(formatter, "filter `{name}`"),
            Self::Section { section, .. } => write!(formatter, "section `{section}`"),
            Self::Variable {
                variable, sections, ..
            } => {
                write!(formatter, "variable `{variable}`")?;
                for (index, section) in sections.iter().enumerate() {
                    let lead = if index == 0 { " for section" } else { "," };
                    write!(formatter, "{lead} `{section}`")?;
                }
                Ok(())
            }
        }
    }
}

impl From<Vec<TemplateError>> for PromptError {
    fn from(errors: Vec<TemplateError>) -> Self {
        Self::Template(errors)
    }
}

struct Lines<'a>(&'a [TemplateError]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let lead = if index == 0 { "" } else { "\n" };
            write!(formatter, "{lead}{error}")?;
        }
        Ok(())
    }
}

struct Usable<'a>(&'a TemplateFault, &'a [String]);

impl fmt::Display for Usable<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(fault, usable) = self;
        formatter.write_str(match fault {
            TemplateFault::Valueless { .. } => "variables with a value: ",
            TemplateFault::ShorterLived { .. } => "variables that live as long: ",
            _ => "variables: ",
        })?;
        if usable.is_empty() {
            formatter.write_str("none")
        } else {
            formatter.write_str(&usable.join(", "))
        }
    }
}

struct AskedFor<'a>(&'a [Asked]);

impl fmt::Display for AskedFor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, asked) in self.0.iter().enumerate() {
            let lead = if index == 0 { "" } else { "; " };
            write!(formatter, "{lead}{asked}")?;
        }
        Ok(())
    }
}

struct Agents<'a>(&'a [String]);

impl fmt::Display for Agents<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            formatter.write_str("there are none")
        } else {
            write!(formatter, "there are: {}", self.0.join(", "))
        }
    }
}
