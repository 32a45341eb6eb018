//! Order, persona, joins, and what fails an assembly.

use raddle_core::plugins::{Caller, Lifetime, Question};
use raddle_core::prompt::{Prompt, PromptError, PromptOptions};

use super::fixture::{
    Offers, answering, assemble, assembly_error, build, context, facts, lines, offer, persona,
    plugin, prompt, registry, step, trap,
};

#[tokio::test]
async fn sections_stand_in_order_then_by_name() {
    let plugins = [
        plugin(
            "z",
            offer().section("b", 10, "ten b").section("a", 10, "ten a"),
        ),
        plugin(
            "a",
            offer()
                .section("late", 900, "late")
                .section("early", -5, "early"),
        ),
        persona("persona"),
    ];
    assert_eq!(
        assemble(&plugins).await.system(),
        "early\n\npersona\n\nten a\n\nten b\n\nlate"
    );
}

#[tokio::test]
async fn one_blank_line_separates_and_no_text_is_altered() {
    let plugins = [plugin(
        "words",
        offer()
            .section("a", 1, "plain")
            .section("b", 2, "  ends its line\n")
            .section("c", 3, "\tends a paragraph\n\n")
            .section("d", 4, "carriage\r\n")
            .section("e", 5, "returns\r\n\r\n")
            .section("f", 6, "more\n\n\n")
            .section("g", 7, "end\n"),
    )];
    assert_eq!(
        assemble(&plugins).await.system(),
        "plain\n\n  ends its line\n\n\tends a paragraph\n\ncarriage\r\n\nreturns\r\n\r\nmore\n\n\nend\n"
    );
}

#[tokio::test]
async fn a_section_without_text_leaves_no_trace() {
    let offered = offer()
        .section("a", 1, "a")
        .section("blank", 2, " \n\n")
        .section("empty", 3, "")
        .computed_section("none", 4, Lifetime::Session)
        .section("b", 5, "b");
    assert_eq!(
        assemble(&[plugin("words", offered)]).await.system(),
        "a\n\nb"
    );
}

#[tokio::test]
async fn an_agent_sees_its_tools_and_their_guidance_alone() {
    let tools =
        offer()
            .guided_tool("bash", 105, "bash habits")
            .guided_tool("read", 101, "read habits");
    let agents = offer().agent_with_tools("coder", &["read"]);
    let assembly = assemble(&[plugin("tools", tools.clone()), plugin("agents", agents)]).await;
    assert_eq!(assembly.system(), "read habits");
    assert_eq!(assembly.tools().len(), 1);

    let registry = registry(&[
        plugin("tools", tools),
        plugin(
            "agents",
            offer().agent_with_tools("coder", &["read"]).agent("all"),
        ),
    ])
    .await;
    let narrow = Prompt::new(registry.clone(), Some("coder"), PromptOptions::default()).unwrap();
    assert!(narrow.tool("bash").is_none());
    assert!(narrow.tool("read").is_some());
    assert_eq!(narrow.agent().unwrap().agent.name, "coder");
    let wide = Prompt::new(registry, Some("all"), PromptOptions::default()).unwrap();
    assert!(wide.tool("bash").is_some());
}

#[tokio::test]
async fn an_unknown_agent_is_named_with_those_there_are() {
    let registry = registry(&[plugin("agents", offer().agent("coder").agent("reviewer"))]).await;
    let error = Prompt::new(registry, Some("codr"), PromptOptions::default())
        .err()
        .unwrap();
    insta::assert_snapshot!(error, @"no plugin offers the agent `codr` (there are: coder, reviewer)");
}

#[tokio::test]
async fn a_valueless_variable_fails_only_what_refers_to_it() {
    let valueless = offer()
        .computed_variable("cwd", Lifetime::Session)
        .variable("model", "m");
    let quiet = [plugin("facts", valueless.clone()), persona("On <<model>>.")];
    assert_eq!(assemble(&quiet).await.system(), "On m.");

    let loud = [
        plugin("facts", valueless),
        persona("On <<model>>\nin <<cwd>>."),
    ];
    insta::assert_snapshot!(assembly_error(&loud).await, @r"section `agent:persona` of plugin `persona`, 2:4: `<<cwd>>` has no value for this prompt: plugin `facts` owns it and gave none (variables with a value: model); a literal `<<` is written `\<<`");
}

#[tokio::test]
async fn computed_texts_are_held_to_the_grammar() {
    let words = offer()
        .computed_section("computed", 1, Lifetime::Session)
        .computed_variable("tick", Lifetime::Step);
    let with = |text: &'static str| {
        [
            answering("words", words.clone(), move |question, _| match question {
                Question::Section(_) => Some(text.to_owned()),
                _ => Some("1".to_owned()),
            }),
            facts(),
        ]
    };
    assert_eq!(assemble(&with("on <<model>>")).await.system(), "on gpt-5.1");
    let mut messages = Vec::new();
    for text in ["on <<modle>> and << x >>", "at <<tick>>", "a <<<b>>"] {
        messages.push(assembly_error(&with(text)).await);
    }
    messages.push(assembly_error(&[facts(), persona("It is <<date>>.")]).await);
    insta::assert_snapshot!(lines(&messages));
}

#[tokio::test]
async fn a_verbatim_computed_text_is_never_scanned() {
    let mut offered = offer().computed_section("excerpt", 1, Lifetime::Session);
    offered.sections[0].verbatim = true;
    let text = "<<<<<<< HEAD\nvector<vector<int>> <<model>>\n>>>>>>> main";
    let plugins = [answering("words", offered, move |_, _| {
        Some(text.to_owned())
    })];
    assert_eq!(assemble(&plugins).await.system(), text);
}

#[tokio::test]
async fn a_failing_plugin_is_named_with_what_it_was_asked_for() {
    let broken = build(
        "broken",
        |_| {
            let variables = offer().computed_variable("x", Lifetime::Session);
            Ok(variables.computed_section("sums", 5, Lifetime::Session))
        },
        |_, _| Err(trap("broken")),
    );
    let words = plugin(
        "words",
        offer().section("a", 1, "<<x>>").section("b", 2, "<<x>>"),
    );
    let error = assembly_error(&[broken, words]).await;
    assert!(matches!(&error, PromptError::Plugin { error, .. } if error.plugin == "broken"));
    insta::assert_snapshot!(error, @"plugin `broken`, variables.resolve: trapped: unreachable (asked for variable `x` for section `a`, `b`; section `sums`)");
}

#[tokio::test]
async fn a_failed_assembly_can_be_repeated() {
    let plugins = [facts(), persona("In <<cwd>>.")];
    let mut prompt = prompt(&plugins).await;
    let mut nowhere = context(1, 1);
    nowhere.cwd = None;
    assert!(prompt.assemble(&nowhere, &Caller::default()).await.is_err());
    assert_eq!(
        step(&mut prompt, 2, 1).await.unwrap().system(),
        "In /srv/work."
    );
}

#[tokio::test]
async fn only_what_is_referred_to_is_asked() {
    let facts = facts();
    let persona = persona("On <<model>>.");
    assemble(&[facts.clone(), persona.clone()]).await;
    assert_eq!(facts.asked(), [[Question::Variable("model".to_owned())]]);
    assert_eq!(persona.asked(), [[Question::Agent("coder".to_owned())]]);
}

#[tokio::test]
async fn a_variable_is_no_way_around_the_grammar() {
    // A value that looks like a reference, an escape or a pattern stays what it is.
    for value in ["<<model>>", r"\<<", "$1 \\1 &", "a\nb\r\n", "{{x}}"] {
        let offered = offer().variable("v", value).section("s", 1, "[<<v>>]");
        let system = assemble(&[plugin("p", offered)]).await.system().to_owned();
        assert_eq!(system, format!("[{value}]"));
    }
}
