//! Settings become edits.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_filter::Settings;
use raddle_sdk::filters::{Assembly, AssemblyEdit, Part, RequestEdit, Target};
use raddle_sdk::{Context, Fact, Lifetime};
use serde_json::json;

fn settings(value: serde_json::Value) -> Settings {
    serde_json::from_value(value).unwrap()
}

fn context(agent: &str, turn: Option<u32>) -> Context {
    Context {
        agent: Some(agent.to_owned()),
        model: None,
        prompt_variant: None,
        session: None,
        cwd: None,
        turn,
        step: None,
        now: None,
        facts: Vec::new(),
    }
}

fn assembly(sections: &[&str], variables: &[&str]) -> Assembly {
    let section = |name: &&str| Part {
        name: (*name).to_owned(),
        owner: "words".to_owned(),
        order: 1,
        lifetime: Lifetime::Session,
        verbatim: false,
        text: "Words.".to_owned(),
    };
    Assembly {
        sections: sections.iter().map(section).collect(),
        variables: variables
            .iter()
            .map(|name| Fact::new(name, "value"))
            .collect(),
    }
}

#[test]
fn only_filters_with_something_to_do_are_offered() {
    let names = |settings: &Settings| -> Vec<(String, Target)> {
        let filters = settings.filters().into_iter();
        filters.map(|filter| (filter.name, filter.target)).collect()
    };
    assert_eq!(names(&Settings::default()), []);
    let both = settings(json!({"name": "short", "drop": ["a"], "model": "m"}));
    assert_eq!(
        names(&both),
        [
            ("short".to_owned(), Target::Assembly),
            ("short.request".to_owned(), Target::Request)
        ]
    );
}

#[test]
fn what_is_shown_is_changed_and_what_is_new_is_added_to_the_prefix() {
    let wanted = settings(json!({
        "drop": ["gone", "elsewhere"],
        "put": [{"name": "new", "order": 3, "text": "New."}],
        "variables": {"model": "other", "colour": "blue"},
    }));
    let shown = assembly(&["gone", "kept"], &["model"]);
    let edits = wanted.edit_assembly(&shown, &context("a", None));
    let [drop, put, value] = &edits[..] else {
        panic!("{edits:?}")
    };
    assert_eq!(*drop, AssemblyEdit::DropSection("gone".to_owned()));
    assert!(matches!(put, AssemblyEdit::PutSection(placed) if placed.name == "new"));
    assert_eq!(
        *value,
        AssemblyEdit::PutVariable(Fact::new("model", "other"))
    );
    let later = wanted.edit_assembly(&assembly(&["today"], &[]), &context("a", Some(2)));
    assert_eq!(later, []);
}

#[test]
fn it_can_be_about_some_agents() {
    let wanted = settings(json!({"agents": ["reviewer"], "model": "m", "options": {"top_p": 1}}));
    assert_eq!(wanted.edit_request(&context("coder", None)), []);
    assert_eq!(
        wanted.edit_request(&context("reviewer", None)),
        [
            RequestEdit::UseModel("m".to_owned()),
            RequestEdit::SetOption(Fact::new("top_p", "1"))
        ]
    );
}
