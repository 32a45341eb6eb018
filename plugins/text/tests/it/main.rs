//! What the plugin answers to the host.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use raddle_plugin_text::Plugin;
use raddle_sdk::sections::{Guest, Section};
use raddle_sdk::testing::with_settings;
use raddle_sdk::types::File;
use raddle_sdk::{Content, Environment, Error, ErrorKind, Lifetime};
use serde_json::{Value, json};

fn offered(settings: &Value, environment: Environment) -> Result<Vec<Section>, Error> {
    with_settings(&settings.to_string(), || Plugin::offer(environment))
}

fn file(setting: &str, path: &str, text: &str) -> File {
    File {
        setting: setting.to_owned(),
        path: path.to_owned(),
        digest: String::new(),
        text: text.to_owned(),
    }
}

#[test]
fn text_stands_as_written_with_the_defaults_of_a_section() {
    let settings = json!({ "sections": [
        { "name": "style", "order": 40, "text": "Speak as <<agent>>.\n" },
    ] });
    let sections = offered(&settings, Environment::default()).expect("good settings");
    let [section] = sections.as_slice() else {
        panic!("one section, not {sections:?}");
    };
    assert_eq!((section.name.as_str(), section.order), ("style", 40));
    assert_eq!(
        section.content,
        Content::Fixed("Speak as <<agent>>.".to_owned())
    );
    assert_eq!(
        (section.verbatim, section.lifetime),
        (false, Lifetime::Session)
    );
}

#[test]
fn files_come_by_the_place_of_their_setting() {
    let settings = json!({ "sections": [
        { "name": "first", "order": 1, "file": "words.md" },
        { "name": "second", "order": 2, "text": "between" },
        { "name": "third", "order": 3, "file": "words.md", "verbatim": true, "lifetime": "turn" },
    ] });
    let environment = Environment {
        files: vec![
            file("/sections/0/file", "words.md", "\u{feff}one\n"),
            file("/sections/2/file", "words.md", "x << 2\r\n"),
        ],
        ..Environment::default()
    };
    let sections = offered(&settings, environment).expect("good settings");
    let texts: Vec<_> = sections
        .iter()
        .map(|section| section.content.clone())
        .collect();
    let fixed = |text: &str| Content::Fixed(text.to_owned());
    assert_eq!(texts, [fixed("one"), fixed("between"), fixed("x << 2")]);
    assert_eq!(
        (sections[2].verbatim, sections[2].lifetime),
        (true, Lifetime::Turn)
    );
}

#[test]
fn a_section_needs_one_source_and_a_fault_names_it() {
    for (entry, expected) in [
        (
            json!({ "name": "empty", "order": 1 }),
            "add `text` or `file`",
        ),
        (
            json!({ "name": "double", "order": 1, "text": "a", "file": "b" }),
            "keep one",
        ),
        (
            json!({ "name": "unread", "order": 1, "file": "b.md" }),
            "did not read `b.md`",
        ),
    ] {
        let error =
            offered(&json!({ "sections": [entry] }), Environment::default()).expect_err("no text");
        let name = entry["name"].as_str().expect("a name");
        assert!(
            error.message.contains(&format!("`{name}`")),
            "{}",
            error.message
        );
        assert!(error.message.contains(expected), "{}", error.message);
    }
}

#[test]
fn what_the_schema_does_not_allow_is_refused_here_too() {
    let settings = json!({ "sections": [{ "name": "a", "order": 1, "texte": "b" }] });
    let error = offered(&settings, Environment::default()).expect_err("unknown key");
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.message.contains("texte"), "{}", error.message);
}

#[test]
fn the_schema_declares_the_file_setting() {
    let schema: Value =
        serde_json::from_str(&<Plugin as raddle_sdk::settings::Guest>::describe()).expect("JSON");
    let section = &schema["properties"]["sections"]["items"];
    assert_eq!(section["properties"]["file"]["format"], "file");
    assert_eq!(section["additionalProperties"], json!(false));
}
