//! What is offered, and what a call asks of the host.

use raddle_plugin_bash::Bash;
use raddle_plugin_bash::call::Arguments;
use raddle_plugin_bash::settings::Settings;
use raddle_sdk::Environment;
use raddle_sdk::testing::with_settings;
use raddle_sdk::tools::{Guest, Tool};
use serde_json::Value;

fn offered(settings: &str) -> Tool {
    let mut tools = with_settings(settings, || Bash::offer(Environment::default())).unwrap();
    assert_eq!(tools.len(), 1);
    tools.remove(0)
}

#[test]
fn one_tool_with_its_section_about_the_marker() {
    let tool = offered("{}");
    assert_eq!(tool.name, "bash");
    let schema: Value = serde_json::from_str(&tool.parameters).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["command"]));
    let guidance = tool.guidance.unwrap();
    assert_eq!(guidance.order, 105);
    assert!(
        guidance.text.contains("[exit code: N]"),
        "{}",
        guidance.text
    );
    assert!(guidance.text.contains("the bash tool"), "{}", guidance.text);
}

#[test]
fn another_name_goes_into_the_words() {
    let tool = offered(r#"{"tool":"shell"}"#);
    assert_eq!(tool.name, "shell");
    assert!(tool.guidance.unwrap().text.contains("the shell tool"));
}

#[test]
fn a_call_runs_the_command_and_nothing_else() {
    let settings = Settings::default();
    let arguments = |timeout_seconds| Arguments {
        command: "echo \"$HOME\"".to_owned(),
        timeout_seconds,
    };
    let command = arguments(None).command(&settings);
    assert_eq!(command.program, "bash");
    assert_eq!(command.arguments, ["-c", "echo \"$HOME\""]);
    assert!(command.environment_variables.is_empty());
    assert_eq!(command.max_output % 2, 0);
    let seconds = |timeout| arguments(timeout).command(&settings).timeout_ms.unwrap() / 1000;
    assert_eq!(seconds(None), settings.timeout_seconds);
    assert_eq!(seconds(Some(7)), 7);
    assert_eq!(seconds(Some(u32::MAX)), settings.longest_timeout_seconds);
}
