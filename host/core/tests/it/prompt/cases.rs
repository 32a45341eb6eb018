//! Every case under `fixtures/prompts`, through the whole way from section to system prompt.

use raddle_core::plugins::Question;
use serde_json::Value;

use super::fixture::{Offers, answering, assemble, lines, load, offer, plugin};

const INDEX: &str = include_str!("../../fixtures/prompts/index.jsonl");
const VALUES: &str = include_str!("../../fixtures/prompts/values.jsonl");

fn cases(lines: &str) -> Vec<Value> {
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test]
async fn every_text_renders_or_fails_as_expected() {
    let mut messages = String::new();
    for case in cases(INDEX) {
        let file = case["file"].as_str().unwrap();
        let path = format!(
            "{}/tests/fixtures/prompts/{file}",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(path).unwrap();
        let plugins = [
            plugin("words", offer().section("case", 10, &text)),
            plugin(
                "facts",
                offer().variable("model", "gpt-5.1").variable("cwd", "/srv"),
            ),
        ];
        match case["expect"].as_str().unwrap() {
            "verbatim" => assert_eq!(assemble(&plugins).await.system(), text, "{file}"),
            "render" => assert_eq!(
                assemble(&plugins).await.system(),
                text.replace("<<model>>", "gpt-5.1")
                    .replace("<<cwd>>", "/srv"),
                "{file}"
            ),
            // Strict: an opener with a `>>` behind it is a fault.
            "error" | "decision" => {
                let Err(faults) = load(&plugins).await else {
                    panic!("{file} did not fail");
                };
                messages.push_str(&format!("{file}\n{}\n\n", lines(&faults)));
            }
            other => panic!("{file}: expects {other}"),
        }
        let verbatim = [plugin("words", offer().verbatim("case", 10, &text))];
        assert_eq!(assemble(&verbatim).await.system(), text, "{file}, verbatim");
    }
    insta::assert_snapshot!(messages);
}

#[tokio::test]
async fn every_value_is_inserted_as_it_is() {
    for case in cases(VALUES) {
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let (name, value) = (text("var"), text("value"));
        let template = text("template");
        let expected = template.replace(&format!("<<{name}>>"), &value);
        let offered = offer()
            .section("case", 10, &template)
            .computed_variable(&name, raddle_core::plugins::Lifetime::Session);
        let plugins = [answering("words", offered, move |question, _| {
            matches!(question, Question::Variable(_)).then(|| value.clone())
        })];
        assert_eq!(assemble(&plugins).await.system(), expected);
    }
}
