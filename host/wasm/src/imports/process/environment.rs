//! The environment of a program: nothing, plus what is harmless, plus what is granted.

use std::collections::BTreeMap;
use std::ffi::OsString;

use raddle_core::plugins::{DomainError, ErrorKind, Fact};

use super::Permissions;

/// Passed on from the host, as are the `LC_` variables.
const INHERITED: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER",
];

/// What a command may set without a grant: how output looks, nothing that runs or loads code.
const SETTABLE: [&str; 8] = [
    "CI", "COLUMNS", "LANG", "LC_ALL", "LINES", "NO_COLOR", "TERM", "TZ",
];

/// Where programs are looked for when the host has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Variables by name.
pub(super) type Variables = BTreeMap<String, OsString>;

/// What every program of a plugin starts with.
#[derive(Debug)]
pub(super) struct Environment {
    granted: Vec<String>,
    variables: Variables,
}

impl Environment {
    pub(super) fn new(permissions: &Permissions) -> Self {
        let inherited = |name: &str| {
            INHERITED.contains(&name)
                || name.starts_with("LC_")
                || permissions
                    .environment
                    .iter()
                    .any(|granted| granted == name)
        };
        let withheld = |name: &str| permissions.withheld.iter().any(|key| key == name);
        let mut variables: Variables = permissions
            .host_environment
            .iter()
            .filter(|(name, _)| inherited(name) && !withheld(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut default = |name: &str, value: &str| {
            variables
                .entry(name.to_owned())
                .or_insert_with(|| value.into());
        };
        default("PATH", DEFAULT_PATH);
        default("LANG", "C.UTF-8");
        variables.insert("TERM".to_owned(), "dumb".into());
        Self {
            granted: permissions.environment.clone(),
            variables,
        }
    }

    /// The environment of a command that sets variables of its own.
    pub(super) fn with(&self, own: &[Fact]) -> Result<Variables, DomainError> {
        let mut variables = self.variables.clone();
        for Fact { name, value } in own {
            if !SETTABLE.contains(&name.as_str()) && !self.granted.contains(name) {
                return Err(DomainError::new(
                    ErrorKind::Denied,
                    "variable",
                    format!("variable {name:?} is not in grants.process.env"),
                ));
            }
            variables.insert(name.clone(), value.into());
        }
        Ok(variables)
    }
}
