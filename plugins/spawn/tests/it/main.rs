//! What the provider says of itself, and how its children run.

use raddle_plugin_spawn::Settings;
use raddle_sdk::subagents::Assignment;

fn assignment(agent: Option<&str>) -> Assignment {
    Assignment {
        provider: "spawn".to_owned(),
        session: "child".to_owned(),
        prompt: "Count the files.".to_owned(),
        agent: agent.map(str::to_owned),
        options: Vec::new(),
    }
}

#[test]
fn the_provider_tells_whether_its_children_inherit() {
    let provider = Settings::default().provider();
    assert_eq!(provider.name, "spawn");
    assert!(!provider.inherits_parent_context);
    let named = Settings {
        provider: Some("helpers".to_owned()),
        agent: None,
    };
    assert_eq!(named.provider().name, "helpers");
}

#[test]
fn the_caller_names_the_agent_before_the_deployment_does() {
    let settings = Settings {
        provider: None,
        agent: Some("helper".to_owned()),
    };
    let work = settings.clone().work(assignment(None));
    assert_eq!(work.agent.as_deref(), Some("helper"));
    assert_eq!(work.prompt, "Count the files.");
    assert!(!work.inherit);
    let work = settings.work(assignment(Some("reviewer")));
    assert_eq!(work.agent.as_deref(), Some("reviewer"));
}
