//! What is offered, and under which names.

use raddle_plugin_files::Files;
use raddle_plugin_files::offer::Settings;
use raddle_sdk::Environment;
use raddle_sdk::testing::with_settings;
use raddle_sdk::tools::{Guest, Tool};
use serde_json::{Value, json};

use crate::folder::Folder;

fn offered(settings: &str) -> Vec<Tool> {
    with_settings(settings, || Files::offer(Environment::default())).unwrap()
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn six_tools_and_one_section() {
    let tools = offered("{}");
    assert_eq!(
        names(&tools),
        ["edit", "find", "list", "read", "search", "write"]
    );
    for tool in &tools {
        let schema: Value = serde_json::from_str(&tool.parameters).unwrap();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        assert!(!tool.description.is_empty() && !tool.description.contains('{'));
        match (&tool.guidance, tool.name.as_str()) {
            (Some(guidance), "read") => {
                assert_eq!(guidance.order, 101);
                assert!(guidance.text.contains("not with shell commands like cat"));
                assert!(guidance.text.contains("the read tool"));
            }
            (guidance, name) => assert_eq!(*guidance, None, "{name}"),
        }
    }
}

#[test]
fn changes_of_one_file_are_exclusive_and_looking_is_read_only() {
    for tool in offered("{}") {
        let hint = |name: &str| {
            tool.hints
                .iter()
                .find(|hint| hint.name == name)
                .map(|hint| hint.value.as_str())
        };
        let changes = matches!(tool.name.as_str(), "edit" | "write");
        assert_eq!(
            hint("read-only"),
            (!changes).then_some("true"),
            "{}",
            tool.name
        );
        if changes {
            assert_eq!(hint("exclusive"), Some("path"), "{}", tool.name);
        }
    }
}

#[test]
fn a_prefix_goes_into_names_and_words() {
    let settings = r#"{"prefix":"notes.","tools":["read","write"]}"#;
    let tools = offered(settings);
    assert_eq!(names(&tools), ["notes.read", "notes.write"]);
    let guidance = tools[0].guidance.as_ref().unwrap();
    assert!(guidance.text.contains("the notes.read tool"));
    assert!(!tools[1].description.contains('{'));

    let settings: Settings = serde_json::from_str(settings).unwrap();
    let folder = Folder::new();
    folder.put("a", "x\n");
    let answer = folder
        .call_with(&settings, "notes.read", json!({ "path": "a" }))
        .unwrap();
    assert_eq!(answer.text, "1\tx\n");
    for name in ["read", "notes.edit"] {
        let error = folder
            .call_with(&settings, name, json!({ "path": "a" }))
            .unwrap_err();
        assert_eq!(error.code, "tool", "{name}");
    }
}
