//! The cache ledger: who broke the prefix, and at which byte.

use std::sync::Arc;

use raddle_core::plugins::{Caller, Offer};
use raddle_core::prompt::{Prefix, cache_breaks};

use super::fixture::{Offers, assemble, context, facts, offer, persona, plugin, prompt};

async fn prefix(words: Offer, tools: Offer) -> Arc<Prefix> {
    assemble(&[
        plugin("words", words),
        plugin("tools", tools),
        facts(),
        persona("I am <<agent>> on <<model>>."),
    ])
    .await
    .prefix
}

fn words() -> Offer {
    offer()
        .section("aaa", 10, "First.")
        .section("bbb", 20, "Second.")
}

fn tools() -> Offer {
    offer()
        .guided_tool("bash", 105, "Bash.")
        .tool("read", "Reads")
}

fn described(before: &Prefix, after: &Prefix) -> String {
    let breaks = cache_breaks(before, after).into_iter().map(|found| {
        let name = found.name.unwrap_or_default();
        let plugin = found.plugin.unwrap_or_default();
        let bytes = match found.part.as_str() {
            "system" => (before.system().as_bytes(), after.system().as_bytes()),
            _ => (
                before.tools_json().as_bytes(),
                after.tools_json().as_bytes(),
            ),
        };
        assert_eq!(bytes.0[..found.at], bytes.1[..found.at]);
        assert_ne!(bytes.0.get(found.at), bytes.1.get(found.at));
        format!("{}: `{name}` of `{plugin}` at {}", found.part, found.at)
    });
    let breaks: Vec<String> = breaks.collect();
    if breaks.is_empty() {
        "none".to_owned()
    } else {
        breaks.join("; ")
    }
}

#[tokio::test]
async fn each_change_names_who_made_it() {
    let before = prefix(words(), tools()).await;
    let mut rows = Vec::new();
    for (change, words, tools) in [
        ("nothing", words(), tools()),
        (
            "a text",
            offer()
                .section("aaa", 10, "First!")
                .section("bbb", 20, "Second."),
            tools(),
        ),
        (
            "a longer text",
            offer()
                .section("aaa", 10, "First.\n")
                .section("bbb", 20, "Second."),
            tools(),
        ),
        (
            "the last text",
            words(),
            offer()
                .guided_tool("bash", 105, "Bash. More.")
                .tool("read", "Reads"),
        ),
        (
            "a new section",
            words().section("ab", 15, "Second."),
            tools(),
        ),
        (
            "a section gone",
            offer().section("bbb", 20, "Second."),
            tools(),
        ),
        (
            "one for another",
            offer()
                .section("aab", 10, "First?")
                .section("bbb", 20, "Second."),
            tools(),
        ),
        (
            "moved",
            offer()
                .section("aaa", 30, "First.")
                .section("bbb", 20, "Second."),
            tools(),
        ),
        (
            "a tool with guidance gone",
            words(),
            offer().tool("read", "Reads"),
        ),
        ("a new tool", words(), tools().tool("edit", "Edits")),
        (
            "a description",
            words(),
            offer()
                .guided_tool("bash", 105, "Bash.")
                .tool("read", "Reads files"),
        ),
    ] {
        let after = prefix(words, tools).await;
        rows.push(format!("{change}: {}", described(&before, &after)));
    }
    insta::assert_snapshot!(rows.join("\n"));
}

#[tokio::test]
async fn a_changed_value_names_the_owner_of_the_variable() {
    let plugins = [facts(), persona("I am <<agent>> on <<model>>.")];
    let before = assemble(&plugins).await.prefix;
    let mut other = context(1, 1);
    other.model = Some("gpt-6".to_owned());
    let mut prompt = prompt(&plugins).await;
    let after = prompt
        .assemble(&other, &Caller::default())
        .await
        .unwrap()
        .prefix;
    assert_eq!(
        described(&before, &after),
        "system: `agent:persona` of `facts` at 18"
    );
}

#[tokio::test]
async fn a_prefix_from_the_log_is_compared_by_its_bytes() {
    let before = prefix(words(), tools()).await;
    let logged = Prefix::logged(&**before.system(), before.tools().to_vec());
    assert_eq!(logged.tools_digest(), before.tools_digest());
    assert_eq!(logged.system_digest(), before.system_digest());
    assert_eq!(described(&logged, &before), "none");
    let after = prefix(
        words().section("zz", 999, "Last."),
        tools().tool("edit", "Edits"),
    )
    .await;
    assert_eq!(
        described(&logged, &after),
        format!(
            "system: `zz` of `words` at {}; tools: `edit` of `tools` at 118",
            before.system().len()
        )
    );
    let shorter = prefix(words(), offer()).await;
    insta::assert_snapshot!(described(&logged, &shorter));
}

#[tokio::test]
async fn an_order_inside_a_schema_is_a_break_too() {
    let with = |text: &str| {
        let mut offered = offer().tool("t", "");
        offered.tools[0].parameters = serde_json::from_str(text).unwrap();
        offered
    };
    let before = prefix(offer(), with(r#"{"type":"object","properties":{}}"#)).await;
    let after = prefix(offer(), with(r#"{"properties":{},"type":"object"}"#)).await;
    insta::assert_snapshot!(described(&before, &after));
}
