//! What people are told, and what of it ends a run.

use std::sync::Arc;

use futures::future::FutureExt as _;
use raddle_core::agent::{Action, Cancel, Rule};
use raddle_core::plugins::{DomainError, ErrorKind, Fact, Fault, Outcome, PluginError, Reply};
use raddle_core::session::injection::{Coalescing, Delivery, Injection, Kind};
use raddle_core::session::{EndCause, EventData};
use serde_json::{Value, json};

use crate::support::{MemoryPlugin, Model, Stage, Turn, said};

/// A tool that tells the user its `path`, and ends the run where the `count` is 1; one that does
/// nothing; and one kind of injections.
fn stage() -> Stage {
    let tell = |arguments: Value| async move {
        let message = arguments["path"].as_str().unwrap().to_owned();
        if message == "refused" {
            return Err(refused());
        }
        let name = "message".to_owned();
        Ok(Outcome::Done(Reply {
            terminate: arguments["count"] == 1,
            facts: vec![Fact {
                name,
                value: message,
            }],
            ..Reply::default()
        }))
    };
    let kind = Kind {
        name: "background_result".to_owned(),
        delivery: Delivery::FollowUp,
        coalescing: Coalescing::KeepAll,
        passive: true,
        attributed: false,
    };
    let plugin = MemoryPlugin::new("tell")
        .tool("tell", &[("display", "false")], tell)
        .tool("work", &[], |_| async { said("worked") })
        .injections([kind]);
    let mut stage = Stage::with([plugin]);
    stage.rules = vec![Rule::new("**", None, Action::Allow).unwrap()];
    stage
}

fn refused() -> PluginError {
    PluginError {
        plugin: "tell".to_owned(),
        interface: "tools".to_owned(),
        function: "call".to_owned(),
        fault: Fault::Domain(DomainError::new(ErrorKind::Invalid, "no", "not shown")),
    }
}

async fn run(stage: &Stage, turns: impl IntoIterator<Item = Turn>) -> EndCause {
    let model = Model::told(turns);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap()
}

/// The events that a transcript shows, of those that say what was told and done.
async fn shown(stage: &Stage) -> Vec<String> {
    let events = stage.store.events("s1", 0).await.unwrap();
    let line = |data: &EventData| match data {
        EventData::AssistantMessage { message, .. } => Some(message.text()),
        EventData::ToolCall { call, .. } => Some(call.name.clone()),
        EventData::ToolResult { text, .. } => Some(text.clone()),
        EventData::Yield { message, .. } => Some(format!("told: {message}")),
        _ => None,
    };
    let displayed = events.iter().filter(|event| event.display);
    displayed.filter_map(|event| line(&event.data)).collect()
}

fn done(stage: &Stage) -> Vec<String> {
    let seen = stage.seen.all();
    let message = |data: &EventData| match data {
        EventData::Done { message, .. } => Some(message.clone()),
        _ => None,
    };
    seen.iter().filter_map(message).collect()
}

#[tokio::test]
async fn a_call_that_shows_itself_is_logged_and_shown_only_when_it_fails() {
    let stage = stage();
    let calls = vec![
        ("tell", r#"{"path":"hello"}"#),
        ("work", "{}"),
        ("tell", r#"{"path":"refused"}"#),
    ];
    run(&stage, [Turn::Call(calls), Turn::Say("bye")]).await;
    let mut shown = shown(&stage).await;
    shown.sort();
    let refusal = json!({"code": "no", "message": "not shown"}).to_string();
    assert_eq!(
        shown,
        ["", "bye", "told: hello", "work", "worked", &refusal],
        "neither the calls of `tell` nor the result of the good one"
    );
    let logged = stage.store.events("s1", 0).await.unwrap();
    let calls = logged
        .iter()
        .filter(|event| matches!(event.data, EventData::ToolCall { .. }));
    assert_eq!(calls.count(), 3, "the log has all");
}

#[tokio::test]
async fn a_message_in_the_words_of_its_answer_is_shown_once() {
    for (text, once) in [
        ("All done.", true),
        ("I looked.\n\nAll  done.\n", true),
        ("Nearly done.", false),
        ("All done. Nearly.", false),
        ("done.", false),
    ] {
        let stage = stage();
        let call = ("tell", r#"{"path":"All done.","count":1}"#);
        let cause = run(&stage, [Turn::SayAndCall(text, vec![call])]).await;
        assert_eq!(cause, EndCause::Yielded);
        let told = shown(&stage).await.contains(&"told: All done.".to_owned());
        assert_eq!(told, !once, "{text:?}");
        assert_eq!(done(&stage), ["All done."]);
    }
}

#[tokio::test]
async fn a_last_answer_in_the_words_of_a_message_is_shown_once() {
    for (answer, once) in [("All done.\n", true), ("All done", false)] {
        let stage = stage();
        let told = Turn::Call(vec![("tell", r#"{"path":"All done."}"#)]);
        let cause = run(&stage, [told, Turn::Say(answer)]).await;
        assert_eq!(cause, EndCause::Answered);
        let shown = shown(&stage).await;
        assert!(shown.contains(&"told: All done.".to_owned()), "{shown:?}");
        assert_eq!(!shown.contains(&answer.to_owned()), once, "{shown:?}");
        assert_eq!(done(&stage), [answer]);
    }
}

#[tokio::test]
async fn what_a_run_ended_with_is_what_its_last_event_says() {
    let ending = ("tell", r#"{"path":"I stop.","count":1}"#);
    let stage = stage();
    let turns = [
        Turn::Call(vec![ending, ("work", "{}")]),
        Turn::Say("I went on."),
    ];
    assert_eq!(run(&stage, turns).await, EndCause::Answered);
    assert_eq!(done(&stage), ["I went on."], "the run did not end with it");
}

#[tokio::test]
async fn after_a_message_to_act_on_what_was_to_follow_waits_for_the_user() {
    let result: Injection = serde_json::from_value(json!({
        "id": "job", "kind": "background_result", "occurredAt": "2026-01-31T10:00:00Z",
        "source": "server", "summary": "ready",
    }))
    .unwrap();
    let ending = || Turn::Call(vec![("tell", r#"{"path":"Which one?","count":1}"#)]);
    for (turn, cause, runs) in [
        (ending(), EndCause::Yielded, 1),
        (Turn::Say("Here."), EndCause::Answered, 2),
    ] {
        let stage = stage();
        let (store, result) = (Arc::clone(&stage.store), result.clone());
        let post = async move { store.post("s1", &result).await.unwrap() };
        let model = Model::told([Turn::After(post.boxed(), Box::new(turn))]);
        model.then([Turn::Say("Noted.")]);
        let mut agent = stage.start(&model).await;
        assert_eq!(agent.run("go", &Cancel::new()).await.unwrap(), cause);
        assert_eq!(agent.controller().run(), runs);
        if runs == 1 {
            assert!(!agent.listen().await.unwrap(), "not while idle either");
            agent.run("that one", &Cancel::new()).await.unwrap();
            let sent = model.sent()[1]["messages"].as_array().unwrap().clone();
            let roles: Vec<&str> = sent
                .iter()
                .filter_map(|sent| sent["role"].as_str())
                .collect();
            assert_eq!(roles, ["user", "assistant", "tool", "developer", "user"]);
        }
    }
}
