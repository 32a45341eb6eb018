//! What the tools need of the host, as a trait: the imports in a component, a folder in tests.

use raddle_sdk::workspace::{Contents, Item, Match};
use raddle_sdk::{Error, session_state, workspace};

/// The files of the session, and the plugin's own keys in it. The functions are those of the
/// `workspace` and `session-state` interfaces.
pub trait Host {
    /// Bytes of a file from `offset` on, at most `length` of them.
    fn read(&self, path: &str, offset: u32, length: u32) -> Result<Contents, Error>;
    /// What a folder holds directly, by name.
    fn list_items(&self, path: &str) -> Result<Vec<Item>, Error>;
    /// Files by glob.
    fn find(&self, glob: &str, limit: u32) -> Result<Vec<Item>, Error>;
    /// Lines by regular expression.
    fn search(&self, pattern: &str, glob: Option<&str>, limit: u32) -> Result<Vec<Match>, Error>;
    /// Replaces the version `base` of a file, or makes a new one; the new digest.
    fn replace(&self, path: &str, bytes: &[u8], base: Option<&str>) -> Result<String, Error>;
    /// A key's value.
    fn get(&self, key: &str) -> Result<Option<String>, Error>;
    /// Sets a key.
    fn set(&self, key: &str, value: &str) -> Result<(), Error>;
    /// Sets a key if it still holds `expected`; whether it did.
    fn swap(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, Error>;
}

/// The host that runs the component.
#[derive(Debug, Clone, Copy, Default)]
pub struct Imports;

impl Host for Imports {
    fn read(&self, path: &str, offset: u32, length: u32) -> Result<Contents, Error> {
        workspace::read(path, offset, length)
    }

    fn list_items(&self, path: &str) -> Result<Vec<Item>, Error> {
        workspace::list_items(path)
    }

    fn find(&self, glob: &str, limit: u32) -> Result<Vec<Item>, Error> {
        workspace::find(glob, limit)
    }

    fn search(&self, pattern: &str, glob: Option<&str>, limit: u32) -> Result<Vec<Match>, Error> {
        workspace::search(pattern, glob, limit)
    }

    fn replace(&self, path: &str, bytes: &[u8], base: Option<&str>) -> Result<String, Error> {
        workspace::replace(path, bytes, base)
    }

    fn get(&self, key: &str) -> Result<Option<String>, Error> {
        session_state::get(key)
    }

    fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        session_state::set(key, value)
    }

    fn swap(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, Error> {
        session_state::swap(key, expected, value)
    }
}
