//! The interfaces that are served: what plugins may export, and what they may import.

use wasmtime::component::types::{Component as ComponentType, ComponentFunc};

use super::check;
use crate::bindings::{
    agents, compaction, filters, injections, sections, skills, subagents, tools, types, variables,
    watchers,
};

/// An exported interface and the check of each of its functions.
pub(super) struct Export {
    pub(super) name: &'static str,
    pub(super) functions: &'static [(&'static str, Check)],
}

/// An imported interface, and the line that grants it where that is needed.
pub(super) struct Import {
    pub(super) name: &'static str,
    pub(super) grant: Option<&'static str>,
}

/// Whether a function has the type that the generated bindings call it with.
pub(super) type Check = fn(&ComponentFunc, &ComponentType) -> wasmtime::Result<()>;

type Answer<T> = (Result<T, types::Error>,);
type OfEnvironment = (types::Environment,);

pub(super) static EXPORTS: [Export; 12] = [
    Export {
        name: "sections",
        functions: &[
            (
                "offer",
                check::<OfEnvironment, Answer<Vec<sections::Section>>>,
            ),
            (
                "render",
                check::<(String, types::Context), Answer<Option<String>>>,
            ),
        ],
    },
    Export {
        name: "variables",
        functions: &[
            (
                "offer",
                check::<OfEnvironment, Answer<Vec<variables::Variable>>>,
            ),
            (
                "resolve",
                check::<(String, types::Context), Answer<Option<String>>>,
            ),
        ],
    },
    Export {
        name: "tools",
        functions: &[
            ("offer", check::<OfEnvironment, Answer<Vec<tools::Tool>>>),
            (
                "call",
                check::<(tools::Invocation, types::Context), Answer<tools::Outcome>>,
            ),
        ],
    },
    Export {
        name: "agents",
        functions: &[
            ("offer", check::<OfEnvironment, Answer<Vec<agents::Agent>>>),
            ("load", check::<(String, types::Context), Answer<String>>),
        ],
    },
    Export {
        name: "injections",
        functions: &[(
            "offer",
            check::<OfEnvironment, Answer<Vec<injections::Kind>>>,
        )],
    },
    Export {
        name: "watchers",
        functions: &[(
            "observe",
            check::<(watchers::Occasion, types::Context), Answer<()>>,
        )],
    },
    Export {
        name: "compaction",
        functions: &[
            (
                "decide",
                check::<(compaction::Pressure, types::Context), Answer<Option<u32>>>,
            ),
            (
                "summarize",
                check::<(Vec<types::Message>, types::Context), Answer<String>>,
            ),
        ],
    },
    Export {
        name: "skills",
        functions: &[
            ("offer", check::<OfEnvironment, Answer<Vec<skills::Skill>>>),
            (
                "load",
                check::<(Vec<String>, types::Context), Answer<Vec<skills::Loaded>>>,
            ),
        ],
    },
    Export {
        name: "knowledge",
        functions: &[(
            "hint",
            check::<(Vec<String>, types::Context), Answer<Option<String>>>,
        )],
    },
    Export {
        name: "subagents",
        functions: &[
            (
                "offer",
                check::<OfEnvironment, Answer<Vec<types::Provider>>>,
            ),
            (
                "start",
                check::<(subagents::Assignment, types::Context), Answer<subagents::Outcome>>,
            ),
        ],
    },
    Export {
        name: "filters",
        functions: &[
            (
                "offer",
                check::<OfEnvironment, Answer<Vec<filters::Filter>>>,
            ),
            (
                "edit-assembly",
                check::<
                    (String, filters::Assembly, types::Context),
                    Answer<Vec<filters::AssemblyEdit>>,
                >,
            ),
            (
                "edit-request",
                check::<
                    (String, filters::Request, types::Context),
                    Answer<Vec<filters::RequestEdit>>,
                >,
            ),
        ],
    },
    Export {
        name: "settings",
        functions: &[("describe", check::<(), (String,)>)],
    },
];

pub(super) static IMPORTS: [Import; 12] = [
    Import::harmless("types"),
    Import::harmless("log"),
    Import::harmless("settings-host"),
    Import::harmless("session-state"),
    Import::harmless("progress"),
    Import::harmless("tasks"),
    Import::harmless("inject"),
    Import::harmless("skills-host"),
    Import::granted("sessions", "grants.sessions = { depth = 1 }"),
    Import::granted("model", "grants.model = { max_tokens = 4000 }"),
    Import::granted(
        "workspace",
        r#"grants.workspace = [{ dir = "<session>", mode = "ro" }]"#,
    ),
    Import::granted(
        "process",
        r#"grants.process = { programs = ["…"], cwd = "<session>" }"#,
    ),
];

pub(super) const HTTP_GRANT: &str = r#"grants.http = { hosts = ["…"] }"#;

impl Import {
    const fn harmless(name: &'static str) -> Self {
        Self { name, grant: None }
    }

    const fn granted(name: &'static str, line: &'static str) -> Self {
        Self {
            name,
            grant: Some(line),
        }
    }
}
