//! The loop, from outside: what the model is sent, what the log says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use raddle_core::agent::{Action, Answer, Asker, Cancel, Controller, Question, Rule};
use raddle_core::message::Message;
use raddle_core::plugins::{Fault, Lifetime, PluginError};
use raddle_core::prompt::Dynamic;
use raddle_core::provider::{ProviderError, ProviderErrorKind};
use raddle_core::session::{EndCause, EventData, verify};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::support::{MemoryPlugin, Model, Seen, Stage, Still, Turn, said};

const ALLOW: &str = "**";

fn allow_all() -> Vec<Rule> {
    vec![Rule::new(ALLOW, None, Action::Allow).unwrap()]
}

fn echo() -> MemoryPlugin {
    MemoryPlugin::new("echo").tool("echo", &[], |arguments| async move {
        said(&arguments.to_string())
    })
}

fn names(seen: &Seen) -> Vec<String> {
    let name = |event: &EventData| json!(event)["type"].as_str().unwrap().to_owned();
    seen.all().iter().map(name).collect()
}

fn code(result: &str) -> String {
    let record: Value = serde_json::from_str(result).unwrap();
    record["code"].as_str().unwrap().to_owned()
}

/// Every call right before its result, every result after its call, each exactly once.
fn assert_paired(messages: &[Arc<Message>]) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match &**message {
            Message::Tool(result) => {
                assert!(!open.is_empty(), "a result without a call");
                assert_eq!(open.remove(0), result.call_id, "results in call order");
            }
            Message::Assistant(answer) => {
                assert_eq!(open, [""; 0], "a call without a result");
                open = answer.calls().map(|call| call.id.clone()).collect();
            }
            _ => assert_eq!(open, [""; 0], "something between a call and its result"),
        }
    }
    assert_eq!(open, [""; 0], "a call without a result at the end");
}

#[tokio::test]
async fn a_turn_is_a_sequence_of_durable_events() {
    let mut stage = Stage::with([echo()]);
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Call(vec![("echo", r#"{"path":"a"}"#)]),
        Turn::Say("done"),
    ]);
    let mut agent = stage.start(&model).await;
    let cause = agent.run("go", &Cancel::new()).await.unwrap();
    assert_eq!(cause, EndCause::Answered);
    assert_eq!(
        names(&stage.seen),
        [
            "run.started",
            "generation",
            "message.user",
            "message.assistant",
            "tool.call",
            "permission",
            "tool.result",
            "text.delta",
            "message.assistant",
            "run.ended",
            "done"
        ]
    );
    let logged = stage.store.events("s1", 0).await.unwrap();
    let seqs: Vec<u64> = logged.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=10).collect::<Vec<u64>>(), "no gap, and no delta");
    assert_paired(agent.controller().transcript().messages());
}

#[tokio::test]
async fn calls_of_a_batch_run_at_the_same_time_and_their_results_keep_call_order() {
    let barrier = Arc::new(Barrier::new(2));
    let plugin = MemoryPlugin::new("meet").tool("meet", &[], move |arguments| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            if arguments["count"] == 1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            said(&arguments["count"].to_string())
        }
    });
    let mut stage = Stage::with([plugin]);
    stage.rules = allow_all();
    let calls = vec![("meet", r#"{"count":1}"#), ("meet", r#"{"count":2}"#)];
    let model = Model::told([Turn::Call(calls), Turn::Say("both")]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    assert_eq!(stage.seen.results(), ["2", "1"], "logged as they end");
    let sent = &model.sent()[1]["messages"];
    assert_eq!(sent[2]["text"], "1");
    assert_eq!(sent[3]["text"], "2");
}

#[tokio::test]
async fn one_failing_call_leaves_its_neighbours_alone() {
    let plugin = MemoryPlugin::new("three").tool("three", &[], |arguments| async move {
        if arguments["count"] == 2 {
            return Err(PluginError {
                plugin: "three".to_owned(),
                interface: "tools".to_owned(),
                function: "call".to_owned(),
                fault: Fault::Trap {
                    message: "unreachable".to_owned(),
                },
            });
        }
        said("fine")
    });
    let mut stage = Stage::with([plugin]);
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Call(vec![
            ("three", r#"{"count":1}"#),
            ("three", r#"{"count":2}"#),
            ("three", r#"{"count":3}"#),
        ]),
        Turn::Say("ok"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let messages = agent.controller().transcript().messages();
    assert_paired(messages);
    let sent = &model.sent()[1]["messages"];
    assert_eq!([&sent[2]["text"], &sent[4]["text"]], ["fine", "fine"]);
    let record: Value = serde_json::from_str(sent[3]["text"].as_str().unwrap()).unwrap();
    assert_eq!(record["code"], "plugin-fault");
    assert!(
        record["message"].as_str().unwrap().contains("`three`"),
        "names the plugin"
    );
}

#[tokio::test]
async fn calls_of_one_queue_run_one_after_another_in_call_order() {
    let running = Arc::new(AtomicUsize::new(0));
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&order);
    let plugin =
        MemoryPlugin::new("edit").tool("edit", &[("exclusive", "path")], move |arguments| {
            let (running, log) = (Arc::clone(&running), Arc::clone(&log));
            async move {
                assert_eq!(
                    running.fetch_add(1, Ordering::SeqCst),
                    0,
                    "two edits of one file at once"
                );
                tokio::time::sleep(Duration::from_millis(5)).await;
                running.fetch_sub(1, Ordering::SeqCst);
                log.lock()
                    .unwrap()
                    .push(arguments["count"].as_u64().unwrap());
                said("edited")
            }
        });
    let mut stage = Stage::with([plugin]);
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Call(vec![
            ("edit", r#"{"path":"a","count":1}"#),
            ("edit", r#"{"path":"a","count":2}"#),
            ("edit", r#"{"path":"a","count":3}"#),
        ]),
        Turn::Say("ok"),
    ]);
    stage
        .start(&model)
        .await
        .run("go", &Cancel::new())
        .await
        .unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
}

#[tokio::test]
async fn an_answer_cut_by_the_output_limit_runs_none_of_its_calls() {
    let mut stage = Stage::with([echo()]);
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Cut(vec![("echo", r#"{"path":"a"}"#), ("echo", r#"{"pa"#)]),
        Turn::Say("shorter now"),
    ]);
    let mut agent = stage.start(&model).await;
    assert_eq!(
        agent.run("go", &Cancel::new()).await.unwrap(),
        EndCause::Answered
    );
    assert_eq!(
        stage
            .seen
            .results()
            .iter()
            .map(|r| code(r))
            .collect::<Vec<_>>(),
        ["cut", "cut"]
    );
    assert_paired(agent.controller().transcript().messages());
    model.then([
        Turn::Cut(vec![("echo", "{}")]),
        Turn::Cut(vec![("echo", "{}")]),
    ]);
    let cause = agent.run("again", &Cancel::new()).await.unwrap();
    assert_eq!(cause, EndCause::Cut, "two in a row end the run");
}

#[tokio::test]
async fn arguments_are_checked_before_the_tool_sees_them() {
    let mut stage = Stage::with([echo()]);
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Call(vec![
            ("echo", ""),
            ("echo", "  "),
            ("echo", "null"),
            ("echo", r#"{"path": a.txt}"#),
            ("echo", r#"{"count":"200000"}"#),
            ("echo", "[1]"),
            ("nothing", "{}"),
        ]),
        Turn::Say("ok"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let sent = &model.sent()[1]["messages"];
    let text = |index: usize| sent[index + 2]["text"].as_str().unwrap().to_owned();
    assert_eq!([text(0), text(1), text(2)], ["{}", "{}", "{}"]);
    assert_eq!(code(&text(3)), "malformed-arguments");
    assert!(text(3).contains("line 1 column 10"), "{}", text(3));
    assert!(
        text(3).contains(r#""schema":{"type":"object""#),
        "{}",
        text(3)
    );
    assert_eq!(code(&text(4)), "invalid-arguments");
    assert!(
        text(4).contains("/count") && text(4).contains("integer"),
        "{}",
        text(4)
    );
    assert_eq!(code(&text(5)), "malformed-arguments");
    assert_eq!(code(&text(6)), "unknown-tool");
}

struct Asked(Mutex<Vec<Question>>, Answer);

impl Asker for Asked {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push(question.clone());
        async { self.1 }.boxed()
    }
}

#[tokio::test]
async fn without_a_rule_a_call_is_asked_for_and_without_anybody_to_ask_it_is_denied() {
    let stage = Stage::with([echo()]);
    let model = Model::told([Turn::Call(vec![("echo", "{}")]), Turn::Say("ok")]);
    stage
        .start(&model)
        .await
        .run("go", &Cancel::new())
        .await
        .unwrap();
    assert_eq!(code(&stage.seen.results()[0]), "denied");

    let asker = Arc::new(Asked(Mutex::default(), Answer::AllowAlways));
    let mut stage = Stage::with([echo()]);
    stage.asker = Some(Arc::clone(&asker) as Arc<dyn Asker>);
    let same = ("echo", r#"{"path":"a"}"#);
    let model = Model::told([
        Turn::Call(vec![same, same, ("echo", r#"{"path":"b"}"#)]),
        Turn::Say("ok"),
    ]);
    stage
        .start(&model)
        .await
        .run("go", &Cancel::new())
        .await
        .unwrap();
    let asked = asker.0.lock().unwrap();
    assert_eq!(
        asked.len(),
        2,
        "exactly these arguments are not asked for again"
    );
    assert_eq!(
        (asked[0].tool.as_str(), asked[0].plugin.as_str()),
        ("echo", "echo")
    );
    assert_eq!(asked[1].arguments, json!({ "path": "b" }));
}

#[tokio::test]
async fn the_last_matching_rule_decides_and_reading_needs_none() {
    let plugin = echo().tool("look", &[("read-only", "true")], |_| async { said("seen") });
    let mut stage = Stage::with([plugin]);
    stage.rules = vec![
        Rule::new("echo", None, Action::Allow).unwrap(),
        Rule::new("echo", Some(("path", "secret/**")), Action::Deny).unwrap(),
        Rule::new("echo", Some(("path", "secret/*.pub")), Action::Allow).unwrap(),
    ];
    let model = Model::told([
        Turn::Call(vec![
            ("echo", r#"{"path":"a"}"#),
            ("echo", r#"{"path":"secret/b"}"#),
            ("echo", r#"{"path":"secret/c.pub"}"#),
            ("echo", r#"{"path":"secret/d/e.pub"}"#),
            ("echo", r#"{"path":"./a/../secret/b"}"#),
            ("echo", r#"{"path":"secret/../secret/f/../g/h.pub"}"#),
            ("look", "{}"),
        ]),
        Turn::Say("ok"),
    ]);
    stage
        .start(&model)
        .await
        .run("go", &Cancel::new())
        .await
        .unwrap();
    let allowed: Vec<bool> = stage
        .seen
        .all()
        .iter()
        .filter_map(|event| match event {
            EventData::Permission { allowed, .. } => Some(*allowed),
            _ => None,
        })
        .collect();
    assert_eq!(allowed, [true, false, true, false, false, false, true]);
}

#[tokio::test]
async fn cancelling_during_a_tool_leaves_a_valid_transcript() {
    let cancel = Cancel::new();
    let switch = cancel.clone();
    let plugin = MemoryPlugin::new("slow").tool("slow", &[], move |arguments| {
        let switch = switch.clone();
        async move {
            if arguments["count"] == 1 {
                return said("quick");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            switch.cancel();
            std::future::pending().await
        }
    });
    let mut stage = Stage::with([plugin]);
    stage.rules = allow_all();
    let calls = vec![("slow", r#"{"count":1}"#), ("slow", r#"{"count":2}"#)];
    let model = Model::told([Turn::Call(calls), Turn::Say("back")]);
    let mut agent = stage.start(&model).await;
    assert_eq!(agent.run("go", &cancel).await.unwrap(), EndCause::Cancelled);
    let results = stage.seen.results();
    assert_eq!(results[0], "quick", "what ended before is kept");
    assert_eq!(code(&results[1]), "cancelled");
    assert_paired(agent.controller().transcript().messages());
    assert_eq!(
        agent.run("again", &Cancel::new()).await.unwrap(),
        EndCause::Answered
    );
}

#[tokio::test]
async fn cancelling_while_the_model_speaks_keeps_what_it_said() {
    let stage = Stage::with([]);
    let model = Model::told([Turn::Hang("I was about"), Turn::Say("back")]);
    let mut agent = stage.start(&model).await;
    let cancel = Cancel::new();
    let (cause, ()) = tokio::join!(agent.run("go", &cancel), async {
        while !names(&stage.seen).contains(&"text.delta".to_owned()) {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    });
    assert_eq!(cause.unwrap(), EndCause::Cancelled);
    agent.run("again", &Cancel::new()).await.unwrap();
    assert_eq!(
        model.sent()[1]["messages"][1]["parts"][0]["text"],
        "I was about"
    );
}

#[tokio::test]
async fn a_broken_answer_fails_the_run_and_keeps_what_was_said() {
    let stage = Stage::with([]);
    let error = ProviderError::new(ProviderErrorKind::Connection, "the connection broke");
    let model = Model::told([Turn::Break("Hel", error), Turn::Say("Hello")]);
    let mut agent = stage.start(&model).await;
    assert_eq!(
        agent.run("go", &Cancel::new()).await.unwrap(),
        EndCause::Failed
    );
    assert!(stage.seen.all().contains(&EventData::Error {
        code: "connection".to_owned(),
        message: "the connection broke".to_owned(),
    }));
    assert_eq!(
        agent.run("again", &Cancel::new()).await.unwrap(),
        EndCause::Answered
    );
    assert_eq!(model.sent()[1]["messages"][1]["parts"][0]["text"], "Hel");
}

#[tokio::test]
async fn a_section_that_refers_to_a_valueless_variable_fails_that_turn_and_the_loop_lives_on() {
    let ready = Arc::new(AtomicUsize::new(0));
    let value = Arc::clone(&ready);
    let plugin = MemoryPlugin::new("where")
        .section("place", Lifetime::Session, "You are in <<place>>.")
        .variable("place", Lifetime::Session)
        .answering(move |_, _| {
            Ok((value.load(Ordering::SeqCst) == 1).then(|| "the attic".to_owned()))
        });
    let stage = Stage::with([plugin]);
    let model = Model::told([Turn::Say("hello")]);
    let mut agent = stage.start(&model).await;
    assert_eq!(
        agent.run("go", &Cancel::new()).await.unwrap(),
        EndCause::Failed
    );
    let events = stage.seen.all();
    let failure = events.iter().find_map(|event| match event {
        EventData::Error { code, message } => Some((code.as_str(), message)),
        _ => None,
    });
    let (code, message) = failure.unwrap();
    assert_eq!(code, "prompt");
    assert!(
        message.contains("`place`") && message.contains("`where`"),
        "{message}"
    );
    assert!(model.sent().is_empty(), "a malformed prompt is never sent");

    ready.store(1, Ordering::SeqCst);
    assert_eq!(
        agent.run("again", &Cancel::new()).await.unwrap(),
        EndCause::Answered
    );
    assert_eq!(model.sent()[0]["system"], "You are in the attic.");
}

#[tokio::test]
async fn shorter_lived_text_stands_before_the_message_of_its_run_and_only_when_it_changed() {
    let days = Arc::new(AtomicUsize::new(1));
    let day = Arc::clone(&days);
    let plugin = MemoryPlugin::new("calendar")
        .section("day", Lifetime::Turn, "It is day <<day>>.")
        .variable("day", Lifetime::Turn)
        .answering(move |_, _| Ok(Some(day.load(Ordering::SeqCst).to_string())));
    let stage = Stage::with([plugin]);
    let model = Model::told(["a", "b", "c"].map(Turn::Say));
    let mut agent = stage.start(&model).await;
    agent.run("one", &Cancel::new()).await.unwrap();
    agent.run("two", &Cancel::new()).await.unwrap();
    days.store(2, Ordering::SeqCst);
    // A restart forgets nothing: the texts already there are read from the log.
    let mut agent = stage.open(&model).await;
    agent.run("three", &Cancel::new()).await.unwrap();
    let sent = model.sent();
    let roles = |request: &Value| -> String {
        let messages = request["messages"].as_array().unwrap().iter();
        messages
            .map(|message| &message["role"].as_str().unwrap()[..1])
            .collect()
    };
    assert_eq!(
        sent.iter().map(roles).collect::<Vec<_>>(),
        ["du", "duau", "duauadu"]
    );
    assert_eq!(
        sent[0]["messages"][0]["text"],
        "<context section=\"day\">\nIt is day 1.\n</context>"
    );
    for pair in sent.windows(2) {
        assert_eq!(pair[0]["system"], pair[1]["system"]);
        let (before, after) = (&pair[0]["messages"], &pair[1]["messages"]);
        let before = before.as_array().unwrap();
        assert_eq!(before[..], after.as_array().unwrap()[..before.len()]);
    }
}

#[tokio::test]
async fn a_killed_run_is_ended_when_the_session_is_opened_and_can_be_gone_on_with() {
    let plugin =
        MemoryPlugin::new("slow").tool("slow", &[], |_| async { std::future::pending().await });
    let mut stage = Stage::with([plugin]);
    stage.rules = allow_all();
    let model = Model::told([Turn::Call(vec![("slow", "{}"), ("slow", "{}")])]);
    let mut agent = stage.start(&model).await;
    let cancel = Cancel::new();
    tokio::select! {
        _ = agent.run("go", &cancel) => panic!("the tool does not end"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    drop(agent); // as a kill does: nothing more is written

    model.then([Turn::Say("where was I")]);
    let mut agent = stage.open(&model).await;
    let results = stage.seen.results();
    assert_eq!(
        results.iter().map(|r| code(r)).collect::<Vec<_>>(),
        ["interrupted"; 2]
    );
    assert_paired(agent.controller().transcript().messages());
    assert_eq!(
        agent.run("go on", &Cancel::new()).await.unwrap(),
        EndCause::Answered
    );
    let runs: Vec<u32> = stage
        .store
        .events("s1", 0)
        .await
        .unwrap()
        .iter()
        .map(|e| e.run)
        .collect();
    assert!(runs.is_sorted() && runs.last() == Some(&2));
}

#[tokio::test]
async fn another_prompt_under_a_session_is_a_named_cache_break() {
    let mut stage = Stage::with([MemoryPlugin::new("voice").section(
        "voice",
        Lifetime::Deployment,
        "Speak softly.",
    )]);
    let model = Model::told(["a", "b"].map(Turn::Say));
    stage
        .start(&model)
        .await
        .run("one", &Cancel::new())
        .await
        .unwrap();
    stage.plugins = Stage::with([MemoryPlugin::new("voice").section(
        "voice",
        Lifetime::Deployment,
        "Speak sharply.",
    )])
    .plugins;
    stage
        .open(&model)
        .await
        .run("two", &Cancel::new())
        .await
        .unwrap();
    let events = stage.seen.all();
    let broken = events.iter().find_map(|event| match event {
        EventData::CacheBreak(broken) => Some(broken),
        _ => None,
    });
    let broken = broken.unwrap();
    assert_eq!(broken.part, "system");
    assert_eq!(broken.plugin.as_deref(), Some("voice"));
    assert_eq!(broken.name.as_deref(), Some("voice"));
    assert_eq!(broken.at, "Speak s".len());
}

/// Within a process the prefix changes only where the deployment wants short-lived text in it.
#[tokio::test]
async fn words_that_leave_the_prompt_within_a_process_are_named_with_their_plugin() {
    let note = MemoryPlugin::new("notes")
        .computed_section("note", Lifetime::Step)
        .answering(|_, context| Ok((context.step == Some(1)).then(|| "Only once.".to_owned())));
    let mut stage = Stage::with([echo(), note]);
    stage.dynamic = Dynamic::Inline;
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Call(vec![("echo", r#"{"path":"a"}"#)]),
        Turn::Say("done"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let events = stage.seen.all();
    let broken = events.iter().find_map(|event| match event {
        EventData::CacheBreak(broken) => Some(broken),
        _ => None,
    });
    let broken = broken.unwrap();
    assert_eq!(broken.plugin.as_deref(), Some("notes"));
    assert_eq!(broken.name.as_deref(), Some("note"));
    assert_eq!(broken.at, 0);
}

#[tokio::test]
async fn a_session_with_a_damaged_event_is_verified_as_far_as_it_goes_and_not_gone_on_with() {
    let mut stage = Stage::with([echo()]);
    stage.rules = allow_all();
    let model = Model::told(["one", "two", "three"].map(Turn::Say));
    let mut agent = stage.start(&model).await;
    for message in ["first", "second", "third"] {
        agent.run(message, &Cancel::new()).await.unwrap();
    }
    drop(agent);
    let database = rusqlite::Connection::open(stage.folder.path().join("sessions.db")).unwrap();
    let change = |set: &str, text: &str| {
        let event = format!("UPDATE event SET {set} WHERE data LIKE '%{text}%'");
        assert!(database.execute(&event, []).unwrap() > 0);
    };
    let reasons = async || {
        let found = verify(&*stage.store, &model, "s1").await.unwrap();
        assert_eq!(found.requests, 3, "what can be read is looked at");
        let reasons = found.mismatches.into_iter().map(|found| found.reason);
        reasons.collect::<Vec<_>>()
    };
    let refused = async || {
        let (still, seen) = (Arc::new(Still), Arc::new(stage.seen.clone()));
        let opened = Controller::open(Arc::clone(&stage.store), "s1", still, seen).await;
        opened.err().map(|error| error.to_string())
    };

    // A type of a newer release: no fault until a request turns out to have held what it said.
    change("type = 'run.remarked'", "answered");
    assert_eq!(reasons().await, [""; 0]);
    let told = refused().await.unwrap();
    assert!(
        told.contains("its type `run.remarked` is not known here"),
        "{told}"
    );
    change("type = 'run.ended'", "answered");
    assert_eq!(refused().await, None);

    // Told once, although two requests can no longer be rebuilt.
    change("data = '{}'", "second");
    assert_eq!(reasons().await, ["missing field `text`"]);
    let told = refused().await.unwrap();
    assert!(told.ends_with("missing field `text`"), "{told}");
}

#[tokio::test]
async fn every_request_can_be_rebuilt_from_the_log() {
    let mut stage = Stage::with([
        echo(),
        MemoryPlugin::new("voice").section("voice", Lifetime::Turn, "Speak softly."),
    ]);
    stage.rules = allow_all();
    let model = Model::told([
        Turn::Call(vec![("echo", r#"{"path":"a"}"#), ("echo", "[")]),
        Turn::Say("done"),
        Turn::Say("again"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    agent.run("once more", &Cancel::new()).await.unwrap();
    let found = verify(&*stage.store, &model, "s1").await.unwrap();
    assert_eq!((found.requests, found.mismatches.len()), (3, 0));

    let database = rusqlite::Connection::open(stage.folder.path().join("sessions.db")).unwrap();
    let changed = database
        .execute(
            "UPDATE event SET data = replace(data, 'once more', 'once less')",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    let found = verify(&*stage.store, &model, "s1").await.unwrap();
    assert_eq!(
        found.mismatches.len(),
        1,
        "only the request after the tampering differs"
    );
}
