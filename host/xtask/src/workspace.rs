//! Where things are, and cargo.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, bail};

/// What the standard plugins are compiled for.
pub(crate) const COMPONENT_TARGET: &str = "wasm32-wasip2";

/// The checkout and its target directory.
pub(crate) struct Workspace {
    /// The checkout's root.
    pub(crate) root: PathBuf,
    /// The target directory that cargo uses, wherever it was set.
    pub(crate) target: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .context("xtask is not where it belongs")?
            .to_owned();
        // This program lies in the target directory. One file marks a folder that cargo created,
        // the other any it has used.
        let is_target = |folder: &&Path| {
            folder.join("CACHEDIR.TAG").is_file() || folder.join(".rustc_info.json").is_file()
        };
        let target = env::current_exe()?
            .ancestors()
            .find(is_target)
            .context("`cargo xtask` has to be run by cargo")?
            .to_owned();
        Ok(Self { root, target })
    }

    /// The standard plugins by name, in order: every folder of `plugins/` but the SDK.
    pub(crate) fn plugins(&self) -> Result<Vec<String>> {
        let mut names = self.packages("plugins")?;
        names.retain(|name| name != "sdk");
        Ok(names)
    }

    /// The guests of the tests and benches by name, in order.
    pub(crate) fn guests(&self) -> Result<Vec<String>> {
        self.packages("tests/guests")
    }

    /// The folders of `folder` that hold a package.
    fn packages(&self, folder: &str) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(folder)).context(folder.to_owned())? {
            let entry = entry?;
            if entry.path().join("Cargo.toml").is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    /// All packages that are built as components.
    pub(crate) fn component_packages(&self) -> Result<Vec<String>> {
        let plugins = self.plugins()?;
        let plugins = plugins.iter().map(|name| format!("raddle-plugin-{name}"));
        let guests = self.guests()?;
        let guests = guests.iter().map(|name| format!("raddle-guest-{name}"));
        Ok(plugins.chain(guests).collect())
    }

    /// Where the built standard plugins are put.
    pub(crate) fn components(&self) -> PathBuf {
        self.target.join("components")
    }

    /// A cargo command in the checkout, with this target directory.
    pub(crate) fn cargo<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root).args(arguments);
        command.env("CARGO_TARGET_DIR", &self.target);
        // What cargo tells this program about itself is no business of the build: some build
        // scripts would take it for a change.
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy();
            if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&*name);
            }
        }
        command
    }

    /// A program cargo has built in the dev profile.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        self.target
            .join("debug")
            .join(name)
            .with_extension(env::consts::EXE_EXTENSION)
    }
}

/// `--package` for each of these packages.
pub(crate) fn selected(packages: &[String]) -> Vec<&str> {
    packages
        .iter()
        .flat_map(|package| ["--package", package])
        .collect()
}

/// Runs a command to its end; failing is an error.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !status.success() {
        bail!("{status}: {}", shown(command));
    }
    Ok(())
}

/// A command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
