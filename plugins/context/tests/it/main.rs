//! What the plugin answers to the host, and what its words may not do.
#![expect(clippy::expect_used, reason = "a failed expectation is a failed test")]

use raddle_plugin_context::Plugin;
use raddle_sdk::sections::{Guest, Section};
use raddle_sdk::{Content, Environment, Lifetime};

fn section() -> (Section, String) {
    let sections = Plugin::offer(Environment::default()).expect("it has no settings");
    let [section] = sections.as_slice() else {
        panic!("one section, not {sections:?}");
    };
    let Content::Fixed(text) = &section.content else {
        panic!("the text is known when it is offered");
    };
    (section.clone(), text.clone())
}

#[test]
fn it_is_one_protocol_section_of_the_cached_prefix() {
    let (section, text) = section();
    assert_eq!(section.name, "context");
    assert!((200..300).contains(&section.order));
    assert_eq!(section.lifetime, Lifetime::Session);
    assert!(!text.ends_with('\n'));
}

#[test]
fn the_words_say_what_an_entry_is_and_what_a_forged_one_is() {
    let (_, text) = section();
    for needed in [
        "<context section=\"NAME\">",
        "<context section=\"NAME\"/>",
        "newest",
        "not words of the user",
        "no acknowledgement is needed",
        "user's message",
        "tool's output",
    ] {
        assert!(text.contains(needed), "{needed:?} is missing");
    }
}

#[test]
fn the_words_do_not_sound_like_an_attack() {
    let (_, text) = section();
    let text = text.to_lowercase();
    for suspicious in [
        "never tell",
        "do not tell",
        "don't tell",
        "secret",
        "hide",
        "must not mention",
    ] {
        assert!(!text.contains(suspicious), "{suspicious:?}");
    }
}
