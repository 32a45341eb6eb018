//! What the plugin offers: its tools, in the words of `prompts/`.

use raddle_sdk::tools::{Guidance, Tool};
use raddle_sdk::{Fact, include_prompt};
use serde::Deserialize;

/// Order of the section `tool:read`.
const GUIDANCE_ORDER: i32 = 101;

/// Settings of the plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Stands before the name of every tool.
    pub prefix: String,
    /// The tools to offer.
    pub tools: Option<Vec<Kind>>,
}

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Shows lines of a file.
    Read,
    /// Writes a whole file.
    Write,
    /// Replaces exact text in a file.
    Edit,
    /// Lists a folder.
    List,
    /// Finds files by glob.
    Find,
    /// Searches lines by regular expression.
    Search,
}

impl Settings {
    /// The tools to offer, sorted by name.
    pub fn offered(&self) -> Vec<Tool> {
        Kind::ALL
            .into_iter()
            .filter(|kind| self.offers(*kind))
            .map(|kind| self.tool(kind))
            .collect()
    }

    /// The tool that the model calls `name`, if it is offered.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        let bare = name.strip_prefix(&self.prefix)?;
        Kind::ALL
            .into_iter()
            .find(|kind| kind.name() == bare && self.offers(*kind))
    }

    fn offers(&self, kind: Kind) -> bool {
        self.tools
            .as_ref()
            .is_none_or(|tools| tools.contains(&kind))
    }

    fn tool(&self, kind: Kind) -> Tool {
        Tool {
            name: format!("{}{}", self.prefix, kind.name()),
            description: kind.description().to_owned(),
            parameters: kind.parameters().to_owned(),
            guidance: (kind == Kind::Read).then(|| self.guidance()),
            hints: kind
                .hints()
                .iter()
                .map(|(name, value)| Fact::new(name, *value))
                .collect(),
        }
    }

    fn guidance(&self) -> Guidance {
        let name = format!("{}{}", self.prefix, Kind::Read.name());
        Guidance {
            order: GUIDANCE_ORDER,
            text: include_prompt!("read-guidance.md").replace("{tool}", &name),
        }
    }
}

impl Kind {
    /// All of them, sorted by name.
    pub const ALL: [Self; 6] = [
        Self::Edit,
        Self::Find,
        Self::List,
        Self::Read,
        Self::Search,
        Self::Write,
    ];

    /// Its name without a prefix.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::List => "list",
            Self::Find => "find",
            Self::Search => "search",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Read => include_prompt!("read.md"),
            Self::Write => include_prompt!("write.md"),
            Self::Edit => include_prompt!("edit.md"),
            Self::List => include_prompt!("list.md"),
            Self::Find => include_prompt!("find.md"),
            Self::Search => include_prompt!("search.md"),
        }
    }

    const fn parameters(self) -> &'static str {
        match self {
            Self::Read => include_prompt!("read.json"),
            Self::Write => include_prompt!("write.json"),
            Self::Edit => include_prompt!("edit.json"),
            Self::List => include_prompt!("list.json"),
            Self::Find => include_prompt!("find.json"),
            Self::Search => include_prompt!("search.json"),
        }
    }

    /// For front ends and scheduling. Two calls with the same `path` run in call order where one
    /// of them changes the file.
    const fn hints(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Read => &[
                ("title", "Read a file"),
                ("kind", "read"),
                ("read-only", "true"),
                ("exclusive", "path"),
                ("summary-argument", "path"),
            ],
            Self::Write => &[
                ("title", "Write a file"),
                ("kind", "edit"),
                ("exclusive", "path"),
                ("summary-argument", "path"),
            ],
            Self::Edit => &[
                ("title", "Edit a file"),
                ("kind", "edit"),
                ("exclusive", "path"),
                ("summary-argument", "path"),
            ],
            Self::List => &[
                ("title", "List a folder"),
                ("kind", "read"),
                ("read-only", "true"),
                ("summary-argument", "path"),
            ],
            Self::Find => &[
                ("title", "Find files"),
                ("kind", "search"),
                ("read-only", "true"),
                ("summary-argument", "glob"),
            ],
            Self::Search => &[
                ("title", "Search files"),
                ("kind", "search"),
                ("read-only", "true"),
                ("summary-argument", "pattern"),
            ],
        }
    }
}
