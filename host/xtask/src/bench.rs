//! The benches, optimised.

use std::fs;

use anyhow::Result;

use crate::components;
use crate::workspace::{Workspace, succeed};

/// Runs those whose names are given, or all. The whole-process bench needs the binary beside it.
pub(crate) fn run(workspace: &Workspace, names: &[String]) -> Result<()> {
    components::build(workspace)?;
    let mut selection = vec!["--package", "raddle", "--package", "raddle-tests"];
    let all = all_benches(workspace)?;
    let chosen = if names.is_empty() { &all } else { names };
    for name in chosen {
        selection.extend(["--bench", name]);
    }
    // One selection of packages for both, so that what they share is built once.
    let build = ["build", "--release", "--bin", "raddle"];
    succeed(workspace.cargo(build).args(&selection))?;
    succeed(workspace.cargo(["bench"]).args(&selection))
}

fn all_benches(workspace: &Workspace) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(workspace.root.join("tests/benches"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}
