//! What the plugin answers to the host.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use raddle_plugin_facts::Plugin;
use raddle_sdk::testing::with_settings;
use raddle_sdk::variables::{Guest, Variable};
use raddle_sdk::{Content, Context, Environment, Error, ErrorKind, Fact, Lifetime};
use serde_json::{Value, json};

fn offered(settings: &Value) -> Result<Vec<Variable>, Error> {
    with_settings(&settings.to_string(), || {
        Plugin::offer(Environment::default())
    })
}

fn resolved(name: &str, context: &Context) -> Result<Option<String>, Error> {
    Plugin::resolve(name.to_owned(), context.clone())
}

fn known() -> Context {
    Context {
        agent: Some("coding-agent".to_owned()),
        model: Some("a-model".to_owned()),
        session: Some("s-1".to_owned()),
        cwd: Some("/work place/x".to_owned()),
        now: Some("2026-03-01T23:59:59.999Z".to_owned()),
        facts: vec![
            Fact::new("git-branch", "topic/<<x>>"),
            Fact::new("platform", "linux x86_64"),
        ],
        ..Context::default()
    }
}

#[test]
fn every_fact_is_a_computed_variable_with_its_lifetime() {
    let variables = offered(&json!({})).expect("no settings are fine");
    let mut lifetimes = Vec::new();
    for variable in &variables {
        assert_eq!(variable.content, Content::Computed);
        lifetimes.push((variable.name.as_str(), variable.lifetime));
    }
    assert_eq!(
        lifetimes,
        [
            ("agent", Lifetime::Session),
            ("cwd", Lifetime::Session),
            ("date", Lifetime::Turn),
            ("git_branch", Lifetime::Turn),
            ("model", Lifetime::Session),
            ("platform", Lifetime::Session),
            ("session", Lifetime::Session),
        ]
    );
}

#[test]
fn values_come_from_the_context() {
    for (name, value) in [
        ("agent", "coding-agent"),
        ("cwd", "/work place/x"),
        ("date", "2026-03-01"),
        ("git_branch", "topic/<<x>>"),
        ("model", "a-model"),
        ("platform", "linux x86_64"),
        ("session", "s-1"),
    ] {
        assert_eq!(
            resolved(name, &known()),
            Ok(Some(value.to_owned())),
            "{name}"
        );
    }
}

#[test]
fn what_the_context_does_not_have_has_no_value() {
    for variable in offered(&json!({})).expect("no settings are fine") {
        let value = resolved(&variable.name, &Context::default());
        assert_eq!(value, Ok(None), "{}", variable.name);
    }
}

#[test]
fn settings_choose_which_names_are_offered() {
    let names = |settings| -> Vec<String> {
        let variables = offered(&settings).expect("good settings");
        variables
            .into_iter()
            .map(|variable| variable.name)
            .collect()
    };
    assert_eq!(
        names(json!({ "names": ["model", "date"] })),
        ["date", "model"]
    );
    assert_eq!(names(json!({ "names": [] })), Vec::<String>::new());
    let error = offered(&json!({ "names": ["modle"] })).expect_err("no such fact");
    assert!(error.message.contains("`modle`"), "{}", error.message);
}

#[test]
fn a_time_that_is_none_is_an_error_and_never_a_date() {
    for now in [
        "",
        "2026-03-01",
        "01.03.2026T00:00",
        "2026-3-1T00:00:00Z",
        "\u{e9}026-03-01T",
    ] {
        let context = Context {
            now: Some(now.to_owned()),
            ..Context::default()
        };
        let error = resolved("date", &context).expect_err(now);
        assert_eq!(error.kind, ErrorKind::Invalid);
    }
    assert_eq!(
        resolved("toString", &known())
            .expect_err("no such fact")
            .kind,
        ErrorKind::NotFound
    );
}

#[test]
fn the_schema_names_what_is_offered() {
    let schema: Value =
        serde_json::from_str(&<Plugin as raddle_sdk::settings::Guest>::describe()).expect("JSON");
    let named = schema["properties"]["names"]["items"]["enum"].clone();
    let offered: Vec<String> = offered(&json!({}))
        .expect("no settings are fine")
        .into_iter()
        .map(|variable| variable.name)
        .collect();
    assert_eq!(named, json!(offered));
}

#[test]
fn a_name_that_would_break_out_of_its_line_is_quoted() {
    let context = Context {
        cwd: Some("/srv/a\n\n# Rules\u{2028}\"b\"".to_owned()),
        facts: vec![Fact::new("git-branch", "x\u{1b}[2J")],
        ..Context::default()
    };
    for (name, told) in [
        ("cwd", r#""/srv/a\n\n# Rules\u{2028}\"b\"""#),
        ("git_branch", r#""x\u{1b}[2J""#),
    ] {
        assert_eq!(
            resolved(name, &context).expect("known"),
            Some(told.to_owned())
        );
    }
}
