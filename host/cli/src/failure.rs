//! How a command ends when it does not end well, and what the process exits with.

use std::fmt;
use std::process::ExitCode;

use raddle_core::store::StoreError;

use crate::report::{Finding, one_line};

/// Why a command failed. The variants are the exit codes.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The thing checked is bad: 1.
    Bad(Vec<Finding>),
    /// The command was used wrongly: 2.
    Misuse(String),
    /// It could not be done, the provider or the machine being what it is: 3.
    Unable(anyhow::Error),
    /// The run was stopped: blocked, denied, or waiting for the user: 4.
    Stopped(String),
    /// Interrupted: 130.
    Interrupted,
}

impl Failure {
    /// What the process exits with.
    pub(crate) fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Bad(_) => 1,
            Self::Misuse(_) => 2,
            Self::Unable(_) => 3,
            Self::Stopped(_) => 4,
            Self::Interrupted => 130,
        })
    }

    /// A failure with a finding about the thing checked for each line of `message`.
    pub(crate) fn bad(message: impl AsRef<str>) -> Self {
        Self::Bad(message.as_ref().lines().map(Finding::new).collect())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Unable(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Damaged { .. } => Self::bad(error.to_string()),
            error => Self::Unable(error.into()),
        }
    }
}

impl fmt::Display for Failure {
    /// One line for each thing that is wrong.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bad(findings) => {
                for (index, finding) in findings.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "\n" };
                    write!(formatter, "{separator}{finding}")?;
                }
                Ok(())
            }
            Self::Misuse(message) | Self::Stopped(message) => {
                formatter.write_str(&one_line(message))
            }
            Self::Unable(error) => formatter.write_str(&one_line(&format!("{error:#}"))),
            Self::Interrupted => formatter.write_str("interrupted"),
        }
    }
}
