//! What the provider says of itself.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_fork::Fork;
use raddle_sdk::Environment;
use raddle_sdk::subagents::Guest as _;
use raddle_sdk::testing::with_settings;
use serde_json::json;

#[test]
fn the_provider_tells_whether_its_children_inherit() {
    for (settings, name) in [
        (json!({}), "fork"),
        (json!({ "provider": "helpers" }), "helpers"),
    ] {
        let offered = with_settings(&settings.to_string(), || Fork::offer(nothing()).unwrap());
        assert_eq!(offered.len(), 1);
        assert_eq!(offered[0].name, name);
        assert!(offered[0].inherits_parent_context);
        assert_eq!(offered[0].capabilities, ["agent"]);
    }
}

fn nothing() -> Environment {
    Environment {
        agents: Vec::new(),
        providers: Vec::new(),
        tools: Vec::new(),
        connections: Vec::new(),
        files: Vec::new(),
        facts: Vec::new(),
    }
}
