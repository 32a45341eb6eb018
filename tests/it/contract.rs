//! The contract and its releases: what was released stays as it is, and grows as it was promised.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use raddle_core::digest::Digest;
use wit_parser::{Resolve, Type, TypeDefKind, TypeId, WorldItem};

use crate::root;

/// The releases, and the digest of all that their files say. None of these ever changes.
const RELEASES: [(&str, &str); 2] = [
    (
        "0.1.0",
        "sha256:dbffc4bf40465403043091b6de751f07c1092826b4a9be72d4cd185a5739c469",
    ),
    (
        "0.1.1",
        "sha256:10352b1ae5f3dc1a5c7f7bd54e9e092aa328ddb961f921f9fb21fce6ebcff509",
    ),
];

/// What a version has: its interfaces, their functions and types, by name.
#[derive(Default)]
struct Version {
    exports: BTreeMap<String, BTreeMap<String, String>>,
    imports: BTreeMap<String, BTreeMap<String, String>>,
}

#[test]
fn a_release_never_changes() {
    for (release, digest) in RELEASES {
        let mut bytes = Vec::new();
        for file in files(released(release)) {
            bytes.extend(file.file_name().unwrap().as_encoded_bytes());
            bytes.extend(fs::read(file).unwrap());
        }
        assert_eq!(Digest::of(&bytes).to_string(), digest, "{release}");
    }
}

#[test]
fn every_release_is_served() {
    let mut folders: Vec<_> = fs::read_dir(root().join("wit/released"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, RELEASES.map(|(release, _)| release));
    for release in &folders {
        assert!(raddle_wasm::VERSIONS.contains(&&**release), "{release}");
    }
}

/// What a component built against a release asks for is there in all that follow: no function of an
/// export more or fewer, no field, no case; interfaces and functions of imports only more.
#[test]
fn versions_only_grow() {
    let mut versions: Vec<Version> = RELEASES
        .map(|(release, _)| Version::read(released(release)))
        .into();
    versions.push(Version::read(root().join("wit")));
    for pair in versions.windows(2) {
        let [before, after] = pair else { continue };
        for (name, items) in &before.exports {
            assert_eq!(after.exports.get(name), Some(items), "export {name}");
        }
        for (name, items) in &before.imports {
            let now = &after.imports[name];
            for (item, text) in items {
                assert_eq!(now.get(item), Some(text), "import {name}: {item}");
            }
        }
    }
}

impl Version {
    fn read(folder: PathBuf) -> Self {
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(&folder).unwrap();
        let world = resolve.select_world(&[package], Some("host")).unwrap();
        let world = &resolve.worlds[world];
        let items = |item: &WorldItem| {
            let WorldItem::Interface { id, .. } = item else {
                panic!("the world has interfaces alone");
            };
            let interface = &resolve.interfaces[*id];
            let types = interface.types.iter().map(|(name, id)| {
                let text = kind(&resolve, &resolve.types[*id].kind);
                (name.clone(), text)
            });
            let functions = interface.functions.iter().map(|(name, function)| {
                let parameters = function.params.iter();
                let parameters: Vec<String> = parameters
                    .map(|parameter| {
                        format!("{}: {}", parameter.name, text(&resolve, &parameter.ty))
                    })
                    .collect();
                let result = function.result.map(|result| text(&resolve, &result));
                let result = result.unwrap_or_default();
                (
                    name.clone(),
                    format!("({}) -> {result}", parameters.join(", ")),
                )
            });
            let all = types.chain(functions).collect();
            (interface.name.clone().unwrap(), all)
        };
        Self {
            exports: world.exports.values().map(items).collect(),
            imports: world.imports.values().map(items).collect(),
        }
    }
}

/// A type, spelled out.
fn text(resolve: &Resolve, of: &Type) -> String {
    match of {
        Type::Id(id) => named(resolve, *id),
        simple => format!("{simple:?}"),
    }
}

fn named(resolve: &Resolve, id: TypeId) -> String {
    let definition = &resolve.types[id];
    let text = kind(resolve, &definition.kind);
    match &definition.name {
        Some(name) => format!("{name} {text}"),
        None => text,
    }
}

fn kind(resolve: &Resolve, kind: &TypeDefKind) -> String {
    let optional = |of: &Option<Type>| of.as_ref().map_or("_".to_owned(), |of| text(resolve, of));
    match kind {
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter();
            let fields: Vec<String> = fields
                .map(|field| format!("{}: {}", field.name, text(resolve, &field.ty)))
                .collect();
            format!("{{{}}}", fields.join(", "))
        }
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter();
            let cases: Vec<String> = cases
                .map(|case| format!("{}({})", case.name, optional(&case.ty)))
                .collect();
            format!("[{}]", cases.join(", "))
        }
        TypeDefKind::Enum(of) => {
            let cases: Vec<&str> = of.cases.iter().map(|case| &*case.name).collect();
            format!("[{}]", cases.join(", "))
        }
        TypeDefKind::List(of) => format!("list<{}>", text(resolve, of)),
        TypeDefKind::Option(of) => format!("option<{}>", text(resolve, of)),
        TypeDefKind::Result(of) => format!("result<{}, {}>", optional(&of.ok), optional(&of.err)),
        TypeDefKind::Tuple(of) => {
            let types: Vec<String> = of.types.iter().map(|of| text(resolve, of)).collect();
            format!("({})", types.join(", "))
        }
        TypeDefKind::Type(of) => text(resolve, of),
        other => panic!("the contract has no {other:?}"),
    }
}

fn released(release: &str) -> PathBuf {
    root().join("wit/released").join(release)
}

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
