//! One plugin that fails in every way there is costs nobody else anything, and in the end nothing at
//! all; and what is loaded again and again leaves nothing behind.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use raddle_core::plugins::{Caller, Fault, Plugin};
use raddle_wasm::{Limits, PluginSpec, Runtime, RuntimeSettings};

use crate::guest::{Guest, load_spec, render, spec, words};

/// Sessions at the same time; `RADDLE_SESSIONS` asks for more.
const SESSIONS: usize = 100;

/// Loads one after another; `RADDLE_RELOADS` asks for more.
const RELOADS: usize = 500;

/// A guest that answers with `x`.
fn good() -> Vec<u8> {
    Guest::new()
        .core(&words(1024, &[0, 1, 1100, 1]))
        .core(r#"(data (i32.const 1100) "x")"#)
        .rendering("(i32.const 1024)")
        .build()
}

fn bad(instructions: &str) -> Vec<u8> {
    Guest::new().rendering(instructions).build()
}

/// All ways to fail that end a call: a trap, a loop, memory, the stack, a malformed answer.
fn failures() -> Vec<(&'static str, Vec<u8>)> {
    let endless = "(loop $again (br $again)) (i32.const 0)";
    let greedy = "(loop $again (drop (memory.grow (i32.const 64))) (br $again)) (i32.const 0)";
    let deep = Guest::new()
        .core("(func $deep (call $deep) (call $deep))")
        .rendering("(call $deep) (i32.const 0)");
    vec![
        ("trap", bad("unreachable")),
        ("loop", bad(endless)),
        ("memory", bad(greedy)),
        ("stack", deep.build()),
        ("malformed", bad("(i32.const 2000000000)")),
    ]
}

fn limits() -> Limits {
    Limits {
        timeout: Duration::from_millis(300),
        memory: 4 << 20,
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_of_the_good_plugin_succeeds_beside_one_that_fails_in_every_way() {
    let mut plugins = Vec::new();
    for (id, bytes) in failures() {
        plugins.push(load_with(id, bytes, limits()).await);
    }
    let good = load_with("good", good(), Limits::default()).await;
    let sessions = (0..wanted("RADDLE_SESSIONS", SESSIONS)).map(|number| {
        let good = Arc::clone(&good);
        let failing = Arc::clone(&plugins[number % plugins.len()]);
        tokio::spawn(async move {
            for _ in 0..3 {
                let error = render(&*failing, &Caller::default()).await.unwrap_err();
                assert!(!matches!(error.fault, Fault::Domain(_)), "{error}");
                assert_eq!(error.plugin, failing.info().id);
                let answer = render(&*good, &Caller::default()).await;
                assert_eq!(answer, Ok(Some("x".to_owned())));
            }
        })
    });
    for ended in join_all(sessions).await {
        ended.unwrap();
    }
    assert!(plugins.iter().all(|plugin| plugin.is_quarantined()));
    assert!(!good.is_quarantined());
}

#[tokio::test]
async fn a_plugin_that_keeps_trapping_is_called_no_more() {
    let limits = Limits {
        strikes: 3,
        ..Limits::default()
    };
    let plugin = load_with("trapper", bad("unreachable"), limits).await;
    for _ in 0..3 {
        assert!(!plugin.is_quarantined());
        let error = render(&*plugin, &Caller::default()).await.unwrap_err();
        assert!(matches!(error.fault, Fault::Trap { .. }), "{error}");
    }
    assert!(plugin.is_quarantined());
    let error = render(&*plugin, &Caller::default()).await.unwrap_err();
    assert_eq!(error.fault, Fault::Quarantined { strikes: 3 });
    assert!(error.to_string().contains("plugin `trapper`"), "{error}");
}

/// An answer in between, also "no", begins the count anew: only what keeps failing is given up.
#[tokio::test]
async fn an_answer_in_between_begins_the_count_anew() {
    let limits = Limits {
        strikes: 2,
        ..Limits::default()
    };
    // The name that is asked for has six letters; one with five makes it trap.
    let choosy = Guest::new()
        .core(&words(1024, &[0, 1, 1100, 1]))
        .core(r#"(data (i32.const 1100) "x")"#)
        .rendering(
            "(if (i32.eq (i32.load offset=4 (local.get 0)) (i32.const 5)) (then unreachable))
            (i32.const 1024)",
        )
        .build();
    let plugin = load_with("choosy", choosy, limits).await;
    for _ in 0..4 {
        assert!(ask(&*plugin, "wrong").await.is_err());
        assert!(ask(&*plugin, "rights").await.is_ok());
    }
    assert!(!plugin.is_quarantined());
}

/// More calls than may run wait; more than may wait are refused at once, and nobody waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crowd_waits_in_a_queue_that_has_an_end() {
    let limits = Limits {
        concurrency: 1,
        timeout: Duration::from_secs(600),
        ..Limits::default()
    };
    let slow = bad("(loop $again (br $again)) (i32.const 0)");
    let plugin = load_with("slow", slow, limits).await;
    let caller = Caller::default();
    let mut calls: FuturesUnordered<_> = (0..40).map(|_| render(&*plugin, &caller)).collect();
    // One runs and sixteen wait: they are left to.
    for _ in 0..40 - 17 {
        let ended = calls.next().await.expect("a call that ends");
        assert_eq!(ended.unwrap_err().fault, Fault::Busy { running: 1 });
    }
    assert_eq!(calls.len(), 17);
    drop(calls);
    assert!(!plugin.is_quarantined());

    let impatient = Limits {
        timeout: Duration::from_millis(200),
        ..limits
    };
    let plugin = load_with(
        "impatient",
        bad("(loop $again (br $again)) (i32.const 0)"),
        impatient,
    );
    let plugin = plugin.await;
    let both = join_all([render(&*plugin, &caller), render(&*plugin, &caller)]).await;
    for ended in both {
        let fault = ended.unwrap_err().fault;
        let is_over = matches!(fault, Fault::Busy { .. } | Fault::Limit { .. });
        assert!(is_over, "{fault:?}");
    }
}

/// Five hundred times two components in turn: neither memory nor open files grow.
#[tokio::test]
async fn loading_again_and_again_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new(&RuntimeSettings {
        cache_dir: Some(folder.path().to_path_buf()),
        ..RuntimeSettings::default()
    })
    .unwrap();
    let bytes = [good(), bad("unreachable")];
    let mut early = (0, 0);
    for round in 0..wanted("RADDLE_RELOADS", RELOADS) {
        let spec = spec("p", bytes[round % 2].clone());
        let loaded = runtime.load(vec![spec], &()).await;
        let plugin = loaded.plugins.first().expect("it loads");
        let _ = render(&**plugin, &Caller::default()).await;
        if round == 100 {
            early = (resident_kib(), open_files());
        }
    }
    let (memory, files) = (resident_kib(), open_files());
    assert!(files <= early.1, "{} open files, then {files}", early.1);
    assert!(
        memory <= early.0 + 8 * 1024,
        "{} KiB, then {memory}",
        early.0
    );
}

fn wanted(variable: &str, usual: usize) -> usize {
    let wanted = std::env::var(variable).ok();
    wanted.and_then(|count| count.parse().ok()).unwrap_or(usual)
}

async fn load_with(id: &str, component: Vec<u8>, limits: Limits) -> Arc<dyn Plugin> {
    load_spec(PluginSpec {
        limits,
        ..spec(id, component)
    })
    .await
}

async fn ask(plugin: &dyn Plugin, name: &str) -> Result<Option<String>, Fault> {
    let questions = [raddle_core::plugins::Question::Section(name.to_owned())];
    let context = raddle_core::plugins::Context::default();
    let answers = plugin
        .answer(&questions, &context, &Caller::default())
        .await;
    answers
        .map(|mut answers| answers.remove(0))
        .map_err(|error| error.fault)
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.unwrap().trim().trim_end_matches(" kB");
    number.parse().unwrap()
}

fn open_files() -> usize {
    fs::read_dir(Path::new("/proc/self/fd")).unwrap().count()
}
