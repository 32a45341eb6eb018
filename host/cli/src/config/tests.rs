//! The reader alone; what `raddle check` makes of it is tested on the binary.

mod page;

use std::path::Path;

use proptest::prelude::*;

use raddle_core::prompt::Dynamic;
use raddle_wasm::grants::{Access, Directory, ModelGrant};

use super::{Config, Source};

const WHOLE: &str = include_str!("../../tests/fixtures/config/whole.toml");
const FAULTY: &str = include_str!("../../tests/fixtures/config/faulty.toml");
const SYNTAX: &str = include_str!("../../tests/fixtures/config/syntax.toml");

fn read(text: &str) -> Result<Config, String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/config/raddle.toml");
    let (config, faults) = Config::parse("raddle.toml", &file, text);
    if faults.is_empty() {
        Ok(config)
    } else {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let faults = lines.join("\n");
        // Whether the current directory is above the fixtures or not.
        Err(faults.replace(&format!("{}/", env!("CARGO_MANIFEST_DIR")), ""))
    }
}

fn faults(text: &str) -> String {
    match read(text) {
        Ok(_) => "good".to_owned(),
        Err(faults) => faults,
    }
}

#[test]
fn every_key_is_read() {
    let mut config = read(WHOLE).unwrap_or_else(|faults| panic!("{faults}"));
    let recording = config
        .model
        .as_mut()
        .and_then(|model| model.recording.take());
    assert!(recording.is_some_and(|file| file.ends_with("config/whole.toml")));
    assert_eq!(config.agent.as_deref(), Some("coder"));
    assert_eq!(config.dynamic, Dynamic::Inline);
    assert_eq!(config.tool_order, ["read", "bash"]);
    assert_eq!(config.deferred, ["github"]);
    let ids: Vec<&str> = config
        .plugins
        .iter()
        .map(|plugin| plugin.id.as_str())
        .collect();
    assert_eq!(ids, ["local", "shell"]);
    let local = &config.plugins[0];
    assert!(matches!(&local.source, Source::File(file) if file.ends_with("config/whole.toml")));
    assert_eq!(local.grants.workspace.len(), 2);
    assert_eq!(local.grants.workspace[0].directory, Directory::Session);
    assert_eq!(local.grants.workspace[0].access, Access::ReadWrite);
    assert_eq!(local.grants.http.len(), 2);
    assert_eq!(local.grants.model, Some(ModelGrant { max_tokens: 4000 }));
    let variants: Vec<&str> = config.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(variants, ["late", "early"], "in the order of the file");
    assert_eq!(config.variants[0].preload, ["deck-generation"]);
    assert_eq!(config.requirements.len(), 1);
    insta::assert_debug_snapshot!(
        "whole",
        (
            &config.model,
            &config.plugins[0].settings,
            &config.plugins[1].limits,
            &config.permissions,
            &config.allow
        )
    );
}

#[test]
fn an_empty_file_is_an_empty_deployment() {
    let config = read("").unwrap_or_else(|faults| panic!("{faults}"));
    assert!(config.plugins.is_empty());
    assert_eq!(config.model, None);
}

#[test]
fn the_order_of_keys_does_not_matter() {
    let one = "[plugins.b]\nsource = \"whole.toml\"\nsettings = { y = 1, x = 2 }\n[plugins.a]\nsource = \"whole.toml\"\n";
    let other = "[plugins.a]\nsource = \"whole.toml\"\n[plugins.b]\nsettings = { x = 2, y = 1 }\nsource = \"whole.toml\"\n";
    let read = |text| format!("{:?}", read(text).map(|config| config.plugins));
    assert_eq!(read(one), read(other));
}

#[test]
fn every_fault_is_named_at_once() {
    insta::assert_snapshot!("faulty", faults(FAULTY));
}

#[test]
fn broken_syntax_does_not_hide_other_faults() {
    insta::assert_snapshot!("syntax", faults(SYNTAX));
}

#[test]
fn faults_know_their_column_in_characters() {
    assert_eq!(
        faults("\u{feff}[agent]\r\ndefault = \"ä\" # ö\r\n[tools]\r\norder = [\"é\", 1]\r\n"),
        "raddle.toml:4:15: `order` in [tools] must be a string, found an integer"
    );
}

#[test]
fn a_fault_cannot_leave_its_line() {
    let faults = faults("\"a\\nb\\u001b[2J\" = 1\n");
    assert_eq!(faults.lines().count(), 1, "{faults}");
    assert!(!faults.contains('\u{1b}'), "{faults:?}");
}

#[test]
fn a_key_in_the_wrong_place_is_not_shown() {
    let faults =
        faults("[model]\nprovider = \"openai-chat\"\nname = \"m\"\napi_key_env = \"sk-secret\"\n");
    assert!(
        faults.contains("api_key_env") && !faults.contains("sk-secret"),
        "{faults}"
    );
}

/// A good config with pieces of it, and of broken ones, put at random places.
fn mutated() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<String>(),
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "[",
            "]",
            "[[",
            "]]",
            "{",
            "}",
            "\"",
            "\"\"\"",
            "'''",
            "=",
            ".",
            ",",
            "\n",
            "\r",
            "#",
            "[model]\n",
            "[[plugins]]\n",
            "[plugins.shell.grants]\n",
            "model.name.x = 1\n",
            "1979-05-27",
            "0x",
            "inf",
            "\u{feff}",
            "permission.rule = 1\n",
            "[[permission]]\n",
            "a.b.c = { d.e = [ { f = 1 } ] }\n",
            "[a.b]\n[a]\n[[a.b]]\n",
        ])
        .prop_map(str::to_owned),
    ];
    let edit = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        piece,
    );
    let base = prop::sample::select(vec![WHOLE, FAULTY, SYNTAX, ""]);
    (base, prop::collection::vec(edit, 0..8)).prop_map(|(base, edits)| {
        let mut text = base.to_owned();
        for (from, length, piece) in edits {
            let from = text.floor_char_boundary(from.index(text.len() + 1));
            let to = text.floor_char_boundary(from + length.index(text.len() - from + 1).min(40));
            text.replace_range(from..to, &piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_the_reader(text in mutated()) {
        let file = Path::new("/nowhere/raddle.toml");
        let (_, faults) = Config::parse("raddle.toml", file, &text);
        let lines = text.lines().count().max(1) + 1;
        for fault in faults {
            let Some(place) = &fault.place else { panic!("a fault of a file has a place") };
            prop_assert!((1..=lines).contains(&place.line), "{fault}");
            prop_assert_eq!(fault.to_string().lines().count(), 1);
        }
    }
}
