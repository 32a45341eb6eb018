//! The user's folders.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// Where sessions and the line history are kept.
pub(crate) fn data() -> Result<PathBuf> {
    let folder = match cfg!(target_os = "macos") {
        true => folder("XDG_DATA_HOME", "Library/Application Support"),
        false => folder("XDG_DATA_HOME", ".local/share"),
    };
    folder.context("there is no folder for your data: set HOME or XDG_DATA_HOME")
}

/// Where compiled plugins are kept.
pub(crate) fn cache() -> Result<PathBuf> {
    let folder = match cfg!(target_os = "macos") {
        true => folder("XDG_CACHE_HOME", "Library/Caches"),
        false => folder("XDG_CACHE_HOME", ".cache"),
    };
    folder.context("there is no folder for compiled plugins: set HOME or XDG_CACHE_HOME")
}

/// The folder of Raddle below what `variable` names, or below `fallback` in the home folder. A
/// relative path in `variable` counts as unset, as the XDG specification wants it.
fn folder(variable: &str, fallback: &str) -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(fallback)))?;
    Some(base.join("raddle"))
}
