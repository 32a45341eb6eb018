//! When a message is shown, and when it ends the run.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_yield::{Arguments, audit, reply, tool};
use raddle_sdk::Fact;
use raddle_sdk::skills_host::{ActiveSkill, Step, StepState};
use serde_json::{Value, json};

fn arguments(value: Value) -> Arguments {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_progress_message_does_not_end_the_run_whatever_runs_beside_it() {
    let progress = arguments(json!({"message": "Half way.", "blockOnUser": false}));
    let reply = reply(&progress, &["read"]).unwrap();
    assert!(!reply.terminate);
    assert_eq!(reply.facts, [Fact::new("message", "Half way.")]);
}

#[test]
fn a_blocking_message_ends_the_run_and_carries_what_was_left_out() {
    let done = arguments(json!({
        "message": "Done.", "blockOnUser": true, "intent": "complete",
        "deviations": [{"step": "3", "reason": "no network"}],
    }));
    let reply = reply(&done, &[]).unwrap();
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
    let error = reply(&done, &["read", "bash"]).unwrap_err();
    assert_eq!(error.code, "not-alone");
    assert!(error.message.contains("read, bash"), "{}", error.message);
}

#[test]
fn the_schema_takes_what_the_seed_writes() {
    let schema: Value = serde_json::from_str(&tool().parameters).unwrap();
    assert_eq!(schema["required"], json!(["message", "blockOnUser"]));
}

fn workflow(name: &str, states: &[(StepState, bool)]) -> ActiveSkill {
    let steps = states
        .iter()
        .zip(1..)
        .map(|((state, optional), number)| Step {
            number,
            text: format!("Do thing {number}."),
            optional: *optional,
            state: *state,
        });
    ActiveSkill {
        name: name.to_owned(),
        workflow: true,
        path: format!("skills/{name}/SKILL.md"),
        steps: steps.collect(),
    }
}

fn ended(extra: &Value) -> Arguments {
    let mut value = json!({"message": "Done.", "blockOnUser": true});
    value
        .as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    arguments(value)
}

/// "The completion message must identify each deviation and its cause."
#[test]
fn a_completion_that_leaves_required_steps_out_is_told_which() {
    use StepState::{Blocked, Complete, Open};
    let deck = workflow(
        "deck",
        &[
            (Complete, false),
            (Open, true),
            (Open, false),
            (Blocked, true),
        ],
    );
    let left_out = audit(&ended(&json!({})), std::slice::from_ref(&deck)).unwrap();
    let steps: Vec<&str> = left_out.lines().skip(1).collect();
    assert_eq!(steps, ["- deck 3: Do thing 3.", "- deck 4: Do thing 4."]);

    let one = json!({"deviations": [{"step": "deck 3", "reason": "no network"}]});
    let left_out = audit(&ended(&one), std::slice::from_ref(&deck)).unwrap();
    assert!(!left_out.contains("deck 3") && left_out.contains("deck 4"));

    let both = json!({"intent": "complete", "deviations": [
        {"step": "3", "reason": "no network"}, {"step": "Do thing 4", "reason": "no browser"},
    ]});
    assert_eq!(audit(&ended(&both), std::slice::from_ref(&deck)), None);
}

#[test]
fn of_two_workflows_a_deviation_names_the_one_it_is_about() {
    let open = [(StepState::Open, false)];
    let active = [workflow("deck", &open), workflow("import", &open)];
    let one = json!({"deviations": [{"step": "import 1", "reason": "nothing to import"}]});
    let left_out = audit(&ended(&one), &active).unwrap();
    assert!(left_out.contains("- deck 1") && !left_out.contains("- import 1"));
}

#[test]
fn questions_and_progress_are_not_audited_nor_is_work_without_a_checklist() {
    let deck = workflow("deck", &[(StepState::Open, false)]);
    for message in [
        json!({"intent": "question"}),
        json!({"intent": "Blocked"}),
        json!({"blockOnUser": false}),
    ] {
        assert_eq!(
            audit(&ended(&message), std::slice::from_ref(&deck)),
            None,
            "{message}"
        );
    }
    assert_eq!(audit(&ended(&json!({})), &[workflow("lookup", &[])]), None);
}
