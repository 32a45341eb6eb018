//! Filters of the assembly: they drop, add and override; what they write is theirs; what stays for
//! the session they change once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use raddle_core::plugins::{
    AssemblyEdit, Environment, Fact, Filter, FilterTarget, Lifetime, Offer, PlacedText, Plugin,
};
use raddle_core::prompt::PromptError;
use raddle_core::registry::{RegistryOptions, contributions};

use super::fixture::{
    Offers, assemble, assembly_error, facts, faults, filtering, lines, offer, persona, plugin,
    prompt, step, tail,
};

fn filter(name: &str) -> Offer {
    Offer {
        filters: vec![Filter {
            name: name.to_owned(),
            target: FilterTarget::Assembly,
        }],
        ..offer()
    }
}

fn put(name: &str, order: i32, text: &str) -> AssemblyEdit {
    AssemblyEdit::PutSection(PlacedText {
        name: name.to_owned(),
        order,
        verbatim: false,
        text: text.to_owned(),
    })
}

fn value(name: &str, value: &str) -> AssemblyEdit {
    AssemblyEdit::PutVariable(Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

/// Whether the pass is about what stays: only there the persona is.
fn stays(assembly: &raddle_core::plugins::FilteredAssembly) -> bool {
    let mut sections = assembly.sections.iter();
    sections.any(|section| section.name == "agent:persona")
}

#[tokio::test]
async fn a_filter_drops_adds_and_overrides_and_its_words_are_its_own() {
    let words = offer()
        .section("style", 10, "Be brief.")
        .section("more", 20, "More.");
    let filter = filtering("editor", filter("edit"), |name, assembly, context| {
        assert_eq!(name, "edit");
        if !stays(assembly) {
            return Vec::new();
        }
        // What stays for the session sees nothing that passes.
        assert_eq!((context.turn, context.now.as_deref()), (None, None));
        vec![
            AssemblyEdit::DropSection("more".to_owned()),
            put("style", 5, "Be kind, <<model>>."),
            AssemblyEdit::PutSection(PlacedText {
                name: "raw".to_owned(),
                order: 7,
                verbatim: true,
                text: "<<raw>>".to_owned(),
            }),
            value("model", "another"),
        ]
    });
    let assembly = assemble(&[
        persona("I am <<model>>."),
        facts(),
        plugin("words", words),
        filter,
    ])
    .await;
    assert_eq!(
        assembly.system(),
        "I am another.\n\nBe kind, another.\n\n<<raw>>"
    );
    let spans = assembly.explain(None).spans;
    let owners: Vec<(&str, &str)> = spans
        .iter()
        .map(|span| {
            (
                span.plugin.as_str(),
                &assembly.system()[span.start..span.end],
            )
        })
        .collect();
    assert_eq!(
        owners,
        [
            ("persona", "I am "),
            ("editor", "another"),
            ("persona", "."),
            ("editor", "\n\nBe kind, "),
            ("editor", "another"),
            ("editor", "."),
            ("editor", "\n\n<<raw>>"),
        ]
        .map(|(owner, text)| (owner, text))
        .into_iter()
        .collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn what_stays_is_changed_once_and_what_passes_before_every_request() {
    let staying = Arc::new(AtomicU32::new(0));
    let passing = Arc::new(AtomicU32::new(0));
    let (counted, passes) = (Arc::clone(&staying), Arc::clone(&passing));
    let words = offer().section_of("now", 900, Lifetime::Turn, "It is morning.");
    let filter = filtering("editor", filter("edit"), move |_, assembly, _| {
        if stays(assembly) {
            let count = counted.fetch_add(1, Ordering::Relaxed);
            return vec![put("count", 1, &format!("Pass {count}."))];
        }
        match passes.fetch_add(1, Ordering::Relaxed) {
            0 => Vec::new(),
            1 => vec![put("now", 900, "It is noon.")],
            _ => vec![AssemblyEdit::DropSection("now".to_owned())],
        }
    });
    let mut prompt = prompt(&[persona("I."), plugin("words", words), filter]).await;
    let first = step(&mut prompt, 1, 1).await.unwrap();
    assert_eq!(first.system(), "I.\n\nPass 0.");
    assert_eq!(
        tail(&first),
        ["<context section=\"now\">\nIt is morning.\n</context>"]
    );
    let second = step(&mut prompt, 1, 2).await.unwrap();
    assert!(Arc::ptr_eq(&first.prefix, &second.prefix));
    assert_eq!(
        tail(&second),
        ["<context section=\"now\">\nIt is noon.\n</context>"]
    );
    assert_eq!(&*second.tail[0].plugin, "editor");
    let third = step(&mut prompt, 2, 1).await.unwrap();
    assert_eq!(tail(&third), ["<context section=\"now\"/>"]);
    assert_eq!(staying.load(Ordering::Relaxed), 1);
    assert_eq!(passing.load(Ordering::Relaxed), 3);
}

/// In the order of the deployment, then by name; each sees what those before it did.
#[tokio::test]
async fn filters_run_in_order_and_see_each_other() {
    for (order, expected) in [
        (vec![], "I.\n\nfirst second"),
        (vec!["b".to_owned()], "I.\n\nsecond"),
    ] {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let both = ["a", "b"].map(|id| {
            let seen = Arc::clone(&seen);
            filtering(id, filter(id), move |name, assembly, _| {
                if !stays(assembly) {
                    return Vec::new();
                }
                seen.lock().unwrap().push(name.to_owned());
                let mut sections = assembly.sections.iter();
                let before = sections.find(|section| section.name == "said");
                match name {
                    "a" => vec![put(
                        "said",
                        5,
                        if before.is_some() { "second" } else { "first" },
                    )],
                    _ => vec![put(
                        "said",
                        5,
                        &match before {
                            Some(before) => format!("{} second", before.text),
                            None => "first".to_owned(),
                        },
                    )],
                }
            })
        });
        let plugins: Vec<Arc<dyn Plugin>> =
            [persona("I."), Arc::clone(&both[0]), Arc::clone(&both[1])]
                .map(|plugin| plugin as Arc<dyn Plugin>)
                .into();
        let options = RegistryOptions {
            filter_order: order.clone(),
            ..RegistryOptions::default()
        };
        let registry = contributions(&plugins, &Environment::default(), &options).await;
        let registry = Arc::new(registry.map_err(|faults| lines(&faults)).unwrap());
        let mut prompt =
            raddle_core::prompt::Prompt::new(registry, Some("coder"), Default::default()).unwrap();
        let assembly = step(&mut prompt, 1, 1).await.unwrap();
        assert_eq!(assembly.system(), expected, "{:?}", seen.lock().unwrap());
    }
}

#[tokio::test]
async fn what_cannot_be_changed_is_refused_with_the_filters_name() {
    let unknown = filtering("editor", filter("edit"), |_, _, _| {
        vec![value("colour", "blue")]
    });
    let error = assembly_error(&[persona("I."), unknown]).await;
    assert_eq!(
        error.to_string(),
        "filter `edit` of plugin `editor`: no plugin owns a variable `colour`: the filter's own can"
    );
    let late = filtering("editor", filter("edit"), |_, assembly, context| {
        match (stays(assembly), context.step) {
            (false, Some(2)) => vec![put("agent:persona", 0, "Somebody else.")],
            _ => Vec::new(),
        }
    });
    let mut prompt = prompt(&[persona("I."), late]).await;
    step(&mut prompt, 1, 1).await.unwrap();
    let Err(error @ PromptError::Filter { .. }) = step(&mut prompt, 1, 2).await else {
        panic!("the prefix was changed")
    };
    assert!(
        error
            .to_string()
            .contains("section `agent:persona` stays for the session, whose prefix"),
        "{error}"
    );
    // A turn fails, the prompt goes on.
    assert_eq!(step(&mut prompt, 2, 1).await.unwrap().system(), "I.");

    let bad = filtering("editor", filter("edit"), |_, assembly, _| {
        match stays(assembly) {
            true => vec![put("said", 5, "I am <<modle>>.")],
            false => Vec::new(),
        }
    });
    let error = assembly_error(&[persona("I."), facts(), bad])
        .await
        .to_string();
    assert!(
        error.starts_with("section `said` of plugin `editor`, 1:6:"),
        "{error}"
    );
}

#[tokio::test]
async fn a_filter_has_one_owner() {
    let two = [plugin("one", filter("edit")), plugin("two", filter("edit"))];
    assert_eq!(
        lines(&faults(&two).await),
        "filter `edit` has two owners, plugin `one` and plugin `two`: every filter has exactly one"
    );
    let plugins: Vec<Arc<dyn Plugin>> = vec![plugin("one", filter("edit"))];
    let options = RegistryOptions {
        filter_order: vec!["edt".to_owned()],
        ..RegistryOptions::default()
    };
    let registry = contributions(&plugins, &Environment::default(), &options).await;
    let faults = registry.err().unwrap();
    assert!(
        lines(&faults).starts_with("`[filters] order` names `edt`, which no plugin offers"),
        "{}",
        lines(&faults)
    );
}

/// While the prefix is built a filter may ask for a section that passes: it is changed where it stands,
/// and never there as well.
#[tokio::test]
async fn a_section_that_passes_is_not_doubled_in_the_prefix() {
    let words = offer().section_of("now", 900, Lifetime::Turn, "It is morning.");
    let filter = filtering("editor", filter("edit"), |_, _, _| {
        vec![put("now", 900, "It is noon.")]
    });
    let assembly = assemble(&[persona("I."), plugin("words", words), filter]).await;
    assert_eq!(assembly.system(), "I.");
    assert_eq!(
        tail(&assembly),
        ["<context section=\"now\">\nIt is noon.\n</context>"]
    );
}
