//! Every byte has a source.

use std::sync::Arc;

use proptest::prelude::*;
use raddle_core::plugins::{Lifetime, Offer};
use raddle_core::prompt::Explanation;
use raddle_core::prompt::template::escape;

use super::fixture::{Offers, TestPlugin, assemble, facts, offer, persona, plugin};

/// The bytes of a part.
fn part_text(explanation: &Explanation, part: &str) -> String {
    match part.split_once('/') {
        None => explanation.system.clone(),
        Some(("context", index)) => explanation.context[index.parse::<usize>().unwrap()]
            .text
            .clone(),
        Some((_, name)) => {
            let wire = name.replace('.', "__");
            let tool = explanation
                .tools
                .iter()
                .find(|tool| tool.name == wire)
                .unwrap();
            serde_json::to_string(tool).unwrap()
        }
    }
}

fn assert_tiled(explanation: &Explanation) {
    let mut parts: Vec<String> = Vec::new();
    let mut end = 0;
    for span in &explanation.spans {
        if parts.last() != Some(&span.part) {
            if let Some(last) = parts.last() {
                assert_eq!(end, part_text(explanation, last).len(), "{last}");
            }
            assert!(!parts.contains(&span.part));
            parts.push(span.part.clone());
            end = 0;
        }
        assert_eq!(span.start, end);
        assert!(span.end > span.start);
        let bytes = &part_text(explanation, &span.part)[span.start..span.end];
        assert_eq!(span.digest, raddle_core::digest::Digest::of(bytes));
        end = span.end;
    }
    if let Some(last) = parts.last() {
        assert_eq!(end, part_text(explanation, last).len(), "{last}");
    }
    let system = usize::from(!explanation.system.is_empty());
    assert_eq!(
        parts.len(),
        system + explanation.context.len() + explanation.tools.len()
    );
}

fn sample() -> Vec<Arc<TestPlugin>> {
    let words = offer()
        .section("rules", 50, "Rules for <<agent>>.\n")
        .section_of(
            "branch",
            900,
            Lifetime::Turn,
            "On <<git_branch>>, not </context>.",
        )
        .guided_tool("github.issue", 110, "<<model>> files issues.");
    vec![
        plugin("words", words),
        facts(),
        persona("You are <<agent>>, powered by <<model>>."),
    ]
}

#[tokio::test]
async fn the_explanation_of_a_small_prompt() {
    let explanation = assemble(&sample())
        .await
        .explain(Some(&|text| text.len() / 4));
    assert_tiled(&explanation);
    let lines: Vec<String> = explanation
        .spans
        .iter()
        .map(|span| {
            let text = &part_text(&explanation, &span.part)[span.start..span.end];
            format!(
                "{} {}..{} {} {} {} {:?} {}",
                span.part,
                span.start,
                span.end,
                span.plugin,
                span.section.as_deref().unwrap_or("-"),
                span.variable.as_deref().unwrap_or("-"),
                span.lifetime,
                serde_json::to_string(text).unwrap(),
            )
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[tokio::test]
async fn the_json_has_the_documented_shape() {
    let explanation = assemble(&sample()).await.explain(None);
    let json = serde_json::to_value(&explanation).unwrap();
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["system", "context", "tools", "spans", "digest"]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json["spans"][1]).unwrap());
    let again = assemble(&sample()).await.explain(Some(&str::len));
    assert_eq!(again.digest, explanation.digest);
    assert!(
        again
            .spans
            .iter()
            .all(|span| span.tokens == Some(span.end - span.start))
    );
}

fn offers() -> impl Strategy<Value = Offer> {
    let text = prop_oneof![
        Just(String::new()),
        Just("\n".to_owned()),
        Just("<context".to_owned()),
        Just("</context>\n".to_owned()),
        Just("<".to_owned()),
        "[aé<>/ \n]{0,6}",
    ];
    let piece = prop_oneof![
        text.clone().prop_map(|text| escape(&text)),
        Just("<<a>>".to_owned()),
        Just("<<b>>".to_owned()),
        Just(" ".to_owned()),
    ];
    let section = (prop::collection::vec(piece, 0..5), any::<bool>(), -2..3i32);
    (prop::collection::vec(section, 0..6), text.clone(), text).prop_map(|(sections, a, b)| {
        let mut offer = offer()
            .variable("a", &a)
            .variable("b", &b)
            .tool("x.y", "Tool");
        for (index, (pieces, short, order)) in sections.into_iter().enumerate() {
            let lifetime = if short {
                Lifetime::Turn
            } else {
                Lifetime::Session
            };
            // A space keeps a piece's end from joining the next one's brackets.
            let text = pieces.join(" ");
            offer = offer.section_of(&format!("s{index}"), order, lifetime, &text);
        }
        offer
    })
}

proptest! {
    #[test]
    fn spans_tile_every_part(offered in offers()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let assembly = runtime.block_on(assemble(&[plugin("p", offered)]));
        assert_tiled(&assembly.explain(None));
        for entry in &assembly.tail {
            prop_assert_eq!(entry.text.matches("</context>").count(), 1);
            prop_assert_eq!(entry.text.matches("<context").count(), 1);
        }
    }
}
