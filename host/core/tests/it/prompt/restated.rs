//! Facts restated by hand.

use std::sync::Arc;

use raddle_core::plugins::{Context, Lifetime, Question};
use raddle_core::prompt::restated;

use super::fixture::{
    Offers, TestPlugin, answering, facts, lines, offer, persona, plugin, registry,
};

async fn findings(plugins: &[Arc<TestPlugin>], allow: &[&str]) -> Vec<String> {
    let registry = registry(plugins).await;
    let allow: Vec<String> = allow.iter().map(|entry| (*entry).to_owned()).collect();
    let found = restated(&registry, "gpt-5.1", &allow).await;
    found.iter().map(ToString::to_string).collect()
}

/// What is found in a text that stands beside a few real tools.
async fn found_in(text: &str) -> Vec<String> {
    let tools = offer()
        .tool("bash", "Runs")
        .tool("read_file", "Reads")
        .tool("github.create_issue", "Creates");
    let plugins = [
        plugin("words", offer().section("house", 5, text)),
        plugin("tools", tools),
        facts(),
    ];
    findings(&plugins, &[]).await
}

#[tokio::test]
async fn each_kind_is_found_with_its_place_and_owner() {
    let text = "You run on GPT-5.1, made well.\nUse `web_search` and the `fetch` tool.\nYou are {{ model }}, not {{x}}.";
    let found = found_in(text).await;
    insta::assert_snapshot!(lines(&found));
}

#[tokio::test]
async fn the_owner_may_state_its_fact() {
    let stated = answering(
        "facts",
        offer()
            .computed_variable("model", Lifetime::Session)
            .section("who", 1, "The model is gpt-5.1."),
        |_, context| context.model.clone(),
    );
    assert!(findings(&[stated], &[]).await.is_empty());
}

#[tokio::test]
async fn values_are_whole_words_of_four_characters() {
    for (text, count) in [
        ("gpt-5.1", 1),
        ("`gpt-5.1`.", 1),
        ("openai/gpt-5.1, gpt-5.1-mini", 1),
        ("my-gpt-5.1 gpt-5.10 xgpt-5.1 gpt-5.1_x", 0),
        ("gpt-5.1. Gpt-5.1!", 2),
        ("It is on <<model>>.", 0),
        ("gpt-5", 0),
        ("the Coder or the encoder", 0),
        ("the coder", 1),
    ] {
        let plugins = [
            plugin("words", offer().section("house", 5, text)),
            facts(),
            persona("Hi."),
        ];
        let found = findings(&plugins, &[]).await;
        assert_eq!(found.len(), count, "{text}: {found:?}");
    }
}

#[tokio::test]
async fn a_short_value_is_not_looked_for() {
    let plugins = [
        plugin(
            "words",
            offer().section("house", 5, "the x86 way and the x8664 way"),
        ),
        plugin(
            "facts",
            offer().variable("arch", "x86").variable("long", "x8664"),
        ),
    ];
    let found = findings(&plugins, &[]).await;
    assert_eq!(found.len(), 1, "{found:?}");
}

#[tokio::test]
async fn what_a_session_knows_is_never_looked_at() {
    let text = "In /srv/work on branch main, 2026-11-30, linux-x86_64, session s1.";
    assert_eq!(found_in(text).await, Vec::<String>::new());
    // And it is not even asked for.
    let facts = facts();
    findings(
        &[
            plugin("words", offer().section("house", 5, text)),
            facts.clone(),
        ],
        &[],
    )
    .await;
    for (_, context) in facts.asked_with() {
        let known = Context {
            agent: context.agent.clone(),
            model: context.model.clone(),
            prompt_variant: context.prompt_variant.clone(),
            ..Context::default()
        };
        assert_eq!(context, known);
    }
}

#[tokio::test]
async fn a_tool_is_told_from_other_code_words() {
    let tools = [
        "Search with `grep_all` first.",
        "Use `fetch` for pages.",
        "Use the `Grep` tool.",
        "Call deploy(target) when done.",
        "Then call_api() it.",
        "The tools `list`, `find` and `bash` are there.",
        "Use `glob` or `bash` to look around.",
        "`plan(steps)` is the tool for plans.",
        "Always use **`todo`** for plans.",
    ];
    let others = [
        "Use `bash` and `read_file`.",
        "Call `github.create_issue` or `github__create_issue`.",
        "Not shell commands like `cat` or `sed`.",
        "Do not use `cat` in the shell.",
        "Prefer `rg` over `grep`.",
        "Pass the file in the `path` parameter, or set the `base_dir` field.",
        "The `old_text` and `new_text` parameters are exact.",
        "Write main() and file(s), e.g. printf(\"x\").",
        "Use `const` over `let`, `Arc` over `Rc`, and `None`.",
        "Edit `Cargo.toml` and run `cargo test`.",
        "Refer to `git_branch` and `model`.",
        "```sh\nuse_this_tool(`other_tool`)\n```",
        "Use \\<<EOF for heredocs.",
        "`[exit code: N]` ends every result.",
        "A `SNAKE_CASE` constant, `__init__`, `_x`.",
    ];
    let mut found = Vec::new();
    for text in tools {
        let findings = found_in(text).await;
        assert!(!findings.is_empty(), "{text}");
        found.extend(findings);
    }
    insta::assert_snapshot!(lines(&found));
    for text in others {
        assert_eq!(found_in(text).await, Vec::<String>::new(), "{text}");
    }
}

#[tokio::test]
async fn allow_silences_one_finding() {
    let plugins = [
        plugin(
            "words",
            offer()
                .section("one", 5, "On gpt-5.1, use `fetch`.")
                .section("two", 6, "On gpt-5.1."),
        ),
        facts(),
    ];
    assert_eq!(findings(&plugins, &[]).await.len(), 3);
    assert_eq!(findings(&plugins, &["gpt-5.1"]).await.len(), 1);
    assert_eq!(findings(&plugins, &["one/gpt-5.1"]).await.len(), 2);
    assert_eq!(findings(&plugins, &["gpt-5.1", "fetch"]).await.len(), 0);
}

#[tokio::test]
async fn personas_and_computed_sections_are_read_too() {
    let computed = answering(
        "text",
        offer()
            .computed_section("long", 5, Lifetime::Session)
            .computed_section("now", 6, Lifetime::Turn),
        |_, _| Some("made for gpt-5.1".to_owned()),
    );
    let found = findings(
        &[computed, facts(), persona("I am gpt-5.1 on <<modle>>.")],
        &[],
    )
    .await;
    insta::assert_snapshot!(lines(&found));
    let found = findings(&[facts(), persona("I am gpt-5.1.\nI am coder.")], &[]).await;
    insta::assert_snapshot!(lines(&found));
}

#[tokio::test]
async fn a_verbatim_text_needs_no_references() {
    let offered = offer().verbatim("excerpt", 5, "{{model}} <<model>>");
    assert!(
        findings(&[plugin("words", offered), facts()], &[])
            .await
            .is_empty()
    );
}

#[tokio::test]
async fn with_several_agents_only_the_models_are_fixed_for_all() {
    let agents = answering(
        "agents",
        offer().agent("writer").agent("reviewer"),
        |question, _| match question {
            Question::Agent(name) if name == "writer" => {
                Some("I hand over to reviewer.".to_owned())
            }
            _ => Some("I, reviewer, check.".to_owned()),
        },
    );
    let words = plugin(
        "words",
        offer().section("house", 5, "The writer writes on gpt-5.1."),
    );
    let found = findings(&[agents, words, facts()], &[]).await;
    insta::assert_snapshot!(lines(&found));
}
