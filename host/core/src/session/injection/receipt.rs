//! What became of an injection.

use serde::{Deserialize, Serialize};

/// What became of an injection. Receipts are events: they survive a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The injection.
    pub id: String,
    /// What became of it.
    #[serde(flatten)]
    pub state: ReceiptState,
}

/// What became of an injection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ReceiptState {
    /// It waits.
    Queued,
    /// A newer one took its place.
    Coalesced {
        /// That one.
        into: String,
    },
    /// The model knows already.
    Suppressed {
        /// From where: a tool call, or another injection.
        because: String,
    },
    /// The model has been told, with the request of that run and step.
    Delivered {
        /// The run.
        run: u32,
        /// The step in it.
        step: u32,
    },
    /// The agent said that it does nothing about it.
    Dismissed {
        /// Why.
        reason: String,
    },
    /// It will not be delivered.
    Dropped {
        /// Why.
        because: String,
    },
}

impl ReceiptState {
    /// Whether nothing more becomes of it, but a dismissal of what was delivered.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Queued)
    }
}

impl std::fmt::Display for ReceiptState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Queued => write!(formatter, "queued"),
            Self::Coalesced { into } => write!(formatter, "coalesced into {into}"),
            Self::Suppressed { because } => write!(formatter, "suppressed because of {because}"),
            Self::Delivered { run, step } => write!(formatter, "delivered at {run}/{step}"),
            Self::Dismissed { reason } => write!(formatter, "dismissed: {reason}"),
            Self::Dropped { because } => write!(formatter, "dropped: {because}"),
        }
    }
}
