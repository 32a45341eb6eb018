//! How asking and calling a plugin goes wrong.

use serde::{Deserialize, Serialize};

/// What went wrong, for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The input was wrong.
    Invalid,
    /// There is no such thing.
    NotFound,
    /// It is not allowed.
    Denied,
    /// It changed in the meantime.
    Conflict,
    /// A limit was reached.
    Limit,
    /// It is not there now.
    Unavailable,
    /// It was cancelled.
    Cancelled,
    /// Everything else.
    Failed,
}

/// A domain answer of a plugin or of a host import: not a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct DomainError {
    /// What kind.
    pub kind: ErrorKind,
    /// Open, kebab-case, stable.
    pub code: String,
    /// One line.
    pub message: String,
}

/// Running a plugin went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}`, {interface}.{function}: {fault}")]
pub struct PluginError {
    /// The plugin's id.
    pub plugin: String,
    /// The exported interface, or `component` before one was reached.
    pub interface: String,
    /// The function.
    pub function: String,
    /// What happened.
    pub fault: Fault,
}

/// Ways a plugin run ends badly.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The plugin answered with an error: a domain answer, the plugin is fine.
    #[error("{0}")]
    Domain(DomainError),
    /// The plugin trapped.
    #[error("trapped: {message}")]
    Trap {
        /// The trap and the guest's last words on stderr.
        message: String,
    },
    /// The plugin went over a limit of its own.
    #[error("went over its {limit} limit of {allowed}")]
    Limit {
        /// Which limit.
        limit: LimitKind,
        /// The limit in force, for people (`64 MiB`).
        allowed: String,
    },
    /// What it returned breaks the contract.
    #[error("returned a malformed value: {message}")]
    Malformed {
        /// What is wrong.
        message: String,
    },
    /// It failed so often in a row that it is not called any more.
    #[error("failed {strikes} times in a row and is not called any more, until it is loaded anew")]
    Quarantined {
        /// How often.
        strikes: u32,
    },
    /// As many of its calls run and wait as may.
    #[error("is busy: {running} calls of it run, and no more can wait")]
    Busy {
        /// How many run.
        running: usize,
    },
    /// The component could not be loaded or instantiated.
    #[error("{message}")]
    Load {
        /// Why, and the fix.
        message: String,
    },
}

/// Limits on one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Sum over all memories, the initial size included.
    Memory,
    /// Table elements.
    Tables,
    /// Native stack.
    Stack,
    /// Size of what a call returns.
    Output,
    /// Bytes a call may move through host calls.
    HostCalls,
    /// Wall clock, start functions and host calls included.
    Time,
}

impl std::fmt::Display for LimitKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Memory => "memory",
            Self::Tables => "table",
            Self::Stack => "stack",
            Self::Output => "output",
            Self::HostCalls => "host call",
            Self::Time => "time",
        })
    }
}

impl DomainError {
    /// An error of `kind` with a stable code and one line about it.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: code.to_owned(),
            message: message.into(),
        }
    }
}
