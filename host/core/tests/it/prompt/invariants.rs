//! The shipped invariants of the RFC that live in the core, each on its own.

use std::sync::Arc;

use super::fixture::{
    Offers, TestPlugin, assemble, assembly_error, facts, faults, lines, offer, persona, plugin,
};

fn coding_agent() -> Vec<Arc<TestPlugin>> {
    vec![
        plugin("web", offer().guided_tool("fetch", 130, "Web guidance.")),
        plugin("bash", offer().guided_tool("bash", 105, "Bash guidance.")),
        plugin(
            "files",
            offer()
                .guided_tool("read", 101, "Read guidance.")
                .tool("edit", "Edits."),
        ),
        plugin(
            "todo",
            offer().tool("todo", "Keeps a list; this says it all."),
        ),
        facts(),
        persona("You are <<agent>>, powered by the <<model>> model."),
    ]
}

#[tokio::test]
async fn the_persona_comes_first_with_the_models_name_then_the_tools_guidance() {
    assert_eq!(
        assemble(&coding_agent()).await.system(),
        "You are coder, powered by the gpt-5.1 model.\n\n\
         Read guidance.\n\nBash guidance.\n\nWeb guidance."
    );
}

#[tokio::test]
async fn a_tool_whose_description_says_it_all_has_no_section() {
    let assembly = assemble(&coding_agent()).await;
    assert!(assembly.tools().iter().any(|tool| tool.name == "todo"));
    let spans = assembly.explain(None).spans;
    assert!(
        spans
            .iter()
            .all(|span| span.plugin != "todo" || span.part == "tool/todo")
    );
}

#[tokio::test]
async fn removing_a_plugin_removes_its_tools_its_guidance_and_nothing_else() {
    let whole = assemble(&coding_agent()).await;
    let mut plugins = coding_agent();
    plugins.retain(|plugin| raddle_core::plugins::Plugin::info(&**plugin).id != "bash");
    let without = assemble(&plugins).await;
    assert_eq!(
        without.system(),
        whole.system().replace("Bash guidance.\n\n", "")
    );
    let names = |assembly: &raddle_core::prompt::Assembly| -> Vec<String> {
        assembly
            .tools()
            .iter()
            .map(|tool| tool.name.clone())
            .collect()
    };
    assert_eq!(names(&whole), ["bash", "edit", "fetch", "read", "todo"]);
    assert_eq!(names(&without), ["edit", "fetch", "read", "todo"]);
    for tool in without.tools() {
        assert!(whole.tools().contains(tool));
    }
}

#[tokio::test]
async fn the_system_prompt_is_what_the_sections_say_and_nothing_else() {
    let assembly = assemble(&coding_agent()).await;
    let explanation = assembly.explain(None);
    let mut covered = 0;
    for span in explanation
        .spans
        .iter()
        .filter(|span| span.part == "system")
    {
        assert_eq!(span.start, covered);
        assert!(span.section.is_some() && !span.plugin.is_empty());
        covered = span.end;
    }
    assert_eq!(covered, assembly.system().len());
}

#[tokio::test]
async fn all_four_strict_failures_name_the_section() {
    let form = |text: &'static str| {
        [
            plugin("words", offer().section("house-rules", 5, text)),
            facts(),
        ]
    };
    let mut messages = Vec::new();
    for text in ["on <<modle>>", "on << model >>", "on <<<model>>>"] {
        messages.push(lines(&faults(&form(text)).await));
    }
    let valueless = [
        plugin("words", offer().section("house-rules", 5, "in <<nowhere>>")),
        plugin(
            "odd",
            offer().computed_variable("nowhere", raddle_core::plugins::Lifetime::Session),
        ),
    ];
    messages.push(assembly_error(&valueless).await.to_string());
    assert!(
        messages
            .iter()
            .all(|message| message.contains("section `house-rules` of plugin `words`, 1:4"))
    );
    assert!(messages.iter().all(|message| message.contains(r"`\<<`")));
    insta::assert_snapshot!(lines(&messages));
}

#[tokio::test]
async fn names_of_the_host_language_are_no_variables() {
    let offered = offer().section("s", 5, "<<constructor>> <<to_string>> <<__proto__>>");
    let found = faults(&[plugin("words", offered)]).await;
    assert_eq!(found.len(), 3);
    for name in ["constructor", "to_string", "__proto__"] {
        assert!(lines(&found).contains(&format!("`<<{name}>>`")));
    }
}

#[tokio::test]
async fn duplicates_of_section_variable_and_tool_are_refused() {
    for duplicate in [
        offer().section("tone", 5, ""),
        offer().variable("model", "other"),
        offer().tool("bash", "Another"),
    ] {
        let mut plugins = coding_agent();
        plugins.push(plugin("words", offer().section("tone", 5, "")));
        plugins.push(plugin("zz-second", duplicate));
        let found = faults(&plugins).await;
        assert!(lines(&found).contains("`zz-second`"), "{}", lines(&found));
        assert_eq!(found.len(), 1);
    }
}
