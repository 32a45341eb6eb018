//! Values that break the contract, traps, and domain answers: each is told from the others.

use raddle_core::plugins::{Caller, Environment, ErrorKind, Fault};

use crate::guest::{Guest, call, data, fault, load, render, words};

#[tokio::test]
async fn text_that_is_not_utf_8_is_malformed() {
    let guest = Guest::new()
        .core(&words(1024, &[0, 1, 1100, 4]))
        .core(r#"(data (i32.const 1100) "ok\ff\fe")"#)
        .rendering("(i32.const 1024)");
    let plugin = load(guest.build()).await;
    let fault = fault(render(&*plugin, &Caller::default()).await);
    let Fault::Malformed { message } = fault else {
        panic!("{fault:?}")
    };
    assert!(message.contains("utf-8"), "{message}");
}

#[tokio::test]
async fn a_case_that_does_not_exist_is_malformed() {
    for words_there in [[7, 0, 0, 0], [0, 9, 0, 0]] {
        let guest = Guest::new()
            .core(&words(1024, &words_there))
            .rendering("(i32.const 1024)");
        let plugin = load(guest.build()).await;
        let fault = fault(render(&*plugin, &Caller::default()).await);
        assert!(matches!(fault, Fault::Malformed { .. }), "{fault:?}");
    }
}

#[tokio::test]
async fn an_address_outside_of_memory_is_malformed() {
    let outside = Guest::new().rendering("(i32.const 0x7fffff00)");
    let unaligned = Guest::new().rendering("(i32.const 1026)");
    let text_outside = Guest::new()
        .core(&words(1024, &[0, 1, 0xffff_0000, 0xffff]))
        .rendering("(i32.const 1024)");
    for guest in [outside, unaligned, text_outside] {
        let plugin = load(guest.build()).await;
        let fault = fault(render(&*plugin, &Caller::default()).await);
        assert!(matches!(fault, Fault::Malformed { .. }), "{fault:?}");
    }
}

#[tokio::test]
async fn parameters_of_a_tool_are_a_json_object() {
    for (parameters, told) in [
        ("[]", "parameters of tool `hammer` are not a JSON object"),
        ("{", "parameters of tool `hammer` are not JSON: "),
    ] {
        let length = u32::try_from(parameters.len()).unwrap();
        let guest = Guest::new()
            .core(&words(1024, &[0, 1040, 1]))
            .core(&words(
                1040,
                &[1100, 6, 0, 0, 1200, length, 0, 0, 0, 0, 0, 0],
            ))
            .core(&data(1100, "hammer"))
            .core(&data(1200, parameters))
            .offer("tools", "(i32.const 1024)")
            .function("tools", "call", "(param i32) (result i32)", "(unreachable)");
        let plugin = load(guest.build()).await;
        let fault = fault(plugin.offer(&Environment::default()).await);
        let Fault::Malformed { message } = fault else {
            panic!("{fault:?}")
        };
        assert!(message.starts_with(told), "{message}");
    }
}

#[tokio::test]
async fn details_of_a_reply_are_json() {
    let mut reply = [0; 24];
    reply[6] = 1;
    reply[7] = 1100;
    reply[8] = 3;
    let guest = Guest::new()
        .core(&words(1024, &reply))
        .core(&data(1100, "{a}"))
        .calling("(i32.const 1024)");
    // The result and the outcome each take a word before the reply.
    let plugin = load(guest.build()).await;
    let fault = fault(call(&*plugin, &Caller::default()).await);
    assert!(matches!(fault, Fault::Malformed { .. }), "{fault:?}");
}

#[tokio::test]
async fn a_domain_answer_is_not_a_fault_of_the_plugin() {
    let guest = Guest::new()
        .core(&words(1024, &[1, 1, 1100, 7, 1200, 11]))
        .core(&data(1100, "no-such"))
        .core(&data(1200, "no such one"))
        .rendering("(i32.const 1024)");
    let plugin = load(guest.build()).await;
    let error = render(&*plugin, &Caller::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "plugin `guest`, sections.render: no such one (no-such)"
    );
    let Fault::Domain(domain) = error.fault else {
        panic!("{error}")
    };
    assert_eq!(domain.kind, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_trap_says_what_it_was_and_the_next_call_works() {
    // Traps on a call, answers a question.
    let guest = Guest::new()
        .calling("(unreachable)")
        .rendering("(i32.const 0)");
    let plugin = load(guest.build()).await;
    for _ in 0..3 {
        let error = call(&*plugin, &Caller::default()).await.unwrap_err();
        assert_eq!((&*error.interface, &*error.function), ("tools", "call"));
        let Fault::Trap { message } = error.fault else {
            panic!("{error}")
        };
        assert!(message.contains("unreachable"), "{message}");
        assert_eq!(render(&*plugin, &Caller::default()).await, Ok(None));
    }
}

#[tokio::test]
async fn a_trap_in_a_start_function_is_told_before_any_function() {
    let guest = Guest::new()
        .core("(func $start (unreachable)) (start $start)")
        .rendering("(i32.const 0)");
    let plugin = load(guest.build()).await;
    let error = plugin.offer(&Environment::default()).await.unwrap_err();
    assert_eq!(
        (&*error.interface, &*error.function),
        ("component", "start")
    );
    assert!(matches!(error.fault, Fault::Trap { .. }), "{error}");
}

/// The part of WASI that writes to stderr and ends the program.
const CLI: &str = "
    package wasi:io@0.2.3 {
        interface error { resource error; }
        interface streams {
            use error.{error};
            variant stream-error { last-operation-failed(error), closed }
            resource output-stream {
                blocking-write-and-flush: func(contents: list<u8>) -> result<_, stream-error>;
            }
        }
    }
    package wasi:cli@0.2.3 {
        interface stderr {
            use wasi:io/streams@0.2.3.{output-stream};
            get-stderr: func() -> output-stream;
        }
        interface exit { exit: func(status: result); }
    }
";

#[tokio::test]
async fn the_last_words_on_stderr_come_with_the_trap() {
    let guest = Guest::new()
        .package(CLI)
        .world("import wasi:cli/stderr@0.2.3;\n")
        .core_import(
            r#"(import "wasi:cli/stderr@0.2.3" "get-stderr" (func $stderr (result i32)))
            (import "wasi:io/streams@0.2.3" "[method]output-stream.blocking-write-and-flush"
                (func $write (param i32 i32 i32 i32)))"#,
        )
        .core(&data(1100, "panicked at src/lib.rs:7: no more nails\n"))
        .calling(
            "(call $write (call $stderr) (i32.const 1100) (i32.const 40) (i32.const 2000))
            (unreachable)",
        );
    let plugin = load(guest.build()).await;
    let Fault::Trap { message } = fault(call(&*plugin, &Caller::default()).await) else {
        panic!("a trap was expected")
    };
    assert!(
        message.ends_with("its last words: panicked at src/lib.rs:7: no more nails"),
        "{message}"
    );
}

#[tokio::test]
async fn leaving_the_program_is_a_trap() {
    let guest = Guest::new()
        .package(CLI)
        .world("import wasi:cli/exit@0.2.3;\n")
        .core_import(r#"(import "wasi:cli/exit@0.2.3" "exit" (func $exit (param i32)))"#)
        .calling("(call $exit (i32.const 1)) (unreachable)");
    let plugin = load(guest.build()).await;
    assert_eq!(
        fault(call(&*plugin, &Caller::default()).await),
        Fault::Trap {
            message: "it exited with status 1".to_owned()
        }
    );
}
