//! What the programs that plugins run get of this process, what is kept from them, and what ends
//! them when it is killed.

use std::collections::BTreeMap;
use std::ffi::OsString;

use raddle_wasm::imports::process::{self, Watcher};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::config::Config;
use crate::failure::Failure;

/// The hidden command that is the watcher.
pub(crate) const WATCH: &str = "watch-programs";

/// The environment of this process.
pub(crate) fn environment() -> BTreeMap<String, OsString> {
    let variables = std::env::vars_os();
    let named = variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    named.collect()
}

/// This binary again, also where the file has been replaced meanwhile.
pub(crate) fn watcher() -> Watcher {
    Watcher {
        program: "/proc/self/exe".into(),
        arguments: vec!["raddle".into(), WATCH.into()],
    }
}

/// Is the watcher: waits until the process called `host` is gone, and ends what it left running.
pub(crate) fn watch(host: &str) -> Result<(), Failure> {
    Ok(process::watch(host).map_err(anyhow::Error::from)?)
}

/// Keeps the memory and the first environment of this process from the programs that plugins may
/// run: they run as the same user, and the model's key stands there.
///
/// A process that may not be dumped shows neither in `/proc`, nor can it be traced. What this does
/// not do: root reads all the same, and another process of the same user (the shell that exported
/// the key) has an environment of its own. A grant to run programs stays a grant to act as the
/// user.
pub(crate) fn conceal(config: &Config) {
    let mut plugins = config.plugins.iter();
    if plugins.any(|plugin| plugin.grants.process.is_some())
        && let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable)
    {
        tracing::warn!(%error, "programs can read the environment of this process");
    }
}
