//! The SDK against the contract in `wit/`.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use std::collections::BTreeSet;
use std::fs;

/// The interfaces named in `text` after `keyword`, such as `import log;` or
/// `import raddle:plugin/log@0.1.0;`.
fn named(text: &str, keyword: &str) -> BTreeSet<String> {
    text.split(['{', '}', ';', '"', '\n'])
        .filter_map(|statement| statement.trim().strip_prefix(keyword)?.strip_prefix(' '))
        .map(|name| name.trim_start_matches("raddle:plugin/"))
        .map(|name| name.split('@').next().unwrap_or(name).to_owned())
        .collect()
}

#[test]
fn everything_in_the_contract_has_bindings() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let read = |path: &str| fs::read_to_string(format!("{folder}/{path}")).expect("a file");
    let (contract, bindings) = (read("../../wit/host.wit"), read("src/__bindings.rs"));
    let (exports, imports) = (named(&contract, "export"), named(&contract, "import"));
    assert!(exports.contains("sections") && imports.contains("workspace"));
    assert_eq!(named(&bindings, "export"), exports);
    let shared = BTreeSet::from(["types".to_owned()]);
    assert_eq!(named(&bindings, "import"), &imports | &shared);
}

/// The caller names the agent before the deployment does, and the deployment before the parent.
#[test]
fn a_hosted_child_is_the_agent_that_is_named() {
    let assignment = |agent: Option<&str>| raddle_sdk::subagents::Assignment {
        provider: "spawn".to_owned(),
        session: "child".to_owned(),
        prompt: "Count the files.".to_owned(),
        agent: agent.map(str::to_owned),
        options: Vec::new(),
    };
    let hosted = raddle_sdk::hosted::Hosted {
        provider: None,
        agent: Some("helper".to_owned()),
    };
    let work = hosted.clone().work(assignment(Some("reviewer")), true);
    assert_eq!(
        (work.agent.as_deref(), work.inherit),
        (Some("reviewer"), true)
    );
    assert_eq!(work.prompt, "Count the files.");
    let work = hosted.work(assignment(None), false);
    assert_eq!(
        (work.agent.as_deref(), work.inherit),
        (Some("helper"), false)
    );
}
