//! The embedded session store: one SQLite file that several processes may share.

mod failure;
mod log;
mod mail;
mod schema;
mod state;
mod text;
mod worker;

use std::path::Path;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, ready};
use raddle_core::digest::Digest;
use raddle_core::session::Event;
use raddle_core::session::injection::Injection;
use raddle_core::store::{Entry, Letter, SessionHeader, SessionSummary, Store, StoreError};
use rusqlite::Connection;

use failure::Failure;
use worker::{Access, Worker};

/// Session logs, texts, plugin state and leases in one SQLite file.
///
/// One thread owns the connection. Writes that have queued up meanwhile are committed together,
/// and a write's future is done only when its commit is: many sessions share the price of one
/// commit, and none is told too early.
pub struct SqliteStore {
    worker: Worker,
}

impl SqliteStore {
    /// Opens the store at `path`. A missing file is created, for its owner's eyes only, with the
    /// directories above it.
    ///
    /// Fails with [`StoreError::Io`] if the file cannot be opened, is something else, or was
    /// written by a newer release.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let place: Arc<str> = path.display().to_string().into();
        let connection = schema::open(path).map_err(|failure| failure.at(&place))?;
        let worker = Worker::start(connection, place)?;
        Ok(Self { worker })
    }

    /// A store that is gone when it is dropped.
    pub fn open_in_memory() -> Result<Self, StoreError> {
        let place: Arc<str> = "memory".into();
        let connection = schema::open_in_memory().map_err(|failure| failure.at(&place))?;
        let worker = Worker::start(connection, place)?;
        Ok(Self { worker })
    }

    fn read<'a, T, W>(&'a self, work: W) -> BoxFuture<'a, Result<T, StoreError>>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.worker.call(Access::Read, work).boxed()
    }

    fn write<'a, T, W>(&'a self, work: W) -> BoxFuture<'a, Result<T, StoreError>>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    {
        self.worker.call(Access::Write, work).boxed()
    }
}

impl Store for SqliteStore {
    fn create(&self, header: SessionHeader) -> BoxFuture<'_, Result<(), StoreError>> {
        self.write(move |connection| log::create(connection, &header))
    }

    fn header<'a>(
        &'a self,
        session: &'a str,
    ) -> BoxFuture<'a, Result<Option<SessionHeader>, StoreError>> {
        let session = session.to_owned();
        self.read(move |connection| log::header(connection, &session))
    }

    fn sessions(&self) -> BoxFuture<'_, Result<Vec<SessionSummary>, StoreError>> {
        self.read(log::sessions)
    }

    fn append<'a>(
        &'a self,
        session: &'a str,
        events: &'a [Event],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        // Encoded here, so that the one thread does nothing but write.
        let rows = match log::encode(session, events) {
            Ok(rows) => rows,
            Err(failure) => return ready(Err(failure.at(self.worker.place()))).boxed(),
        };
        let session = session.to_owned();
        self.write(move |connection| log::append(connection, &session, &rows))
    }

    fn entries<'a>(
        &'a self,
        session: &'a str,
        after: u64,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StoreError>> {
        let session = session.to_owned();
        self.read(move |connection| log::entries(connection, &session, after))
    }

    fn put_text<'a>(&'a self, text: &'a str) -> BoxFuture<'a, Result<Digest, StoreError>> {
        let digest = Digest::of(text);
        let text = text.to_owned();
        self.write(move |connection| text::put(connection, digest, &text))
    }

    fn text(&self, digest: Digest) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        self.read(move |connection| text::get(connection, digest))
    }

    fn get_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let (session, plugin, key) = (session.to_owned(), plugin.to_owned(), key.to_owned());
        self.read(move |connection| state::get(connection, &session, &plugin, &key))
    }

    fn set_variant<'a>(
        &'a self,
        session: &'a str,
        variant: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (session, variant) = (session.to_owned(), variant.to_owned());
        self.write(move |connection| log::set_variant(connection, &session, &variant))
    }

    fn set_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (session, plugin, key) = (session.to_owned(), plugin.to_owned(), key.to_owned());
        self.write(move |connection| {
            state::set(connection, &session, &plugin, &key, value.as_deref())
        })
    }

    fn swap_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (session, plugin, key) = (session.to_owned(), plugin.to_owned(), key.to_owned());
        self.write(move |connection| {
            state::swap(
                connection,
                &session,
                &plugin,
                &key,
                expected.as_deref(),
                &value,
            )
        })
    }

    fn list_state<'a>(
        &'a self,
        session: &'a str,
        plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let (session, plugin, prefix) = (session.to_owned(), plugin.to_owned(), prefix.to_owned());
        self.read(move |connection| state::list(connection, &session, &plugin, &prefix))
    }

    fn post<'a>(
        &'a self,
        session: &'a str,
        injection: &'a Injection,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let session = session.to_owned();
        let body = serde_json::to_string(injection);
        self.write(move |connection| {
            let body = body.map_err(|error| Failure::Other(error.to_string()))?;
            mail::post(connection, &session, &body)
        })
    }

    fn mail<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<Letter>, StoreError>> {
        let session = session.to_owned();
        self.read(move |connection| mail::read(connection, &session))
    }

    fn discard_mail<'a>(
        &'a self,
        session: &'a str,
        number: i64,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let session = session.to_owned();
        self.write(move |connection| mail::discard(connection, &session, number))
    }

    fn lease<'a>(
        &'a self,
        session: &'a str,
        owner: &'a str,
        now: &'a str,
        until: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let (session, owner) = (session.to_owned(), owner.to_owned());
        let (now, until) = (now.to_owned(), until.to_owned());
        self.write(move |connection| state::lease(connection, &session, &owner, &now, &until))
    }

    fn release<'a>(
        &'a self,
        session: &'a str,
        owner: &'a str,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (session, owner) = (session.to_owned(), owner.to_owned());
        self.write(move |connection| state::release(connection, &session, &owner))
    }
}
