//! Nothing leaks between calls, parallel calls are parallel, and a call can be given up.

use std::time::Duration;

use raddle_core::plugins::{Caller, Context, Environment, Fault, Question};

use crate::guest::{Guest, call, load, render, words};
use crate::importing::Services;

/// Counts its questions in a global and answers with as many letters.
fn counter() -> Vec<u8> {
    Guest::new()
        .core("(global $count (mut i32) (i32.const 0))")
        .core(&words(1024, &[0, 1, 1100, 0]))
        .rendering(
            "(global.set $count (i32.add (global.get $count) (i32.const 1)))
            (memory.fill (i32.const 1100) (i32.const 120) (global.get $count))
            (i32.store (i32.const 1036) (global.get $count))
            (i32.const 1024)",
        )
        .build()
}

#[tokio::test]
async fn every_call_starts_afresh() {
    let plugin = load(counter()).await;
    for _ in 0..5 {
        assert_eq!(
            render(&*plugin, &Caller::default()).await,
            Ok(Some("x".to_owned()))
        );
    }
}

#[tokio::test]
async fn the_questions_of_one_assembly_share_an_instance() {
    let plugin = load(counter()).await;
    let questions: Vec<_> = ["a", "b", "c"]
        .map(|name| Question::Section(name.to_owned()))
        .into();
    let answers = plugin
        .answer(&questions, &Context::default(), &Caller::default())
        .await
        .unwrap();
    assert_eq!(
        answers.into_iter().flatten().collect::<Vec<_>>(),
        ["x", "xx", "xxx"]
    );
    let none = plugin
        .answer(&[], &Context::default(), &Caller::default())
        .await;
    assert_eq!(none, Ok(Vec::new()));
}

#[tokio::test]
async fn a_question_to_what_is_not_exported_is_an_error_that_names_it() {
    let plugin = load(counter()).await;
    let questions = [Question::Variable("v".to_owned())];
    let error = plugin
        .answer(&questions, &Context::default(), &Caller::default())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin `guest`, variables.resolve: does not export variables"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_calls_succeed_among_bad_ones() {
    let good = load(counter()).await;
    let bad = load(
        Guest::new()
            .core("(func $deeper (result i32) (i32.add (call $deeper) (i32.const 1)))")
            .calling("(unreachable)")
            .rendering("(call $deeper)")
            .build(),
    )
    .await;
    let calls = (0..100).map(|number| {
        let (good, bad) = (good.clone(), bad.clone());
        tokio::spawn(async move {
            let nobody = Caller::default();
            match number % 4 {
                0 => assert!(call(&*bad, &nobody).await.is_err()),
                1 => assert!(render(&*bad, &nobody).await.is_err()),
                _ => assert_eq!(render(&*good, &nobody).await, Ok(Some("x".to_owned()))),
            }
        })
    });
    for result in futures::future::join_all(calls).await {
        result.unwrap();
    }
}

#[tokio::test]
async fn calls_wait_for_each_other_when_there_are_very_many() {
    let plugin = load(counter()).await;
    let environment = Environment::default();
    let nobody = Caller::default();
    let offers = (0..600).map(|_| plugin.offer(&environment));
    let renders = (0..600).map(|_| render(&*plugin, &nobody));
    let (offers, renders) = tokio::join!(
        futures::future::join_all(offers),
        futures::future::join_all(renders)
    );
    assert!(offers.into_iter().all(|offer| offer.is_ok()));
    assert!(renders.into_iter().all(|text| text.is_ok()));
}

/// Waits for its session's state.
fn waiter() -> Vec<u8> {
    Guest::new()
        .import("session-state")
        .core_import(
            r#"(import "raddle:plugin/session-state@0.1.1" "get"
                (func $get (param i32 i32 i32)))"#,
        )
        .rendering("(call $get (i32.const 1100) (i32.const 1) (i32.const 1024)) (i32.const 1024)")
        .build()
}

#[tokio::test]
async fn giving_a_call_up_ends_what_it_waits_for() {
    let plugin = load(waiter()).await;
    let services = Services::stuck();
    let caller = services.caller();
    tokio::select! {
        answer = render(&*plugin, &caller) => panic!("nobody answers: {answer:?}"),
        () = services.asked() => {}
    }
    assert!(services.was_dropped());
    let other = Services::default();
    assert_eq!(render(&*plugin, &other.caller()).await, Ok(None));
}

#[tokio::test]
async fn a_busy_guest_lets_others_run_and_can_be_given_up() {
    // One thread: the timeout can only fire if the guest lets go of it now and then.
    let busy = Guest::new().rendering("(loop $for_ever (br $for_ever)) (unreachable)");
    let plugin = load(busy.build()).await;
    let caller = Caller::default();
    let waiting = tokio::time::timeout(Duration::from_millis(30), render(&*plugin, &caller));
    assert!(waiting.await.is_err());
}

#[tokio::test]
async fn two_sessions_at_once_do_not_meet() {
    let plugin = load(waiter()).await;
    let (one, two) = (Services::default(), Services::default());
    raddle_core::plugins::SessionServices::set_state(&one, "guest", "\0", Some("1".to_owned()))
        .await
        .unwrap();
    let (caller_one, caller_two) = (one.caller(), two.caller());
    let (first, second) =
        tokio::join!(render(&*plugin, &caller_one), render(&*plugin, &caller_two));
    assert_eq!((first, second), (Ok(Some("1".to_owned())), Ok(None)));
}

#[tokio::test]
async fn a_fault_of_a_question_ends_the_rest_and_names_the_function() {
    let guest = Guest::new()
        .rendering("(unreachable)")
        .offer("variables", "(i32.const 0)")
        .function(
            "variables",
            "resolve",
            "(param i32) (result i32)",
            "(i32.const 0)",
        );
    let plugin = load(guest.build()).await;
    let questions = [
        Question::Variable("v".to_owned()),
        Question::Section("s".to_owned()),
        Question::Variable("w".to_owned()),
    ];
    let error = plugin
        .answer(&questions, &Context::default(), &Caller::default())
        .await
        .unwrap_err();
    assert_eq!(
        (&*error.interface, &*error.function),
        ("sections", "render")
    );
    assert!(matches!(error.fault, Fault::Trap { .. }));
}
