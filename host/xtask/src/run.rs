//! From a clean clone to a conversation, or to an installed binary.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::components;
use crate::workspace::{Workspace, succeed};

/// The example that runs where none is named.
const EXAMPLE: &str = "coding-agent";

/// Builds what an example needs, and becomes it: the one that the first argument names, if it names
/// one. It works in a scratch copy of the example's project, fresh each time, unless the arguments
/// name another directory.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    components::build(workspace)?;
    // The same selection as the tests, so that neither builds the dependencies again.
    succeed(&mut workspace.cargo(["build", "--workspace", "--bins", "--tests"]))?;
    let examples = workspace.root.join("examples");
    let (name, arguments) = match arguments.split_first() {
        Some((name, rest)) if !name.starts_with('-') => (name.as_str(), rest),
        _ => (EXAMPLE, arguments),
    };
    let example = examples.join(name);
    if !example.join("raddle.toml").is_file() {
        bail!("there is no example `{name}` in {}", examples.display());
    }
    let mut raddle = Command::new(workspace.binary("raddle"));
    raddle
        .args(["run", "--config"])
        .arg(example.join("raddle.toml"));
    let is_elsewhere =
        |argument: &String| argument.starts_with("-C") || argument.starts_with("--cd");
    if !arguments.iter().any(is_elsewhere) {
        let scratch = workspace.target.join("scratch").join(name);
        copy_afresh(&example.join("project"), &scratch)?;
        raddle.arg("--cd").arg(scratch);
    }
    raddle.args(arguments);
    become_process(raddle)
}

/// Installs the binary, optimised, where cargo puts what it installs.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    components::build(workspace)?;
    succeed(&mut workspace.cargo(["install", "--locked", "--path", "host/cli"]))
}

/// Makes `to` a copy of the folder `from`, whatever it was before.
fn copy_afresh(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_afresh(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
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
