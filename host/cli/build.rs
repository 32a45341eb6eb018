//! Embeds the standard components (`std:NAME`), with their digests.
//!
//! `RADDLE_COMPONENTS` names the folder that holds `NAME.wasm`; without it, it is `components` in
//! the target directory, which `cargo xtask components` fills. A missing component is no error
//! here: the binary knows its name and says on use how to build it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use sha2::{Digest as _, Sha256};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=RADDLE_COMPONENTS");
    println!("cargo::rerun-if-env-changed=CARGO_TARGET_DIR");
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let workspace = manifest.join("../..");
    let plugins = workspace.join("plugins");
    let folder = |name| env::var_os(name).map(PathBuf::from);
    let target = folder("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let components =
        folder("RADDLE_COMPONENTS").unwrap_or_else(|| workspace.join(target).join("components"));
    // Cargo runs this again on every build while a watched folder is missing.
    fs::create_dir_all(&components)?;
    println!("cargo::rerun-if-changed={}", components.display());

    let built = built(&components)?;
    let mut names = plugin_crates(&plugins)?;
    names.extend(built.keys().cloned());

    let mut source = String::from("&[\n");
    for name in names {
        let bytes = match built.get(&name) {
            None => "None".to_owned(),
            Some(file) => {
                println!("cargo::rerun-if-changed={}", file.display());
                let digest = Sha256::digest(fs::read(file)?);
                let mut hex = String::from("sha256:");
                for byte in digest {
                    let _ = write!(hex, "{byte:02x}");
                }
                format!("Some((include_bytes!({:?}), {hex:?}))", file.display())
            }
        };
        let _ = writeln!(source, "    Standard {{ name: {name:?}, built: {bytes} }},");
    }
    source.push(']');
    fs::write(
        PathBuf::from(variable("OUT_DIR")?).join("standard.rs"),
        source,
    )
}

/// The component files of a folder, by name.
fn built(folder: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "wasm")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            found.insert(name.to_owned(), fs::canonicalize(&path)?);
        }
    }
    Ok(found)
}

/// The standard plugins: every crate under `plugins/` that builds a component, so that a name
/// is known even when nothing is built yet.
fn plugin_crates(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let manifest = path.join("Cargo.toml");
        println!("cargo::rerun-if-changed={}", manifest.display());
        let is_component =
            fs::read_to_string(manifest).is_ok_and(|manifest| manifest.contains("cdylib"));
        if is_component && let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

fn variable(name: &str) -> io::Result<String> {
    env::var(name).map_err(|error| io::Error::other(format!("{name}: {error}")))
}
