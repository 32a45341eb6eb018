//! One owner for each name, and every fault at once.

use raddle_core::plugins::{Fact, Lifetime, Offer, Tool};
use raddle_core::registry::{RegistryFault, wire_name};
use serde_json::{Value, json};

use super::fixture::{
    Offers, assemble, faults, lines, load, load_ordered, offer, plugin, registry,
};

#[tokio::test]
async fn without_plugins_there_is_nothing() {
    let assembly = assemble(&[]).await;
    assert_eq!(assembly.system(), "");
    assert!(assembly.tools().is_empty());
    assert!(assembly.tail.is_empty());
    assert!(assembly.explain(None).spans.is_empty());
}

#[tokio::test]
async fn every_duplicate_names_both_owners_at_once() {
    let one = || {
        offer()
            .section("rules", 10, "text")
            .variable("model", "m")
            .tool("read", "Reads")
            .agent("coder")
    };
    let found = faults(&[plugin("beta", one()), plugin("alpha", one())]).await;
    insta::assert_snapshot!(lines(&found), @r"
    variable `model` has two owners, plugin `alpha` and plugin `beta`: every variable has exactly one
    section `rules` has two owners, plugin `alpha` and plugin `beta`: every section has exactly one
    tool `read` has two owners, plugin `alpha` and plugin `beta`: every tool has exactly one
    agent `coder` has two owners, plugin `alpha` and plugin `beta`: every agent has exactly one
    ");
}

#[tokio::test]
async fn a_plugin_that_offers_a_name_twice_is_told_so() {
    let twice = offer().variable("model", "a").variable("model", "b");
    let found = faults(&[plugin("facts", twice)]).await;
    insta::assert_snapshot!(lines(&found), @"variable `model` has two owners, plugin `facts` and again plugin `facts`: every variable has exactly one");
}

#[tokio::test]
async fn two_plugins_of_one_id_are_refused() {
    let found = faults(&[plugin("a", offer()), plugin("a", offer())]).await;
    insta::assert_snapshot!(lines(&found), @"two plugins are called `a`");
}

#[tokio::test]
async fn names_outside_the_grammar_are_refused() {
    let odd = offer()
        .variable("Model", "m")
        .variable("1st", "m")
        .variable("", "m")
        .section("two words", 1, "text")
        .section("a\"b", 1, "text")
        .tool("we b", "Searches")
        .tool("naïve", "Is")
        .agent("Code\nR");
    insta::assert_snapshot!(lines(&faults(&[plugin("odd", odd)]).await));
}

#[tokio::test]
async fn reserved_names_are_refused_with_the_way_to_do_it() {
    let reserved = offer()
        .section("agent:persona", 0, "You are somebody")
        .section("tool:bash", 105, "Check the marker");
    insta::assert_snapshot!(lines(&faults(&[plugin("words", reserved)]).await), @r"
    section `agent:persona` of plugin `words`: the name is reserved for the active agent's body (offer an agent instead)
    section `tool:bash` of plugin `words`: the name is reserved for the guidance of a tool (offer it with the tool instead)
    ");
}

#[tokio::test]
async fn names_on_the_wire_are_reversible_short_and_unique() {
    let long = format!("server.{}", "x".repeat(58));
    let found = faults(&[
        plugin("one", offer().tool("a.b", "One").tool(&long, "Long")),
        plugin("two", offer().tool("a__b", "Two")),
    ])
    .await;
    insta::assert_snapshot!(lines(&found));

    let fits = format!("server.{}", "x".repeat(56));
    assert_eq!(wire_name(&fits).len(), 64);
    let registry = registry(&[plugin(
        "one",
        offer()
            .tool("github.create_issue", "Creates")
            .tool(&fits, "Fits"),
    )])
    .await;
    for name in ["github.create_issue", "github__create_issue"] {
        assert_eq!(
            registry.tool(name).unwrap().tool.name,
            "github.create_issue"
        );
    }
    assert_eq!(registry.tools()[0].schema.name, "github__create_issue");
    assert!(registry.tool("github").is_none());
}

fn tool_with(parameters: Value) -> Offer {
    let mut offer = offer();
    offer.tools.push(Tool {
        name: "tool".to_owned(),
        description: String::new(),
        parameters,
        guidance: None,
        hints: Vec::new(),
    });
    offer
}

#[tokio::test]
async fn calls_wait_for_each_other_by_an_argument_that_there_is() {
    let exclusive = |argument: &str| {
        let properties = json!({"path": {"type": "string"}});
        let mut offer = tool_with(json!({"type": "object", "properties": properties}));
        offer.tools[0].hints = vec![Fact {
            name: "exclusive".to_owned(),
            value: argument.to_owned(),
        }];
        [plugin("p", offer)]
    };
    assert!(load(&exclusive("path")).await.is_ok());
    let found = faults(&exclusive("true")).await;
    insta::assert_snapshot!(lines(&found), @"tool `tool` of plugin `p`: its hint `exclusive` names `true`, which is none of its parameters");
    assert_eq!(found[0].plugin(), Some("p"));
}

#[tokio::test]
async fn parameters_are_the_schema_of_an_object() {
    let mut messages = Vec::new();
    for parameters in [
        json!(null),
        json!({}),
        json!({"type": "string"}),
        json!({"type": "object", "properties": {"path": {"type": "strin"}}}),
        json!({"type": "object", "required": "path"}),
        json!({"type": "object", "properties": {"path": {"$ref": "#/definitions/missing"}}}),
        json!({"type": "object", "properties": {"path": {"$ref": "http://127.0.0.1:9/schema"}}}),
        json!({"type": "object", "properties": {"path": {"pattern": "("}}}),
    ] {
        let found = faults(&[plugin("p", tool_with(parameters))]).await;
        assert!(
            matches!(&found[..], [RegistryFault::Parameters { .. }]),
            "{found:?}"
        );
        messages.push(lines(&found));
    }
    insta::assert_snapshot!(lines(&messages));
    assert!(
        load(&[plugin("p", tool_with(json!({"type": "object"})))])
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn arguments_are_checked_by_the_schema() {
    let schema = json!({
        "type": "object",
        "properties": {"path": {"type": "string"}, "line": {"type": "integer", "minimum": 1}},
        "required": ["path"],
        "additionalProperties": false,
    });
    let registry = registry(&[plugin("p", tool_with(schema))]).await;
    let tool = registry.tool("tool").unwrap();
    assert_eq!(tool.arguments_fault(&json!({"path": "a", "line": 2})), None);
    let fault = tool
        .arguments_fault(&json!({"line": 0, "pth": "a"}))
        .unwrap();
    insta::assert_snapshot!(fault);
}

#[tokio::test]
async fn references_are_checked_at_load() {
    let words = offer()
        .section("persona-like", 1, "On <<modle>>,\nin << cwd >>.")
        .section("today", 2, "It is <<date>>.")
        .section_of("always", 3, Lifetime::Deployment, "In <<cwd>>.")
        .section_of("now", 4, Lifetime::Turn, "At <<clock>> on <<date>>.")
        .guided_tool("bash", 105, "It is <<date>>.");
    let facts = offer()
        .computed_variable("model", Lifetime::Session)
        .computed_variable("cwd", Lifetime::Session)
        .computed_variable("date", Lifetime::Turn)
        .computed_variable("clock", Lifetime::Step);
    let found = faults(&[plugin("words", words), plugin("facts", facts)]).await;
    insta::assert_snapshot!(lines(&found));
}

#[tokio::test]
async fn the_order_of_plugins_does_not_matter() {
    let make = |name: &'static str| {
        plugin(
            name,
            offer()
                .section(&format!("{name}-one"), 5, name)
                .section(&format!("{name}-two"), 5, name)
                .guided_tool(&format!("{name}.tool"), 100, name)
                .variable(&format!("{name}_var"), name),
        )
    };
    let plugins = [make("c"), make("a"), make("d"), make("b")];
    let expected = assemble(&plugins).await;
    let mut order = [0, 1, 2, 3];
    for _ in 0..8 {
        order.rotate_left(1);
        order.swap(0, 2);
        let shuffled = order.map(|index| plugins[index].clone());
        let assembly = assemble(&shuffled).await;
        assert_eq!(assembly.system(), expected.system());
        assert_eq!(assembly.prefix.tools_json(), expected.prefix.tools_json());
    }
    assert_eq!(
        expected.system(),
        "a\n\na\n\nb\n\nb\n\nc\n\nc\n\nd\n\nd\n\na\n\nb\n\nc\n\nd"
    );
}

#[tokio::test]
async fn tools_sort_by_name_unless_the_config_lists_an_order() {
    let plugins = [
        plugin("one", offer().tool("write", "").tool("bash", "")),
        plugin("two", offer().tool("read", "").tool("edit", "")),
    ];
    let names = |registry: &raddle_core::registry::Registry| {
        let tools = registry.tools().iter();
        tools
            .map(|entry| entry.tool.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&*registry(&plugins).await),
        ["bash", "edit", "read", "write"]
    );
    let ordered = load_ordered(&plugins, Some(&["read", "write"]))
        .await
        .ok()
        .unwrap();
    assert_eq!(names(&ordered), ["read", "write", "bash", "edit"]);
    let wrong = load_ordered(&plugins, Some(&["raed", "write", "write"]))
        .await
        .err()
        .unwrap();
    insta::assert_snapshot!(lines(&wrong), @r"
    `[tools] order` names `raed`, which no plugin offers; did you mean `read`? (there are: bash, edit, read, write)
    `[tools] order` names `write` twice
    ");
}

#[tokio::test]
async fn an_agent_cannot_be_given_a_tool_that_nobody_offers() {
    let tools = plugin("tools", offer().tool("read", "Reads").tool("bash", "Runs"));
    let agents = offer()
        .agent_with_tools("coder", &["read", "bahs"])
        .agent_with_tools("helper", &["zzz"]);
    let found = faults(&[plugin("persona", agents), tools]).await;
    insta::assert_snapshot!(lines(&found), @r"
    agent `coder` of plugin `persona`: its `tools` name `bahs`, which no plugin offers; did you mean `bash`? (there are: bash, read)
    agent `helper` of plugin `persona`: its `tools` name `zzz`, which no plugin offers (there are: bash, read)
    ");
    assert!(found.iter().all(|fault| fault.plugin() == Some("persona")));
}

#[tokio::test]
async fn schemas_keep_the_order_of_their_members() {
    let text = r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}},"required":["z"]}"#;
    let registry = registry(&[plugin("p", tool_with(serde_json::from_str(text).unwrap()))]).await;
    assert_eq!(registry.tools()[0].schema.parameters.to_string(), text);
}

#[tokio::test]
async fn what_is_found_is_found_by_name() {
    let registry = registry(&[
        plugin("b", offer().agent("coder")),
        plugin("a", offer().section("one", 1, "")),
    ])
    .await;
    let ids: Vec<&str> = registry
        .plugins()
        .iter()
        .map(|p| p.info().id.as_str())
        .collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(registry.plugin("b").unwrap().info().source, "test:b");
    assert!(registry.plugin("c").is_none());
    assert_eq!(&*registry.agent("coder").unwrap().plugin, "b");
    assert!(registry.agent("other").is_none());
}
