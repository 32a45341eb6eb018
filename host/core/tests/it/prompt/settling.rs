//! Contributions as a function of the environment, until nothing changes.

use std::sync::Arc;

use raddle_core::plugins::{Entry, Environment, Fact, Plugin};
use raddle_core::registry::{RegistryFault, RegistryOptions, contributions};

use super::fixture::{
    Offers, TestPlugin, build, faults, lines, offer, offering, plugin, registry, trap,
};

fn has_tool(environment: &Environment, name: &str) -> bool {
    environment.tools.iter().any(|tool| tool.name == name)
}

#[tokio::test]
async fn a_tool_exists_exactly_while_what_it_needs_does() {
    let follower = || {
        offering("follower", |environment| {
            match environment
                .agents
                .iter()
                .find(|agent| agent.name == "coder")
            {
                Some(agent) => offer().tool("ask", &format!("Asks {}", agent.name)),
                None => offer(),
            }
        })
    };
    let alone = registry(&[follower()]).await;
    assert!(alone.tools().is_empty());
    for plugins in [
        [follower(), plugin("agents", offer().agent("coder"))],
        [plugin("agents", offer().agent("coder")), follower()],
    ] {
        let both = registry(&plugins).await;
        assert_eq!(both.tools()[0].tool.description, "Asks coder");
        assert_eq!(both.environment().agents[0].name, "coder");
        assert_eq!(both.environment().tools[0].name, "ask");
    }
}

/// A plugin that offers `own` once `needed` is there.
fn link(own: usize) -> Arc<TestPlugin> {
    offering(&format!("link-{own:02}"), move |environment| {
        let needed = format!("tool-{}", own.wrapping_sub(1));
        if own == 0 || has_tool(environment, &needed) {
            offer().tool(&format!("tool-{own}"), "")
        } else {
            offer()
        }
    })
}

#[tokio::test]
async fn a_long_chain_settles() {
    let plugins: Vec<_> = (0..30).rev().map(link).collect();
    assert_eq!(registry(&plugins).await.tools().len(), 30);
}

#[tokio::test]
async fn a_cycle_that_does_not_settle_is_named() {
    let unless = |id: &str, own: &'static str, other: &'static str| {
        offering(id, move |environment| {
            if has_tool(environment, other) {
                offer()
            } else {
                offer().tool(own, "")
            }
        })
    };
    let found = faults(&[
        unless("left", "a", "b"),
        unless("right", "b", "a"),
        plugin("bystander", offer().tool("c", "")),
    ])
    .await;
    insta::assert_snapshot!(lines(&found), @"the offers of plugins `left`, `right` keep changing, because each depends on what the others offer; what comes and goes: tool a, tool b");
}

#[tokio::test]
async fn an_offer_that_only_grows_is_stopped() {
    let grower = offering("grower", |environment| {
        offer().tool(
            "count",
            &format!(
                "{}x",
                environment
                    .tools
                    .first()
                    .map_or("", |tool| &tool.description)
            ),
        )
    });
    let found = faults(&[grower]).await;
    assert!(
        matches!(&found[..], [RegistryFault::Unsettled { plugins, .. }] if plugins == &["grower"]),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_plugin_that_fails_is_named_along_with_everything_else_that_is_wrong() {
    let broken = build("broken", |_| Err(trap("broken")), |_, _| Ok(None));
    let found = faults(&[
        broken,
        plugin(
            "words",
            offer()
                .section("uses", 1, "<<from_broken>> and <<Bad>>")
                .section("two words", 1, ""),
        ),
    ])
    .await;
    insta::assert_snapshot!(lines(&found));
    assert_eq!(found[0].plugin(), Some("broken"));
}

#[tokio::test]
async fn the_environment_is_sorted_and_holds_the_hosts_facts() {
    let seen = offering("seer", |environment: &Environment| {
        let names: Vec<&str> = environment
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let facts: Vec<&str> = environment
            .facts
            .iter()
            .map(|fact| fact.value.as_str())
            .collect();
        offer().section("seen", 1, &format!("{names:?} {facts:?}"))
    });
    let plugins: Vec<Arc<dyn Plugin>> = vec![
        plugin("z", offer().tool("b", "").tool("a", "")),
        seen,
        plugin("a", offer().tool("c", "")),
    ];
    let fact = |name: &str, value: &str| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let host = Environment {
        agents: vec![Entry {
            name: "not the host's".to_owned(),
            description: String::new(),
        }],
        facts: vec![fact("z", "last"), fact("a", "first")],
        ..Environment::default()
    };
    let registry = contributions(&plugins, &host, &RegistryOptions::default())
        .await
        .ok()
        .unwrap();
    let names: Vec<&str> = registry
        .environment()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(registry.environment().agents.is_empty());
    let registry = Arc::new(registry);
    let mut prompt = raddle_core::prompt::Prompt::new(registry, None, Default::default())
        .ok()
        .unwrap();
    let assembly = super::fixture::step(&mut prompt, 1, 1).await.ok().unwrap();
    assert_eq!(assembly.system(), r#"["a", "b", "c"] ["first", "last"]"#);
}
