//! The name under which a program, with all it started, is found again.

use std::sync::OnceLock;

use rustix::process::{Pid, getpid};

use super::tree;

/// Set for every program, with a value of its own, and inherited: what a program started is found
/// by it even where parent, process group and session say nothing any more.
pub(super) const VARIABLE: &str = "RADDLE_PROCESS";

/// Of program `number` of `host`: `NAME=VALUE`, as it stands in an environment.
pub(super) fn of(host: &str, number: u64) -> String {
    format!("{VARIABLE}={host}.{number}")
}

/// This process, as no other is ever called: its id, and when it was started.
pub(super) fn host() -> &'static str {
    static HOST: OnceLock<String> = OnceLock::new();
    HOST.get_or_init(|| {
        let id = getpid();
        format!("{id}.{}", tree::started(id).unwrap_or_default())
    })
}

/// The id in the name of a host, and when it was started.
pub(super) fn parse(host: &str) -> Option<(Pid, u64)> {
    let (id, started) = host.split_once('.')?;
    Some((Pid::from_raw(id.parse().ok()?)?, started.parse().ok()?))
}
