//! What the plugin needs of the host, so that its decisions can be tested without one.

use raddle_sdk::inject::{self, Injection};
use raddle_sdk::workspace::{self, Item};
use raddle_sdk::{Error, session_state};

/// Files, keys of the session, and where injections go.
pub trait Host {
    /// Digest of a file, none if it is not there or not granted.
    ///
    /// # Errors
    ///
    /// Those of `workspace.read`, but for files that are not there.
    fn digest(&self, path: &str) -> Result<Option<String>, Error>;

    /// Files that a glob matches.
    ///
    /// # Errors
    ///
    /// Those of `workspace.find`.
    fn find(&self, glob: &str) -> Result<Vec<Item>, Error>;

    /// What the session keeps under a key.
    ///
    /// # Errors
    ///
    /// Those of `session-state.get`.
    fn get(&self, key: &str) -> Result<Option<String>, Error>;

    /// Keeps something.
    ///
    /// # Errors
    ///
    /// Those of `session-state.set`.
    fn set(&mut self, key: &str, value: &str) -> Result<(), Error>;

    /// Sends an injection.
    ///
    /// # Errors
    ///
    /// Those of `inject.send`.
    fn send(&mut self, injection: Injection) -> Result<(), Error>;
}

/// Files that one glob is looked up for at most.
const FOUND: u32 = 500;

/// The calling session.
pub struct Session;

impl Host for Session {
    fn digest(&self, path: &str) -> Result<Option<String>, Error> {
        match workspace::read(path, 0, 0) {
            Ok(contents) => Ok(Some(contents.digest)),
            // A folder in its place, a link out of the grants: it is not that file any more.
            Err(error) if error.code == "no-session" => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn find(&self, glob: &str) -> Result<Vec<Item>, Error> {
        workspace::find(glob, FOUND)
    }

    fn get(&self, key: &str) -> Result<Option<String>, Error> {
        session_state::get(key)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        session_state::set(key, value)
    }

    fn send(&mut self, injection: Injection) -> Result<(), Error> {
        inject::send(&injection).map(|_| ())
    }
}
