//! What can go wrong on the store's thread, before the place it happened at is named.

use raddle_core::store::StoreError;

/// A failed piece of work.
pub(crate) enum Failure {
    /// An answer the caller can act on.
    Store(StoreError),
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// Another reason, in one line.
    Other(String),
}

impl Failure {
    /// The error a caller sees, with the file in it.
    pub(crate) fn at(self, place: &str) -> StoreError {
        let message = match self {
            Self::Store(error) => return error,
            Self::Sqlite(error) => error.to_string(),
            Self::Other(message) => message,
        };
        StoreError::Io {
            place: place.to_owned(),
            message,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
