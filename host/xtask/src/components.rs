//! Builds the standard plugins: the same bytes from any checkout, on any machine of a kind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use anyhow::{Context as _, Result};

use crate::workspace::{COMPONENT_TARGET, Workspace, selected, succeed};

/// Builds all of them in one go, with the guests of the tests. Those that changed go into their
/// folders, so that what embeds them is built again only when it has to be.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    add_target(workspace)?;
    let mut cargo = workspace.cargo(["build", "--profile", "component"]);
    cargo.args(["--target", COMPONENT_TARGET]);
    cargo.args(selected(&workspace.component_packages()?));
    succeed(cargo.env("CARGO_ENCODED_RUSTFLAGS", remapped_paths(workspace)?))?;
    collect(
        workspace,
        "plugin",
        &workspace.plugins()?,
        &workspace.components(),
    )?;
    collect(
        workspace,
        "guest",
        &workspace.guests()?,
        &workspace.target.join("guests"),
    )
}

/// Brings a folder up to date with what cargo has built.
fn collect(workspace: &Workspace, kind: &str, names: &[String], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for name in names {
        let file = format!("raddle_{kind}_{}.wasm", name.replace('-', "_"));
        let built = workspace
            .target
            .join(COMPONENT_TARGET)
            .join("component")
            .join(file);
        let bytes = fs::read(&built).with_context(|| format!("{}", built.display()))?;
        replace(&folder.join(name).with_extension("wasm"), &bytes)?;
    }
    remove_others(folder, names)
}

/// Adds the plugins' target where rustup did not: it reads `rust-toolchain.toml` only for a
/// toolchain it installs itself.
pub(crate) fn add_target(workspace: &Workspace) -> Result<()> {
    let libraries = Command::new("rustc")
        .current_dir(&workspace.root)
        .args(["--print", "target-libdir", "--target", COMPONENT_TARGET])
        .output()
        .context("cannot start rustc")?;
    let libraries = String::from_utf8_lossy(&libraries.stdout);
    if Path::new(libraries.trim_end()).is_dir() {
        return Ok(());
    }
    succeed(
        Command::new("rustup")
            .current_dir(&workspace.root)
            .args(["target", "add", COMPONENT_TARGET])
            .stdin(Stdio::null()),
    )
    .with_context(|| format!("the plugins need the Rust target {COMPONENT_TARGET}"))
}

/// Compiler flags that keep this machine's paths (panic locations hold them) out of the bytes.
fn remapped_paths(workspace: &Workspace) -> Result<String> {
    let cargo_home = match env::var_os("CARGO_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => env::home_dir().context("no home directory")?.join(".cargo"),
    };
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    // The later flag wins where one folder lies in the other.
    let flags = [
        remap(&cargo_home, "/cargo"),
        remap(&workspace.target, "/target"),
        remap(&workspace.root, "/raddle"),
    ];
    Ok(flags.join("\u{1f}"))
}

/// Writes a file in one step, and only if that changes it.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|current| current == bytes) {
        return Ok(());
    }
    let staged = path.with_extension("new");
    fs::write(&staged, bytes)?;
    fs::rename(&staged, path).with_context(|| format!("{}", path.display()))
}

/// Removes components whose package is no longer there.
fn remove_others(folder: &Path, names: &[String]) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_component = path
            .extension()
            .is_some_and(|extension| extension == "wasm");
        let is_ours = path
            .file_stem()
            .and_then(|name| name.to_str())
            .is_some_and(|name| names.iter().any(|kept| kept == name));
        if is_component && !is_ours {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
