//! Each lifetime is a promise: what is asked how often, and with how much context.

use std::sync::atomic::{AtomicU32, Ordering};

use raddle_core::plugins::{Caller, Context, Lifetime, Question};
use raddle_core::prompt::{Dynamic, Prompt, PromptOptions};

use super::fixture::{
    Offers, answering, context, offer, plugin, prompt, prompt_with, registry, step, tail,
};

const ALL: [(&str, Lifetime); 4] = [
    ("deployment", Lifetime::Deployment),
    ("session", Lifetime::Session),
    ("turn", Lifetime::Turn),
    ("step", Lifetime::Step),
];

/// A plugin with a variable and a section of each lifetime; values count the calls.
fn counting() -> std::sync::Arc<super::fixture::TestPlugin> {
    let mut offered = offer();
    for (name, lifetime) in ALL {
        offered = offered
            .computed_variable(&format!("v_{name}"), lifetime)
            .computed_section(&format!("s-{name}"), 10, lifetime)
            .section_of(&format!("r-{name}"), 20, lifetime, &format!("<<v_{name}>>"));
    }
    let count = AtomicU32::new(0);
    answering("p", offered, move |_, _| {
        Some(count.fetch_add(1, Ordering::Relaxed).to_string())
    })
}

fn questions(name: &str) -> Vec<Question> {
    let section = Question::Section(format!("s-{name}"));
    vec![section, Question::Variable(format!("v_{name}"))]
}

#[tokio::test]
async fn everything_is_asked_once_per_lifetime_in_one_call() {
    let plugin = counting();
    let mut prompt = prompt(std::slice::from_ref(&plugin)).await;
    let first = step(&mut prompt, 1, 1).await.unwrap();
    let all: Vec<_> = ALL.iter().map(|(name, _)| questions(name)).collect();
    let sorted = |calls: Vec<Vec<Question>>| -> Vec<Vec<String>> {
        let texts = |call: Vec<Question>| {
            let mut texts: Vec<String> = call.iter().map(|q| format!("{q:?}")).collect();
            texts.sort();
            texts
        };
        calls.into_iter().map(texts).collect()
    };
    assert_eq!(sorted(plugin.asked()), sorted(all.clone()));
    let second = step(&mut prompt, 1, 2).await.unwrap();
    assert_eq!(sorted(plugin.asked()), sorted(all[3..].to_vec()));
    let third = step(&mut prompt, 2, 1).await.unwrap();
    assert_eq!(sorted(plugin.asked()), sorted(all[2..].to_vec()));
    for later in [&second, &third] {
        assert!(std::sync::Arc::ptr_eq(&first.prefix, &later.prefix));
    }
}

#[tokio::test]
async fn contexts_are_narrowed_to_the_lifetime() {
    let plugin = counting();
    let mut prompt = prompt(std::slice::from_ref(&plugin)).await;
    step(&mut prompt, 3, 2).await.unwrap();
    let contexts: Vec<Context> = plugin
        .asked_with()
        .into_iter()
        .map(|(_, context)| context)
        .collect();
    let [deployment, session, turn, step] = &contexts[..] else {
        panic!("{} calls", contexts.len());
    };
    let whole = context(3, 2);
    assert_eq!(*deployment, Context::default());
    assert_eq!(
        (session.turn, session.step, &session.now),
        (None, None, &None)
    );
    assert_eq!(session.cwd, whole.cwd);
    assert_eq!(session.facts, whole.facts[1..]);
    assert_eq!(
        (turn.turn, turn.step, &turn.now),
        (Some(3), None, &whole.now)
    );
    assert_eq!(turn.facts, whole.facts);
    assert_eq!(*step, whole);
}

#[tokio::test]
async fn a_deployment_text_is_the_same_in_all_sessions() {
    let plugin = counting();
    let registry = registry(std::slice::from_ref(&plugin)).await;
    let mut texts = Vec::new();
    for _ in 0..2 {
        let mut prompt = Prompt::new(registry.clone(), None, PromptOptions::default()).unwrap();
        let system = step(&mut prompt, 1, 1).await.unwrap().system().to_owned();
        texts.push(system.split("\n\n").map(str::to_owned).collect::<Vec<_>>());
    }
    // r-deployment and s-deployment; the session's differ.
    assert_eq!(texts[0].len(), 4);
    let same = texts[0]
        .iter()
        .filter(|text| texts[1].contains(text))
        .count();
    assert_eq!(same, 2);
    let asked = plugin.asked().into_iter().flatten();
    let deployment = asked
        .filter(|question| format!("{question:?}").contains("deployment"))
        .count();
    assert_eq!(deployment, 2);
}

#[tokio::test]
async fn a_computed_text_may_bring_in_new_variables() {
    let facts = answering(
        "facts",
        offer()
            .computed_variable("a", Lifetime::Step)
            .computed_variable("b", Lifetime::Session),
        |question, context| match question {
            Question::Variable(name) if name == "a" => context.step.map(|step| step.to_string()),
            _ => Some("B".to_owned()),
        },
    );
    let words = answering(
        "words",
        offer().computed_section("s", 1, Lifetime::Step),
        |_, context| {
            Some(
                if context.step == Some(1) {
                    "<<a>>"
                } else {
                    "<<a>> <<b>>"
                }
                .to_owned(),
            )
        },
    );
    let mut prompt = prompt(&[facts.clone(), words]).await;
    let first = step(&mut prompt, 1, 1).await.unwrap();
    assert_eq!(tail(&first), ["<context section=\"s\">\n1\n</context>"]);
    assert_eq!(facts.asked().len(), 1);
    let second = step(&mut prompt, 1, 2).await.unwrap();
    assert_eq!(tail(&second), ["<context section=\"s\">\n2 B\n</context>"]);
    step(&mut prompt, 1, 3).await.unwrap();
    let b = Question::Variable("b".to_owned());
    assert_eq!(
        facts
            .asked()
            .iter()
            .flatten()
            .filter(|question| **question == b)
            .count(),
        1
    );
}

#[tokio::test]
async fn the_prefix_is_the_same_a_minute_and_a_midnight_later() {
    let offered = offer()
        .computed_variable("date", Lifetime::Turn)
        .computed_variable("clock", Lifetime::Step)
        .section("words", 1, "Words.")
        .section_of("today", 900, Lifetime::Turn, "Today is <<date>>.")
        .section_of("now", 901, Lifetime::Step, "It is <<clock>>.");
    let facts = answering("facts", offered, |question, context| {
        let now = context.now.as_deref()?;
        match question {
            Question::Variable(name) if name == "date" => Some(now[..10].to_owned()),
            _ => Some(now[11..19].to_owned()),
        }
    });
    let mut prompt = prompt(&[facts]).await;
    let mut prefixes = Vec::new();
    let mut tails = Vec::new();
    for (turn, step, now) in [
        (1, 1, "2026-11-30T23:58:00.000Z"),
        (1, 2, "2026-11-30T23:59:01.000Z"),
        (2, 1, "2026-12-01T00:00:02.000Z"),
    ] {
        let mut context = context(turn, step);
        context.now = Some(now.to_owned());
        let assembly = prompt.assemble(&context, &Caller::default()).await.unwrap();
        tails.extend(tail(&assembly));
        prefixes.push((
            assembly.prefix.system_digest(),
            assembly.prefix.tools_digest(),
        ));
    }
    prefixes.dedup();
    assert_eq!(prefixes.len(), 1);
    insta::assert_snapshot!(tails.join("\n"));
}

#[tokio::test]
async fn inline_text_stands_in_the_system_prompt_at_its_order() {
    let offered = offer()
        .computed_variable("tick", Lifetime::Step)
        .computed_section("once", 1, Lifetime::Session)
        .section_of("now", 5, Lifetime::Step, "Tick <<tick>>.")
        .section("end", 9, "End.");
    let count = AtomicU32::new(0);
    let ticker = answering("p", offered, move |question, context| match question {
        Question::Section(_) => Some(format!("Once {}.", count.fetch_add(1, Ordering::Relaxed))),
        _ => context.step.map(|step| (step / 2).to_string()),
    });
    let options = PromptOptions {
        dynamic: Dynamic::Inline,
        ..PromptOptions::default()
    };
    let mut prompt = prompt_with(&[ticker], options).await;
    let mut systems = Vec::new();
    let mut prefixes = Vec::new();
    for index in 1..=3 {
        let assembly = step(&mut prompt, 1, index).await.unwrap();
        assert!(assembly.tail.is_empty());
        systems.push(assembly.system().to_owned());
        prefixes.push(assembly.prefix);
    }
    assert_eq!(systems[0], "Once 0.\n\nTick 0.\n\nEnd.");
    assert_eq!(systems[1], "Once 0.\n\nTick 1.\n\nEnd.");
    assert!(std::sync::Arc::ptr_eq(&prefixes[1], &prefixes[2]));
}

#[tokio::test]
async fn a_cancelled_assembly_leaves_the_prompt_usable() {
    let plugin = plugin("p", offer().section("s", 1, "text"));
    let mut prompt = prompt(&[plugin]).await;
    let context = context(1, 1);
    let caller = Caller::default();
    drop(prompt.assemble(&context, &caller));
    assert_eq!(step(&mut prompt, 1, 1).await.unwrap().system(), "text");
}
