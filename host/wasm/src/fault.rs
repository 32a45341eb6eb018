//! From a runtime error to the fault that is reported.

use raddle_core::plugins::{DomainError, ErrorKind, Fault, LimitKind, PluginError};
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::bindings::types;
use crate::limits::{Breach, Limits};

/// A function of the contract, as errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) interface: &'static str,
    pub(crate) function: &'static str,
}

impl Place {
    /// The function with its interface: no two places have the same.
    pub(crate) const fn name(self) -> (&'static str, &'static str) {
        (self.interface, self.function)
    }

    /// Before a function is reached: start functions run here.
    pub(crate) const START: Self = Self::new("component", "start");

    pub(crate) const fn new(interface: &'static str, function: &'static str) -> Self {
        Self {
            interface,
            function,
        }
    }

    pub(crate) fn error(self, plugin: &str, fault: Fault) -> PluginError {
        PluginError {
            plugin: plugin.to_owned(),
            interface: self.interface.to_owned(),
            function: self.function.to_owned(),
            fault,
        }
    }
}

/// What `error` means to the deployer. `last_words` is what the guest wrote to stderr.
pub(crate) fn classify(
    place: Place,
    error: &wasmtime::Error,
    limits: &Limits,
    last_words: &str,
) -> Fault {
    if let Some(breach) = error.downcast_ref::<Breach>() {
        return breach.clone().into();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => return limits.breach(LimitKind::Stack).into(),
        Some(Trap::Interrupt) => return limits.breach(LimitKind::Time).into(),
        Some(trap) => return trapped(trap.to_string(), last_words),
        None => {}
    }
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        return trapped(format!("it exited with status {status}"), last_words);
    }
    let in_guest = error.downcast_ref::<WasmBacktrace>().is_some();
    let cause = error.root_cause().to_string();
    // The runtime has a type of its own for this, but keeps it to itself.
    if cause.contains("fuel allocated for hostcalls has been exhausted") {
        let limit = if in_guest {
            LimitKind::HostCalls
        } else {
            LimitKind::Output
        };
        return limits.breach(limit).into();
    }
    if in_guest {
        return trapped(cause, last_words);
    }
    if place == Place::START {
        return Fault::Load {
            message: format!("cannot be started: {cause}"),
        };
    }
    Fault::Malformed { message: cause }
}

fn trapped(trap: String, last_words: &str) -> Fault {
    let message = if last_words.is_empty() {
        trap
    } else {
        format!("{trap}; its last words: {last_words}")
    };
    Fault::Trap { message }
}

impl From<types::Error> for DomainError {
    fn from(error: types::Error) -> Self {
        Self {
            kind: error.kind.into(),
            code: error.code,
            message: error.message,
        }
    }
}

impl From<DomainError> for types::Error {
    fn from(error: DomainError) -> Self {
        Self {
            kind: error.kind.into(),
            code: error.code,
            message: error.message,
        }
    }
}

impl From<types::ErrorKind> for ErrorKind {
    fn from(kind: types::ErrorKind) -> Self {
        match kind {
            types::ErrorKind::Invalid => Self::Invalid,
            types::ErrorKind::NotFound => Self::NotFound,
            types::ErrorKind::Denied => Self::Denied,
            types::ErrorKind::Conflict => Self::Conflict,
            types::ErrorKind::Limit => Self::Limit,
            types::ErrorKind::Unavailable => Self::Unavailable,
            types::ErrorKind::Cancelled => Self::Cancelled,
            types::ErrorKind::Failed => Self::Failed,
        }
    }
}

impl From<ErrorKind> for types::ErrorKind {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid => Self::Invalid,
            ErrorKind::NotFound => Self::NotFound,
            ErrorKind::Denied => Self::Denied,
            ErrorKind::Conflict => Self::Conflict,
            ErrorKind::Limit => Self::Limit,
            ErrorKind::Unavailable => Self::Unavailable,
            ErrorKind::Cancelled => Self::Cancelled,
            ErrorKind::Failed => Self::Failed,
        }
    }
}
