//! What the plugin answers to the host.

use raddle_plugin_instructions::{Plugin, Settings};
use raddle_sdk::sections::Guest;
use raddle_sdk::testing::with_settings;
use raddle_sdk::{Content, Context, Environment, ErrorKind, Lifetime};
use serde_json::{Value, json};

#[test]
fn one_verbatim_section_that_lives_for_the_session() {
    for (settings, order) in [(json!({}), 300), (json!({ "order": 20 }), 20)] {
        let sections = with_settings(&settings.to_string(), || {
            Plugin::offer(Environment::default())
        })
        .expect("good settings");
        let [section] = sections.as_slice() else {
            panic!("one section, not {sections:?}");
        };
        assert_eq!(
            (section.name.as_str(), section.order),
            ("instructions", order)
        );
        assert_eq!(
            (section.verbatim, section.lifetime),
            (true, Lifetime::Session)
        );
        assert_eq!(section.content, Content::Computed);
    }
}

#[test]
fn without_a_directory_there_is_no_text() {
    let text = Plugin::render("instructions".to_owned(), Context::default());
    assert_eq!(text, Ok(None));
}

#[test]
fn another_section_is_not_found() {
    let error = Plugin::render("others".to_owned(), Context::default()).expect_err("no such");
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn the_schema_states_the_settings_and_their_defaults() {
    let schema: Value =
        serde_json::from_str(&<Plugin as raddle_sdk::settings::Guest>::describe()).expect("JSON");
    let properties = schema["properties"].as_object().expect("an object");
    let names: Vec<_> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["names", "max_bytes", "order"]);
    let defaults = Settings::default();
    for (name, default) in [
        ("names", json!(defaults.names).to_string()),
        ("max_bytes", defaults.max_bytes.to_string()),
        ("order", defaults.order.to_string()),
    ] {
        let description = properties[name]["description"].as_str().expect("words");
        assert!(
            description.contains(&format!("{default} if absent")),
            "{name}"
        );
    }
}
