//! What is offered.

use raddle_plugin_web::Web;
use raddle_sdk::Environment;
use raddle_sdk::testing::with_settings;
use raddle_sdk::tools::{Guest, Tool};
use serde_json::Value;

fn offered(settings: &str) -> Tool {
    let mut tools = with_settings(settings, || Web::offer(Environment::default())).unwrap();
    assert_eq!(tools.len(), 1);
    tools.remove(0)
}

#[test]
fn one_tool_with_its_section() {
    let tool = offered("{}");
    assert_eq!(tool.name, "fetch");
    let schema: Value = serde_json::from_str(&tool.parameters).unwrap();
    assert_eq!(schema["required"], serde_json::json!(["url"]));
    let guidance = tool.guidance.unwrap();
    assert_eq!(guidance.order, 110);
    assert!(
        guidance.text.contains("the fetch tool"),
        "{}",
        guidance.text
    );

    let renamed = offered(r#"{"tool":"web.get"}"#);
    assert_eq!(renamed.name, "web.get");
    assert!(renamed.guidance.unwrap().text.contains("the web.get tool"));
}
