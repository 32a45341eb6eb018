//! Time comes in from outside.

/// The current time.
pub trait Clock: Send + Sync {
    /// RFC 3339, UTC, milliseconds (`2026-01-31T12:00:00.000Z`).
    fn now(&self) -> String;
}
