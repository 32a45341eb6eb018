//! Settings against the plugin's own schema, and the files they name.

use std::fs;
use std::path::Path;

use raddle_core::plugins::Environment;
use raddle_wasm::PluginSpec;
use serde_json::{Value, json};

use crate::guest::{Guest, data, runtime, spec, words};

/// A plugin that describes its settings with `schema`, and offers one section whose text is the
/// text of the last file it got, or of the file whose number `number` is.
fn described(schema: &str, number: u32) -> Vec<u8> {
    let length = u32::try_from(schema.len()).unwrap();
    // A file is four strings; the list of files is the fifth of the environment.
    let text = number * 32 + 24;
    Guest::new()
        .import("settings-host")
        .export("settings")
        .function("settings", "describe", "(result i32)", "(i32.const 1024)")
        .core(&words(1024, &[4000, length]))
        .core(&data(4000, schema))
        .core(&words(1040, &[0, 1056, 1]))
        .core(&words(1056, &[1100, 4, 0, 0, 0, 0, 0]))
        .core(&data(1100, "text"))
        .offer(
            "sections",
            &format!(
                "(if (i32.le_u (local.get 9) (i32.const {number})) (then (return (i32.const 0))))
                (i64.store (i32.const 1076)
                    (i64.load offset={text} align=1 (local.get 8)))
                (i32.const 1040)"
            ),
        )
        .function(
            "sections",
            "render",
            "(param i32) (result i32)",
            "(unreachable)",
        )
        .build()
}

fn with_settings(component: Vec<u8>, settings: Value, directory: &Path) -> PluginSpec {
    PluginSpec {
        settings,
        directory: directory.to_owned(),
        ..spec("guest", component)
    }
}

async fn told(component: Vec<u8>, settings: Value) -> Vec<String> {
    let spec = with_settings(component, settings, Path::new("/"));
    let loaded = runtime().load(vec![spec], &()).await;
    loaded.faults.iter().map(ToString::to_string).collect()
}

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "text": { "type": "string" },
        "hosts": { "type": "array", "items": { "type": "object", "properties": {
            "port": { "type": "integer", "minimum": 1 } } } }
    },
    "required": ["text"],
    "additionalProperties": false
}"#;

#[tokio::test]
async fn every_bad_setting_is_named_by_its_key() {
    let guest = described(SCHEMA, 0);
    assert!(
        told(guest.clone(), json!({ "text": "good" }))
            .await
            .is_empty()
    );
    let settings = json!({ "text": 5, "hosts": [{ "port": 80 }, { "port": 0 }], "txet": "" });
    let told_of = told(guest.clone(), settings).await;
    assert_eq!(told_of.len(), 3, "{told_of:?}");
    let has = |start: &str, part: &str| {
        assert!(
            told_of
                .iter()
                .any(|fault| fault.starts_with(start) && fault.contains(part)),
            "{start} {part} {told_of:?}"
        );
    };
    has("plugin `guest` has a bad setting: `text`: ", "string");
    has("plugin `guest` has a bad setting: `hosts.1.port`: ", "0");
    has("plugin `guest` has a bad setting: ", "txet");
    let missing = told(guest, json!({})).await;
    assert!(missing[0].contains("text"), "{missing:?}");
}

#[tokio::test]
async fn a_schema_that_is_none_is_refused() {
    for schema in ["", "[]", "{", r#"{ "type": 5 }"#] {
        let faults = told(described(schema, 0), json!({})).await;
        assert!(
            faults[0].starts_with(
                "plugin `guest` describes its settings with something that is not a JSON schema: "
            ),
            "{faults:?}"
        );
    }
}

#[tokio::test]
async fn settings_for_a_plugin_that_reads_none_are_refused() {
    let guest = Guest::new().rendering("(i32.const 0)").build();
    assert_eq!(
        told(guest.clone(), json!({ "one": 1, "two": 2 })).await,
        ["plugin `guest` takes no settings, but has `one`, `two`"]
    );
    assert!(told(guest, json!({})).await.is_empty());
}

const FILES: &str = r##"{
    "type": "object",
    "properties": {
        "folder": { "$ref": "#/$defs/folder" },
        "sections": { "type": "array", "items": { "type": "object", "properties": {
            "file": { "type": ["string", "null"], "format": "file" } } } }
    },
    "$defs": { "folder": { "type": "string", "format": "directory" } }
}"##;

async fn texts(settings: &Value, directory: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for number in 0.. {
        let spec = with_settings(described(FILES, number), settings.clone(), directory);
        let loaded = runtime().load(vec![spec], &()).await;
        assert_eq!(loaded.faults, []);
        let offer = loaded.plugins[0]
            .offer(&Environment::default())
            .await
            .unwrap();
        match offer
            .sections
            .into_iter()
            .next()
            .map(|section| section.content)
        {
            Some(raddle_core::plugins::Content::Fixed(text)) => texts.push(text),
            _ => return texts,
        }
    }
    texts
}

#[tokio::test]
async fn declared_files_and_folders_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("docs/deep")).unwrap();
    fs::create_dir_all(at("docs/.git")).unwrap();
    fs::write(at("one.md"), "one").unwrap();
    fs::write(at("docs/b.md"), "b").unwrap();
    fs::write(at("docs/deep/a.md"), "a").unwrap();
    fs::write(at("docs/a.md"), "first").unwrap();
    fs::write(at("docs/picture.png"), [0xff, 0xd8, 0xff]).unwrap();
    fs::write(at("docs/.git/config"), "hidden").unwrap();
    std::os::unix::fs::symlink(at("one.md"), at("docs/link.md")).unwrap();
    let settings = json!({
        "folder": "docs",
        "sections": [{ "file": "one.md" }, { "file": null }, {}],
    });
    assert_eq!(
        texts(&settings, directory.path()).await,
        ["first", "b", "a", "one"]
    );
}

#[tokio::test]
async fn a_declared_file_that_cannot_be_read_is_named() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("picture.png"), [0xff, 0xd8, 0xff]).unwrap();
    let settings = json!({
        "folder": "nowhere",
        "sections": [{ "file": "picture.png" }, { "file": "gone.md" }],
    });
    let spec = with_settings(described(FILES, 0), settings, directory.path());
    let loaded = runtime().load(vec![spec], &()).await;
    let told: Vec<_> = loaded.faults.iter().map(ToString::to_string).collect();
    let at = |name: &str| directory.path().join(name).display().to_string();
    assert_eq!(
        told,
        [
            format!(
                "plugin `guest` has a bad setting: `folder`: {}: No such file or directory (os \
                 error 2)",
                at("nowhere")
            ),
            format!(
                "plugin `guest` has a bad setting: `sections.0.file`: {}: it is not UTF-8 text",
                at("picture.png")
            ),
            format!(
                "plugin `guest` has a bad setting: `sections.1.file`: {}: No such file or \
                 directory (os error 2)",
                at("gone.md")
            ),
        ]
    );
}
