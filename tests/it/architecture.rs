//! The rules of ARCHITECTURE.md: what depends on what, and what does no I/O.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use crate::{files, metadata, root};

/// The longest a source file may be before it wants splitting by idea.
const LONGEST_FILE: usize = 500;

/// The other packages of the workspace that a package may be built from.
fn allowed(package: &str) -> &'static [&'static str] {
    match package {
        "raddle-core" | "raddle-sdk" | "raddle-skill-format" | "gml" | "xtask" => &[],
        "raddle-wasm" | "raddle-model" | "raddle-store" => &["raddle-core"],
        "raddle" => &[
            "raddle-core",
            "raddle-wasm",
            "raddle-model",
            "raddle-store",
            "raddle-skill-format",
        ],
        "raddle-tests" => &["raddle-core", "raddle-wasm", "raddle-model", "raddle-store"],
        "raddle-plugin-skills" | "raddle-plugin-knowledge" => {
            &["raddle-sdk", "raddle-skill-format"]
        }
        "raddle-plugin-gamma" => &["raddle-sdk", "gml"],
        plugin if plugin.starts_with("raddle-plugin-") => &["raddle-sdk"],
        guest if guest.starts_with("raddle-guest-") => &["raddle-sdk"],
        other => panic!("say in ARCHITECTURE.md, and here, what `{other}` may depend on"),
    }
}

/// For each package of the workspace, what its code (not its tests) is built from.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let metadata = metadata();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .filter(|package| package["source"].is_null())
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            let built_from = dependencies
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text(&dependency["name"]))
                .collect();
            (text(&package["name"]), built_from)
        })
        .collect()
}

#[test]
fn dependencies_point_one_way() {
    let packages = dependencies();
    assert!(packages.contains_key("raddle-core"));
    for (package, dependencies) in &packages {
        for dependency in dependencies
            .iter()
            .filter(|name| packages.contains_key(*name))
        {
            assert!(
                allowed(package).contains(&dependency.as_str()),
                "{package} must not depend on {dependency}"
            );
        }
    }
}

#[test]
fn one_crate_knows_wasmtime_and_one_knows_sqlite() {
    for (package, dependencies) in dependencies() {
        for dependency in dependencies {
            let owner = match dependency.as_str() {
                name if name.starts_with("wasmtime") => "raddle-wasm",
                "rusqlite" => "raddle-store",
                "reqwest" => "raddle-model",
                _ => continue,
            };
            assert_eq!(package, owner, "{package} must not depend on {dependency}");
        }
    }
}

#[test]
fn the_core_does_no_io() {
    const IO: &[&str] = &[
        "std::fs",
        "std::net",
        "std::process",
        "std::env",
        "std::io",
        "std::time::SystemTime",
        "tokio::fs",
        "tokio::net",
        "tokio::process",
        "tokio::io",
    ];
    let sources = files("host/core/src", "rs");
    assert!(!sources.is_empty());
    for path in sources {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        for module in IO {
            assert!(
                !text.contains(module),
                "{}: {module} in the core",
                path.display()
            );
        }
    }
}

#[test]
fn packages_take_versions_and_lints_from_the_workspace() {
    let mut manifests = files("host", "toml");
    manifests.extend(files("plugins", "toml"));
    manifests.extend(files("tests/guests", "toml"));
    manifests.push("tests/Cargo.toml".into());
    manifests.retain(|path| path.ends_with("Cargo.toml"));
    assert!(manifests.len() > 6);
    for path in manifests {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let manifest = DeTable::parse(&text).unwrap();
        let table = |name: &str| manifest.get_ref().get(name).map(|table| table.get_ref());
        let inherits = |value: &DeValue<'_>| {
            let workspace = value.get("workspace");
            workspace.and_then(|workspace| workspace.get_ref().as_bool()) == Some(true)
        };
        let path = path.display().to_string();
        // What the generator writes into a guest without the SDK is no code of ours.
        let is_generated = path.starts_with("tests/guests/release-");
        let lints = path.starts_with("host/wasm") || is_generated;
        assert!(
            lints || table("lints").is_some_and(inherits),
            "{path}: lints"
        );
        for name in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let dependencies = table(name).and_then(DeValue::as_table);
            for (name, dependency) in dependencies.into_iter().flatten() {
                assert!(inherits(dependency.get_ref()), "{path}: {}", name.get_ref());
            }
        }
    }
}

#[test]
fn code_that_is_trusted_to_be_safe_stands_in_one_place() {
    let mut sources = files("host", "rs");
    sources.extend(files("plugins", "rs"));
    sources.retain(|path| {
        let text = fs::read_to_string(root().join(path)).unwrap();
        text.contains("unsafe {") || text.contains("unsafe fn")
    });
    assert_eq!(sources, [std::path::Path::new("host/wasm/src/cache.rs")]);
}

#[test]
fn plugins_are_named_after_their_folders() {
    let packages = dependencies();
    for entry in fs::read_dir(root().join("plugins")).unwrap() {
        let folder = entry.unwrap().file_name().into_string().unwrap();
        let name = match folder.as_str() {
            "sdk" => "raddle-sdk".to_owned(),
            plugin => format!("raddle-plugin-{plugin}"),
        };
        assert!(
            packages.contains_key(&name),
            "no package {name} in plugins/{folder}"
        );
    }
}

#[test]
fn source_files_hold_one_idea() {
    let is_source = |path: &str| !path.contains("/tests/") && !path.contains("/fixtures/");
    let mut sources = files("host", "rs");
    sources.extend(files("plugins", "rs"));
    for path in sources {
        let lines = fs::read_to_string(root().join(&path))
            .unwrap()
            .lines()
            .count();
        assert!(
            lines <= LONGEST_FILE || !is_source(&path.display().to_string()),
            "{} has {lines} lines: split it by idea",
            path.display()
        );
    }
}
