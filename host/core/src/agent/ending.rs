//! How children end, for whoever started them.

use crate::plugins::{DomainError, ErrorKind, Fault, PluginError};
use crate::session::EndCause;
use crate::store::StoreError;

/// Whether a run that ended with `cause` did what it was for; `said` is what went wrong in it.
pub(super) fn verdict(cause: EndCause, said: Option<&str>) -> Result<(), DomainError> {
    let (kind, code, message) = match cause {
        EndCause::Answered | EndCause::Yielded => return Ok(()),
        EndCause::Cancelled => return Err(cancelled()),
        EndCause::StepLimit => (
            ErrorKind::Limit,
            "steps",
            "the child reached its limit of steps",
        ),
        EndCause::TokenLimit => (
            ErrorKind::Limit,
            "tokens",
            "the child reached its limit of tokens",
        ),
        EndCause::Cut => (
            ErrorKind::Failed,
            "cut",
            "the child's answer was cut by the output limit",
        ),
        EndCause::Interrupted => (
            ErrorKind::Failed,
            "interrupted",
            "the host ended while the child ran",
        ),
        EndCause::Failed => (ErrorKind::Failed, "failed", "the child failed"),
    };
    let message = match said.filter(|_| cause == EndCause::Failed) {
        Some(said) => format!("{message}: {said}"),
        None => message.to_owned(),
    };
    Err(DomainError::new(kind, code, message))
}

/// What a provider that did not answer comes to.
pub(super) fn domain_error(error: PluginError) -> DomainError {
    match error.fault {
        Fault::Domain(error) => error,
        _ => DomainError::new(ErrorKind::Failed, "plugin-fault", error.to_string()),
    }
}

pub(super) fn unavailable(error: StoreError) -> DomainError {
    DomainError::new(ErrorKind::Unavailable, "store", error.to_string())
}

pub(super) fn cancelled() -> DomainError {
    DomainError::new(ErrorKind::Cancelled, "cancelled", "the child was cancelled")
}

pub(super) fn lost() -> DomainError {
    DomainError::new(ErrorKind::Failed, "lost", "the child could not be run")
}
