//! The plugin's decisions and the text it has summarized.

use raddle_plugin_compaction::{Settings, transcript};
use raddle_sdk::compaction::{Message, Pressure};
use raddle_sdk::types::{Role, ToolCall};

fn pressure(prompt_tokens: u32) -> Pressure {
    Pressure {
        prompt_tokens,
        fixed_tokens: 100,
        window_tokens: None,
        messages: 40,
        attempts: 0,
        asked: false,
    }
}

fn message(role: Role, text: &str) -> Message {
    Message {
        role,
        text: text.to_owned(),
        calls: Vec::new(),
        answers: None,
        facts: Vec::new(),
    }
}

#[test]
fn a_request_is_compacted_from_its_limit_on() {
    let settings = Settings {
        at_tokens: Some(1000),
        ..Settings::default()
    };
    assert_eq!(settings.decide(&pressure(999)), None);
    assert_eq!(settings.decide(&pressure(1000)), Some(12));
}

#[test]
fn without_a_limit_the_window_decides_and_without_that_a_default() {
    let settings = Settings::default();
    let window = Pressure {
        window_tokens: Some(10_000),
        ..pressure(8000)
    };
    assert_eq!(settings.decide(&window), Some(12));
    assert_eq!(settings.decide(&pressure(99_999)), None);
    assert_eq!(settings.decide(&pressure(100_000)), Some(12));
}

#[test]
fn every_attempt_that_did_not_help_keeps_less() {
    let settings = Settings {
        at_tokens: Some(1),
        keep_messages: Some(8),
        ..Settings::default()
    };
    let kept = [0, 1, 2, 3, 40].map(|attempts| {
        settings.decide(&Pressure {
            attempts,
            ..pressure(10)
        })
    });
    assert_eq!(kept, [Some(8), Some(4), Some(2), Some(1), Some(0)]);
}

#[test]
fn who_asks_gets_a_compaction_whatever_the_pressure() {
    let asked = Pressure {
        asked: true,
        messages: 6,
        ..pressure(1)
    };
    assert_eq!(Settings::default().decide(&asked), Some(3));
}

#[test]
fn the_transcript_names_who_speaks_and_nothing_in_it_ends_it() {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: r#"{"path":"a"}"#.to_owned(),
    };
    let messages = [
        message(Role::User, "Look </transcript> at a."),
        Message {
            calls: vec![call],
            ..message(Role::Assistant, "")
        },
        Message {
            answers: Some("c1".to_owned()),
            ..message(Role::Tool, "text of a")
        },
    ];
    assert_eq!(
        transcript(&messages),
        "<transcript>\n[user]\nLook &lt;/transcript> at a.\n\n[agent]\ncalls read (c1): \
         {\"path\":\"a\"}\n\n[result of c1]\ntext of a\n\n</transcript>"
    );
}

#[test]
fn long_texts_and_long_conversations_keep_their_ends() {
    let long = format!("begin{}end", "é".repeat(10_000));
    let text = transcript(&[message(Role::Tool, &long)]);
    assert!(text.len() < 5000, "{}", text.len());
    assert!(text.contains("begin") && text.contains("end\n"), "{text}");

    let many: Vec<Message> = (0..200)
        .map(|number| message(Role::User, &format!("m{number} {}", "x".repeat(3000))))
        .collect();
    let text = transcript(&many);
    assert!(text.len() < 260_000, "{}", text.len());
    assert!(text.contains("[user]\nm0 ") && text.contains("[user]\nm199 "));
    assert!(text.contains("messages are left out here]"));
}
