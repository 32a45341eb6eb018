//! What the plugin answers to the host.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use raddle_plugin_persona::Plugin;
use raddle_sdk::agents::Guest;
use raddle_sdk::testing::with_settings;
use raddle_sdk::{Context, Environment, ErrorKind};
use serde_json::{Value, json};

fn loaded(settings: &Value, name: &str) -> Result<String, raddle_sdk::Error> {
    with_settings(&settings.to_string(), || {
        Plugin::load(name.to_owned(), Context::default())
    })
}

#[test]
fn offers_the_agent_of_the_settings() {
    let settings = json!({
        "agent": "reviewer",
        "text": "You review.",
        "description": "Reviews changes.",
        "model": "small",
        "tools": ["read"],
    });
    let agents = with_settings(&settings.to_string(), || {
        Plugin::offer(Environment::default())
    })
    .expect("the settings are good");
    let [agent] = agents.as_slice() else {
        panic!("one agent, not {agents:?}");
    };
    assert_eq!(agent.name, "reviewer");
    assert_eq!(agent.description, "Reviews changes.");
    assert_eq!(agent.model.as_deref(), Some("small"));
    assert_eq!(agent.tools, ["read"]);
}

#[test]
fn the_body_is_the_template_as_written_without_the_final_line_end() {
    let settings = json!({ "agent": "a", "text": "You are <<agent>>.\n\nBe brief.\n" });
    assert_eq!(
        loaded(&settings, "a").as_deref(),
        Ok("You are <<agent>>.\n\nBe brief.")
    );
}

#[test]
fn another_agent_is_not_found_and_names_the_one_there_is() {
    let error = loaded(&json!({ "agent": "a", "text": "x" }), "b").expect_err("there is no b");
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("`b`") && error.message.contains("`a`"));
}

#[test]
fn the_schema_knows_every_setting_that_is_read() {
    let schema: Value =
        serde_json::from_str(&<Plugin as raddle_sdk::settings::Guest>::describe()).expect("JSON");
    let properties = schema["properties"].as_object().expect("an object");
    // All of them at once are accepted: none is unknown to the code.
    let all: serde_json::Map<String, Value> = properties
        .iter()
        .map(|(name, property)| {
            let value = if property["type"] == "array" {
                json!([])
            } else {
                json!("x")
            };
            (name.clone(), value)
        })
        .collect();
    assert_eq!(loaded(&Value::Object(all), "x").as_deref(), Ok("x"));
    assert_eq!(schema["additionalProperties"], json!(false));
}
