//! The tool that loads others.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_toolbox::tool;
use raddle_sdk::types::Entry;
use raddle_sdk::{Environment, Fact};

fn environment(deferred: Option<&str>) -> Environment {
    let tool = |name: &str| Entry {
        name: name.to_owned(),
        description: String::new(),
    };
    Environment {
        agents: Vec::new(),
        providers: Vec::new(),
        tools: vec![tool("github.issue"), tool("github.pull"), tool("read")],
        connections: Vec::new(),
        files: Vec::new(),
        facts: deferred
            .map(|names| Fact::new("deferred-tools", names))
            .into_iter()
            .collect(),
    }
}

#[test]
fn namespaces_with_tools_can_be_loaded_and_no_others() {
    let tool = tool(&environment(Some("github empty"))).unwrap();
    assert!(tool.description.ends_with("\n- github: issue, pull"));
    assert!(tool.parameters.contains(r#""enum":["github"]"#));
}

#[test]
fn without_deferred_tools_there_is_nothing_to_load() {
    assert!(tool(&environment(None)).is_none());
    assert!(tool(&environment(Some("empty"))).is_none());
}
