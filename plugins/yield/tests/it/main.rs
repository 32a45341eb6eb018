//! When a message is shown, and when it ends the run.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_yield::{Arguments, reply, tool};
use raddle_sdk::Fact;
use serde_json::{Value, json};

fn arguments(value: Value) -> Arguments {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_progress_message_does_not_end_the_run_whatever_runs_beside_it() {
    let progress = arguments(json!({"message": "Half way.", "blockOnUser": false}));
    let reply = reply(progress, &["read"]).unwrap();
    assert!(!reply.terminate);
    assert_eq!(reply.facts, [Fact::new("message", "Half way.")]);
}

#[test]
fn a_blocking_message_ends_the_run_and_carries_what_was_left_out() {
    let done = arguments(json!({
        "message": "Done.", "blockOnUser": true, "intent": "complete",
        "deviations": [{"step": "3", "reason": "no network"}],
    }));
    let reply = reply(done, &[]).unwrap();
    assert!(reply.terminate);
    assert_eq!(
        reply.facts,
        [
            Fact::new("message", "Done."),
            Fact::new("intent", "complete"),
            Fact::new("deviations", r#"[{"step":"3","reason":"no network"}]"#),
        ]
    );
}

#[test]
fn a_blocking_message_beside_others_is_refused_with_the_reason() {
    let done = arguments(json!({"message": "Done.", "blockOnUser": true}));
    let error = reply(done, &["read", "bash"]).unwrap_err();
    assert_eq!(error.code, "not-alone");
    assert!(error.message.contains("read, bash"), "{}", error.message);
}

#[test]
fn the_schema_takes_what_the_seed_writes() {
    let schema: Value = serde_json::from_str(&tool().parameters).unwrap();
    assert_eq!(schema["required"], json!(["message", "blockOnUser"]));
}
