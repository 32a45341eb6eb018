//! What plugins import: settings, state, progress, time and chance.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use raddle_core::plugins::{
    Caller, DomainError, ErrorKind, Fault, Held, Outcome, Progress, SessionServices,
};
use serde_json::json;

use crate::guest::{Guest, call, data, fault, load, load_spec, render, spec, words};

/// A session in memory.
#[derive(Clone, Default)]
pub(crate) struct Services(Arc<Inner>);

#[derive(Default)]
struct Inner {
    directory: Option<PathBuf>,
    state: Mutex<BTreeMap<(String, String), String>>,
    progress: Mutex<Vec<(String, Option<String>, Progress)>>,
    /// Whether reading never answers.
    stuck: bool,
    asked: tokio::sync::Notify,
    dropped: AtomicBool,
    held: Held,
}

impl Services {
    /// Whose state never answers.
    pub(crate) fn stuck() -> Self {
        Self(Arc::new(Inner {
            stuck: true,
            ..Inner::default()
        }))
    }

    /// In a directory.
    pub(crate) fn within(directory: &Path) -> Self {
        Self(Arc::new(Inner {
            directory: Some(directory.to_owned()),
            ..Inner::default()
        }))
    }

    pub(crate) fn caller(&self) -> Caller {
        Caller {
            session: Some(Arc::new(self.clone())),
            call_id: Some("call-1".to_owned()),
            child: None,
        }
    }

    /// Waits until somebody asks a stuck session.
    pub(crate) async fn asked(&self) {
        self.0.asked.notified().await;
    }

    /// Whether a question to a stuck session was given up.
    pub(crate) fn was_dropped(&self) -> bool {
        self.0.dropped.load(Ordering::SeqCst)
    }

    fn state(&self) -> Vec<(String, String)> {
        let state = self.0.state.lock().unwrap();
        state
            .iter()
            .map(|((plugin, key), value)| (format!("{plugin}/{key}"), value.clone()))
            .collect()
    }

    pub(crate) fn progress(&self) -> Vec<Progress> {
        let progress = self.0.progress.lock().unwrap();
        progress
            .iter()
            .map(|(_, _, progress)| progress.clone())
            .collect()
    }
}

struct Given<'a>(&'a AtomicBool);

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl SessionServices for Services {
    fn directory(&self) -> Option<&Path> {
        self.0.directory.as_deref()
    }

    fn held(&self) -> &Held {
        &self.0.held
    }

    fn get_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, DomainError>> {
        Box::pin(async move {
            if self.0.stuck {
                let _given = Given(&self.0.dropped);
                self.0.asked.notify_one();
                return std::future::pending().await;
            }
            tokio::task::yield_now().await;
            let state = self.0.state.lock().unwrap();
            Ok(state.get(&(plugin.to_owned(), key.to_owned())).cloned())
        })
    }

    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), DomainError>> {
        Box::pin(async move {
            let mut state = self.0.state.lock().unwrap();
            let key = (plugin.to_owned(), key.to_owned());
            match value {
                Some(value) => state.insert(key, value),
                None => state.remove(&key),
            };
            Ok(())
        })
    }

    fn swap_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, DomainError>> {
        Box::pin(async move {
            let mut state = self.0.state.lock().unwrap();
            let key = (plugin.to_owned(), key.to_owned());
            let holds = state.get(&key) == expected.as_ref();
            if holds {
                state.insert(key, value);
            }
            Ok(holds)
        })
    }

    fn list_state<'a>(
        &'a self,
        plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, DomainError>> {
        Box::pin(async move {
            let state = self.0.state.lock().unwrap();
            let keys = state.keys().filter(|(owner, _)| owner == plugin);
            Ok(keys
                .map(|(_, key)| key.clone())
                .filter(|key| key.starts_with(prefix))
                .collect())
        })
    }

    fn progress(&self, plugin: &str, call_id: Option<&str>, progress: Progress) {
        let mut told = self.0.progress.lock().unwrap();
        told.push((plugin.to_owned(), call_id.map(str::to_owned), progress));
    }
}

/// The text of a call that went well.
fn text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done(reply) => reply.text,
        Outcome::NeedsUser { title } => panic!("needs the user: {title}"),
    }
}

#[tokio::test]
async fn a_plugin_reads_its_own_settings() {
    let guest = Guest::new()
        .import("settings-host")
        .core_import(
            r#"(import "raddle:plugin/settings-host@0.1.1" "read" (func $read (param i32)))"#,
        )
        .core(&words(1024, &[0, 1]))
        .rendering("(call $read (i32.const 1032)) (i32.const 1024)")
        .build();
    let mut one = spec("one", guest.clone());
    one.settings = json!({ "name": "first" });
    let mut two = spec("two", guest);
    two.settings = json!({ "z": 1, "a": [2] });
    let (one, two) = (load_spec(one).await, load_spec(two).await);
    let nobody = Caller::default();
    assert_eq!(
        render(&*one, &nobody).await.unwrap().unwrap(),
        r#"{"name":"first"}"#
    );
    assert_eq!(
        render(&*two, &nobody).await.unwrap().unwrap(),
        r#"{"z":1,"a":[2]}"#
    );
}

/// Calls set the key `k` to the value `v1`, then swap it from `expected` to `v2`; questions get it.
fn keeper(expected: &str) -> Vec<u8> {
    let length = expected.len();
    Guest::new()
        .import("session-state")
        .core_import(
            r#"(import "raddle:plugin/session-state@0.1.1" "get"
                (func $get (param i32 i32 i32)))
            (import "raddle:plugin/session-state@0.1.1" "set"
                (func $set (param i32 i32 i32 i32 i32)))
            (import "raddle:plugin/session-state@0.1.1" "swap"
                (func $swap (param i32 i32 i32 i32 i32 i32 i32 i32)))"#,
        )
        .core(&data(1100, "kv1v2"))
        .core(&data(1200, expected))
        .calling(&format!(
            "(call $set (i32.const 1100) (i32.const 1) (i32.const 1101) (i32.const 2)
                (i32.const 2000))
            (if (i32.load8_u (i32.const 2000)) (then (unreachable)))
            (call $swap (i32.const 1100) (i32.const 1)
                (i32.const 1) (i32.const 1200) (i32.const {length})
                (i32.const 1103) (i32.const 2) (i32.const 2000))
            (i32.const 0)"
        ))
        .rendering("(call $get (i32.const 1100) (i32.const 1) (i32.const 1024)) (i32.const 1024)")
        .build()
}

#[tokio::test]
async fn state_lives_in_the_session_and_nowhere_else() {
    let plugin = load(keeper("v1")).await;
    let (one, two) = (Services::default(), Services::default());
    call(&*plugin, &one.caller()).await.unwrap();
    assert_eq!(one.state(), [("guest/k".to_owned(), "v2".to_owned())]);
    assert_eq!(
        render(&*plugin, &one.caller()).await,
        Ok(Some("v2".to_owned()))
    );
    assert_eq!(render(&*plugin, &two.caller()).await, Ok(None));

    let plugin = load(keeper("other")).await;
    call(&*plugin, &two.caller()).await.unwrap();
    assert_eq!(two.state(), [("guest/k".to_owned(), "v1".to_owned())]);
}

#[tokio::test]
async fn without_a_session_state_is_unavailable() {
    let plugin = load(keeper("v1")).await;
    let Fault::Domain(error) = fault(render(&*plugin, &Caller::default()).await) else {
        panic!("the guest passes the host's answer on")
    };
    assert_eq!(
        (error.kind, &*error.code),
        (ErrorKind::Unavailable, "no-session")
    );
}

#[tokio::test]
async fn keys_are_listed_and_removed() {
    // Removes `a2`, then answers with the second key that starts with `a`.
    let guest = Guest::new()
        .import("session-state")
        .core_import(
            r#"(import "raddle:plugin/session-state@0.1.1" "list-keys"
                (func $list (param i32 i32 i32)))
            (import "raddle:plugin/session-state@0.1.1" "remove"
                (func $remove (param i32 i32 i32)))"#,
        )
        .core(&data(1100, "a2"))
        .calling(
            "(call $remove (i32.const 1100) (i32.const 2) (i32.const 2000))
            (call $list (i32.const 1100) (i32.const 1) (i32.const 2000))
            (if (i32.ne (i32.load (i32.const 2008)) (i32.const 2)) (then (unreachable)))
            (i64.store (i32.const 1064)
                (i64.load offset=8 (i32.load (i32.const 2004))))
            (i32.const 1056)",
        );
    let plugin = load(guest.build()).await;
    let services = Services::default();
    for key in ["a1", "a2", "a3", "b"] {
        services
            .set_state("guest", key, Some("1".to_owned()))
            .await
            .unwrap();
    }
    services
        .set_state("other", "a9", Some("1".to_owned()))
        .await
        .unwrap();
    let Outcome::Done(reply) = call(&*plugin, &services.caller()).await.unwrap() else {
        panic!("a reply")
    };
    assert_eq!(reply.text, "a3");
}

/// Everything that changes a session, called with as little as it takes: a guest that passes the
/// host's refusal on.
#[tokio::test]
async fn only_what_acts_changes_the_session() {
    for (interface, function, parameters) in [
        ("session-state", "set", 5),
        ("session-state", "swap", 8),
        ("session-state", "remove", 3),
        ("tasks", "replace", 4),
        ("inject", "send", 2),
        ("inject", "dismiss", 5),
    ] {
        let kinds = " i32".repeat(parameters);
        // Empty texts and lists, and at address 1200 a record of nothing.
        let first = if function == "send" { 1200 } else { 0 };
        let zeros = "(i32.const 0)".repeat(parameters - 2);
        let instructions = format!(
            "(call $change (i32.const {first}) {zeros} (i32.const 2000))
            (if (i32.load8_u (i32.const 2000)) (then (return (i32.const 2000))))
            (i32.const 1024)"
        );
        let guest = Guest::new()
            .import(interface)
            .core_import(&format!(
                r#"(import "raddle:plugin/{interface}@0.1.1" "{function}"
                    (func $change (param{kinds})))"#
            ))
            .calling(&instructions)
            .rendering(&instructions);
        let plugin = load(guest.build()).await;
        let services = Services::default();
        let caller = Caller {
            call_id: None,
            ..services.caller()
        };
        let Fault::Domain(error) = fault(render(&*plugin, &caller).await) else {
            panic!("{interface} {function}")
        };
        let told = (error.kind, &*error.code);
        assert_eq!(told, (ErrorKind::Denied, "no-call"), "{function}");
        assert_eq!(services.state(), []);
        if let Err(error) = call(&*plugin, &services.caller()).await {
            let Fault::Domain(error) = error.fault else {
                panic!("{interface} {function}: {error}")
            };
            assert_ne!(error.code, "no-call", "{function}");
        }
    }
}

#[tokio::test]
async fn progress_goes_to_the_calling_session() {
    let guest = Guest::new()
        .import("progress")
        .core_import(
            r#"(import "raddle:plugin/progress@0.1.1" "report"
                (func $report (param i32 i32 i32 i32)))
            (import "raddle:plugin/progress@0.1.1" "write" (func $write (param i32 i32)))
            (import "raddle:plugin/progress@0.1.1" "say" (func $say (param i32 i32)))
            (import "raddle:plugin/progress@0.1.1" "emit"
                (func $emit (param i32 i32 i32 i32)))"#,
        )
        .core(&data(1100, "halfchunkhello{}"))
        .calling(
            "(call $report (i32.const 1100) (i32.const 4) (i32.const 1) (i32.const 200))
            (call $report (i32.const 1100) (i32.const 4) (i32.const 0) (i32.const 0))
            (call $write (i32.const 1104) (i32.const 5))
            (call $say (i32.const 1109) (i32.const 5))
            (call $emit (i32.const 1100) (i32.const 4) (i32.const 1114) (i32.const 2))
            (i32.const 0)",
        );
    let plugin = load(guest.build()).await;
    let services = Services::default();
    call(&*plugin, &services.caller()).await.unwrap();
    let report = |percent| Progress::Report {
        message: "half".to_owned(),
        percent,
    };
    assert_eq!(
        services.progress(),
        [
            report(Some(100)),
            report(None),
            Progress::Output("chunk".to_owned()),
            Progress::Say("hello".to_owned()),
            Progress::Emit {
                event: "half".to_owned(),
                payload: "{}".to_owned()
            },
        ]
    );
    {
        let told = services.0.progress.lock().unwrap();
        assert_eq!(
            (&*told[0].0, told[0].1.as_deref()),
            ("guest", Some("call-1"))
        );
    }
    // Without a session there is nobody to show it to.
    assert!(call(&*plugin, &Caller::default()).await.is_ok());
}

/// The part of WASI that tells the time and rolls dice.
const CHANCE: &str = "
    package wasi:random@0.2.3 {
        interface random { get-random-u64: func() -> u64; }
    }
    package wasi:clocks@0.2.3 {
        interface monotonic-clock {
            type instant = u64;
            now: func() -> instant;
        }
        interface wall-clock {
            record datetime { seconds: u64, nanoseconds: u32 }
            now: func() -> datetime;
        }
    }
";

/// Answers calls and questions with a random number and two clocks, in hexadecimal.
fn chancer() -> Vec<u8> {
    let compute = "
        (call $wall (i32.const 2000))
        (call $hex (call $random) (i32.const 1200))
        (call $hex (call $monotonic) (i32.const 1216))
        (call $hex (i64.load (i32.const 2000)) (i32.const 1232))";
    Guest::new()
        .package(CHANCE)
        .world("import wasi:random/random@0.2.3;\n")
        .world("import wasi:clocks/monotonic-clock@0.2.3;\n")
        .world("import wasi:clocks/wall-clock@0.2.3;\n")
        .core_import(
            r#"(import "wasi:random/random@0.2.3" "get-random-u64" (func $random (result i64)))
            (import "wasi:clocks/monotonic-clock@0.2.3" "now" (func $monotonic (result i64)))
            (import "wasi:clocks/wall-clock@0.2.3" "now" (func $wall (param i32)))"#,
        )
        .core(
            "(func $hex (param $number i64) (param $at i32)
                (local $end i32) (local $digit i32)
                (local.set $end (i32.add (local.get $at) (i32.const 16)))
                (loop $more
                    (local.set $digit (i32.wrap_i64 (i64.shr_u (local.get $number) (i64.const 60))))
                    (i32.store8 (local.get $at)
                        (i32.add (local.get $digit)
                            (select (i32.const 48) (i32.const 87)
                                (i32.lt_u (local.get $digit) (i32.const 10)))))
                    (local.set $number (i64.shl (local.get $number) (i64.const 4)))
                    (local.set $at (i32.add (local.get $at) (i32.const 1)))
                    (br_if $more (i32.lt_u (local.get $at) (local.get $end)))))",
        )
        .core(&words(1024, &[0, 1, 1200, 48]))
        .core(&words(1056, &[0, 0, 1200, 48]))
        .rendering(&format!("{compute} (i32.const 1024)"))
        .calling(&format!("{compute} (i32.const 1056)"))
        .build()
}

#[tokio::test]
async fn texts_see_the_same_time_and_chance_every_time() {
    let nobody = Caller::default();
    let one = render(&*load(chancer()).await, &nobody).await.unwrap();
    let two = render(&*load(chancer()).await, &nobody).await.unwrap();
    assert_eq!(one, two);
    let text = one.unwrap();
    assert!(text.ends_with("0000000012cea600"), "{text}");
}

#[tokio::test]
async fn calls_see_the_real_time_and_real_chance() {
    let plugin = load(chancer()).await;
    let nobody = Caller::default();
    let one = text(call(&*plugin, &nobody).await.unwrap());
    let two = text(call(&*plugin, &nobody).await.unwrap());
    assert_ne!(one[..16], two[..16]);
    let seconds = u64::from_str_radix(&one[32..], 16).unwrap();
    assert!(seconds > 1_700_000_000, "{seconds}");
}
