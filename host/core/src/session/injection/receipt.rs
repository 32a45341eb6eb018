//! What became of an injection.

/// What became of an injection, folded from its events: it survives a restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
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

impl std::fmt::Display for Receipt {
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
