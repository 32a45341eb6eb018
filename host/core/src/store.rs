//! Where sessions are kept.

use futures::future::{BoxFuture, FutureExt as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::Digest;
use crate::session::Event;
use crate::session::injection::Injection;

/// A durable home of session logs. When a write's future is done, a killed process cannot lose
/// what was written.
pub trait Store: Send + Sync {
    /// Starts a session. Fails with [`StoreError::Exists`] if the id is taken.
    fn create(&self, header: SessionHeader) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Changes the prompt variant of a session that has no events yet: afterwards it is fixed.
    fn set_variant<'a>(
        &'a self,
        session: &'a str,
        variant: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// A session's header.
    fn header<'a>(
        &'a self,
        session: &'a str,
    ) -> BoxFuture<'a, Result<Option<SessionHeader>, StoreError>>;

    /// All sessions, newest first.
    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>>;

    /// Appends events, all or none. Their `seq` must follow the last one without a gap:
    /// [`StoreError::Conflict`] if somebody else has written meanwhile.
    fn append<'a>(
        &'a self,
        session: &'a str,
        events: &'a [Event],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// The entries after `after` (0 reads from the start), in order. One that cannot be read stands
    /// in its place, and costs nothing but itself.
    fn entries<'a>(
        &'a self,
        session: &'a str,
        after: u64,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>>;

    /// The events after `after`, in order, for whoever needs all of them: an entry that cannot be
    /// read is [`StoreError::Damaged`].
    fn events<'a>(
        &'a self,
        session: &'a str,
        after: u64,
    ) -> BoxFuture<'a, Result<Vec<Event>, StoreError>> {
        let strictly = async move {
            let entries = self.entries(session, after).await?;
            let events = entries.into_iter().map(|entry| {
                entry.map_err(|unreadable| StoreError::Damaged {
                    session: session.to_owned(),
                    seq: unreadable.seq,
                    message: unreadable.reason,
                })
            });
            events.collect::<Result<Vec<Event>, StoreError>>()
        };
        strictly.boxed()
    }

    /// Keeps a text under its digest; the same text is kept once.
    fn put_text<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Digest, StoreError>>;

    /// The text of a digest.
    fn text(&self, digest: Digest) -> BoxFuture<'_, Result<Option<String>, StoreError>>;

    /// Reads a plugin's key in a session.
    fn get_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>>;

    /// Sets (`Some`) or removes (`None`) a plugin's key.
    fn set_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Sets a plugin's key only if it still holds `expected`; says whether it did.
    fn swap_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// A plugin's keys in a session that start with `prefix`, sorted.
    fn list_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>>;

    /// Leaves something for whoever runs the session: durable, in order.
    fn post<'a>(
        &'a self,
        session: &'a str,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// What was left for a session, oldest first. One that cannot be read is left out.
    fn mail<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<Letter>, StoreError>>;

    /// Throws away what was left, up to and with `number`: it is in the log.
    fn discard_mail<'a>(
        &'a self,
        session: &'a str,
        number: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Takes the lease of a session for `owner` until `until`, or renews it. `false` if another
    /// owner holds one that has not run out at `now`. Times are RFC 3339, UTC.
    fn lease<'a>(
        &'a self,
        session: &'a str,
        owner: &'a str,
        now: &'a str,
        until: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Gives a lease back.
    fn release<'a>(
        &'a self,
        session: &'a str,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>>;
}

/// Something left for a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// Grows with each.
    pub number: i64,
    /// What it says.
    pub injection: Injection,
}

/// An entry of a log: its event, or why there is none.
pub type Entry = Result<Event, Unreadable>;

/// An entry of a log that this release cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its position in the session.
    pub seq: u64,
    /// Why, in one line.
    pub reason: String,
    /// The whole event, where it is only of a type that this release does not know: a newer one
    /// wrote it. All else is damage.
    pub newer: Option<Value>,
}

/// What is fixed about a session when it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionHeader {
    /// Its id.
    pub id: String,
    /// When it started: RFC 3339, UTC.
    pub created: String,
    /// The session that started it, for children.
    pub parent: Option<String>,
    /// Absolute path of its directory.
    pub directory: Option<String>,
    /// Name of the prompt variant.
    pub variant: String,
    /// Absolute path of the deployment's config.
    pub deployment: Option<String>,
    /// Whose it is, where several share a host: the name of a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// A line of the list of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The header.
    #[serde(flatten)]
    pub header: SessionHeader,
    /// Number of events.
    pub events: u64,
    /// Time of the last event.
    pub last: Option<String>,
    /// The first user message, for recognising it.
    pub title: Option<String>,
}

impl Unreadable {
    /// An entry that is lost or broken.
    pub fn damaged(seq: u64, reason: impl Into<String>) -> Self {
        Self {
            seq,
            reason: reason.into(),
            newer: None,
        }
    }

    /// Whether the log has a fault here.
    pub fn is_damage(&self) -> bool {
        self.newer.is_none()
    }
}

/// A store failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The session id is taken.
    #[error("session `{0}` exists already")]
    Exists(String),
    /// There is no such session.
    #[error("there is no session `{0}`: `raddle session list` shows them")]
    Missing(String),
    /// Somebody else wrote to the session meanwhile.
    #[error("session `{session}` was written by somebody else (expected event {expected})")]
    Conflict {
        /// The session.
        session: String,
        /// The sequence number that should have come next.
        expected: u64,
    },
    /// An event cannot be stored, or what is stored cannot be read.
    #[error("session `{session}`, event {seq}: {message}")]
    Damaged {
        /// The session.
        session: String,
        /// The event.
        seq: u64,
        /// What is wrong.
        message: String,
    },
    /// The storage itself failed.
    #[error("{place}: {message}")]
    Io {
        /// The file or address.
        place: String,
        /// What happened.
        message: String,
    },
}
