//! From a clean clone to a conversation, or to an installed binary.

use std::process::Command;

use anyhow::Result;

use crate::components;
use crate::workspace::{Workspace, succeed};

/// Builds what the example needs, and becomes it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    components::build(workspace)?;
    succeed(&mut workspace.cargo(["build", "--package", "raddle"]))?;
    let mut raddle = Command::new(workspace.binary("raddle"));
    raddle
        .args(["run", "--config"])
        .arg(workspace.root.join("examples/coding-agent/raddle.toml"))
        .args(arguments);
    become_process(raddle)
}

/// Installs the binary, optimised, where cargo puts what it installs.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    components::build(workspace)?;
    succeed(&mut workspace.cargo(["install", "--locked", "--path", "host/cli"]))
}

/// Hands the terminal, signals and the exit code over.
#[cfg(unix)]
fn become_process(mut command: Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    Err(command.exec().into())
}

#[cfg(not(unix))]
fn become_process(mut command: Command) -> Result<()> {
    succeed(&mut command)
}
