//! Filters from the command line: what the prompt says, whose words it is made of, and what is sent.

use serde_json::{Value, json};

use crate::harness::Home;

const DEPLOYMENT: &str = r#"
[agent]
default = "coder"

[model]
provider = "openai-responses"
name = "large-1"
recording = "model.jsonl"

[plugins.persona]
source = "std:persona"
settings = { agent = "coder", text = "You are <<agent>>, powered by <<model>>." }

[plugins.facts]
source = "std:facts"

[plugins.style]
source = "std:text"
settings.sections = [{ name = "style", order = 10, text = "Be brief." }]
"#;

const FILTER: &str = r#"
[plugins.short]
source = "std:filter"
settings.name = "short"
settings.drop = ["style"]
settings.put = [{ name = "manner", order = 20, text = "Answer in one word, <<agent>>." }]
settings.model = "small-1"
settings.options = { temperature = 0 }
"#;

fn home(filter: &str) -> Home {
    let home = Home::new();
    home.write("raddle.toml", &format!("{DEPLOYMENT}{filter}"));
    home.write("model.jsonl", "");
    home
}

#[test]
fn a_filter_changes_the_prompt_and_owns_its_words() {
    let home = home(FILTER);
    let shown: Value = serde_json::from_str(&home.good(["prompt", "--json"])).expect("JSON");
    let system = shown["system"].as_str().expect("a text");
    assert_eq!(
        system,
        "You are coder, powered by large-1.\n\nAnswer in one word, coder."
    );
    let spans = shown["spans"].as_array().expect("a list");
    let of = |plugin: &str| spans.iter().filter(|span| span["plugin"] == plugin).count();
    assert_eq!((of("short"), of("style")), (2, 0));
    // The model that answers is another one than the prompt says.
    let explained = home.good(["prompt", "--explain"]);
    assert!(
        explained.contains(
            "stale: `<<model>>` in section `agent:persona` says large-1; small-1 answers"
        ),
        "{explained}"
    );
    let told = FILTER.replace(
        "settings.model",
        "settings.variables = { model = \"small-1\" }\nsettings.model",
    );
    let explained = self::home(&told).good(["prompt", "--explain"]);
    assert!(!explained.contains("stale"), "{explained}");
}

#[test]
fn a_filter_changes_the_request() {
    let home = home(FILTER);
    let step = json!({
        "key": "main/1/1",
        "chunks": [{"text": "Yes."}, {"finish": "stop"}],
        "expect": [
            {"pointer": "/model", "equals": "small-1"},
            {"pointer": "/temperature", "equals": 0},
            {"pointer": "/instructions", "contains": "Answer in one word, coder."},
        ],
    });
    home.write("model.jsonl", &step.to_string());
    let said = home.good(["exec", "--recording", "model.jsonl", "Well?"]);
    assert_eq!(said.trim(), "Yes.");
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    home.good(["session", "verify", list[0]["id"].as_str().expect("an id")]);
}

#[test]
fn the_order_names_filters_that_there_are() {
    let home = home(&format!("{FILTER}[filters]\norder = [\"shrt\"]\n"));
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("`[filters] order` names `shrt`, which no plugin offers"),
        "{}",
        done.stderr
    );
}
