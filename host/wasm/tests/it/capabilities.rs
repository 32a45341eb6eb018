//! Files and programs, from a guest's import to the disk and back.

use std::fs;
use std::path::Path;
use std::time::Duration;

use raddle_core::plugins::{Caller, ErrorKind, Fault, Outcome, Progress};
use raddle_wasm::PluginSpec;
use raddle_wasm::grants::{Access, Directory, Grants, ProcessGrant, WorkspaceGrant};
use tempfile::TempDir;

use crate::guest::{Guest, call, data, fault, load_spec, render, spec, words};
use crate::importing::Services;

/// A guest that reads the file `path` for a call and for a question, with what `length` allows.
fn reader(path: &str, length: u32) -> Vec<u8> {
    let path_length = path.len();
    let read = format!(
        "(call $read (i32.const 1100) (i32.const {path_length}) (i32.const 0) (i32.const {length})
            (i32.const 2000))
        (if (i32.load8_u (i32.const 2000)) (then (return (i32.const 2000))))"
    );
    Guest::new()
        .import("workspace")
        .core_import(
            r#"(import "raddle:plugin/workspace@0.1.1" "read"
                (func $read (param i32 i32 i32 i32 i32)))"#,
        )
        .core(&data(1100, path))
        .core(&words(1024, &[0, 1]))
        .calling(&format!(
            "{read} (i64.store (i32.const 1064) (i64.load (i32.const 2004))) (i32.const 1056)"
        ))
        .rendering(&format!(
            "{read} (i64.store (i32.const 1032) (i64.load (i32.const 2004))) (i32.const 1024)"
        ))
        .build()
}

fn granted(component: Vec<u8>, grants: Grants) -> PluginSpec {
    PluginSpec {
        grants,
        ..spec("guest", component)
    }
}

fn files(directory: Directory) -> Grants {
    Grants {
        workspace: vec![WorkspaceGrant {
            directory,
            access: Access::Read,
        }],
        ..Grants::default()
    }
}

fn text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Done(reply) => reply.text,
        Outcome::NeedsUser { title } => panic!("needs the user: {title}"),
    }
}

fn domain(fault: Fault) -> (ErrorKind, String) {
    match fault {
        Fault::Domain(error) => (error.kind, error.code),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn files_are_read_where_they_are_granted() {
    let session = TempDir::new().unwrap();
    let elsewhere = TempDir::new().unwrap();
    fs::write(session.path().join("a.txt"), "from the session").unwrap();
    let other = elsewhere.path().join("b.txt");
    fs::write(&other, "from elsewhere").unwrap();
    let services = Services::within(session.path());
    let caller = services.caller();

    let here = load_spec(granted(reader("a.txt", 100), files(Directory::Session))).await;
    assert_eq!(
        text(call(&*here, &caller).await.unwrap()),
        "from the session"
    );
    assert_eq!(
        render(&*here, &caller).await,
        Ok(Some("from the session".to_owned()))
    );

    let there = other.to_str().unwrap();
    let outside = load_spec(granted(reader(there, 100), files(Directory::Session))).await;
    let (kind, code) = domain(fault(call(&*outside, &caller).await));
    assert_eq!((kind, &*code), (ErrorKind::Denied, "outside"));

    let directory = Directory::Path(elsewhere.path().to_owned());
    let named = load_spec(granted(reader(there, 4), files(directory))).await;
    assert_eq!(text(call(&*named, &caller).await.unwrap()), "from");
}

#[tokio::test]
async fn without_a_session_there_are_no_files() {
    for grants in [
        files(Directory::Session),
        files(Directory::Path(std::env::temp_dir())),
    ] {
        let plugin = load_spec(granted(reader("a.txt", 100), grants)).await;
        let (kind, code) = domain(fault(render(&*plugin, &Caller::default()).await));
        assert_eq!((kind, &*code), (ErrorKind::Unavailable, "no-session"));
    }
    let plugin = load_spec(granted(reader("a.txt", 100), files(Directory::Session))).await;
    let homeless = Services::default();
    let (kind, code) = domain(fault(render(&*plugin, &homeless.caller()).await));
    assert_eq!((kind, &*code), (ErrorKind::Unavailable, "no-directory"));
}

#[tokio::test]
async fn a_file_over_the_limit_of_host_calls_is_not_handed_over() {
    let session = TempDir::new().unwrap();
    fs::write(session.path().join("a.txt"), vec![b'a'; 300_000]).unwrap();
    let mut spec = granted(reader("a.txt", u32::MAX), files(Directory::Session));
    spec.limits.host_calls = 200_000;
    let plugin = load_spec(spec).await;
    let services = Services::within(session.path());
    let fault = fault(call(&*plugin, &services.caller()).await);
    assert!(
        matches!(fault, Fault::Limit { .. }) && fault.to_string().contains("host call"),
        "{fault}"
    );
}

/// A guest that runs `sh -c script` and answers with its output.
fn runner(program: &str, script: &str) -> Vec<u8> {
    let (program_length, script_length) = (program.len(), u32::try_from(script.len()).unwrap());
    Guest::new()
        .import("process")
        .core_import(
            r#"(import "raddle:plugin/process@0.1.1" "run"
                (func $run (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32
                    i32)))"#,
        )
        .core(&data(1100, program))
        .core(&data(1200, "-c"))
        .core(&data(1300, script))
        .core(&words(1400, &[1200, 2, 1300, script_length]))
        .calling(&format!(
            "(call $run (i32.const 1100) (i32.const {program_length})
                (i32.const 1400) (i32.const 2)
                (i32.const 0) (i32.const 0) (i32.const 0)
                (i32.const 0) (i32.const 0)
                (i32.const 0) (i32.const 0)
                (i32.const 0) (i32.const 0)
                (i32.const 1000) (i32.const 1) (i32.const 1)
                (i32.const 2000))
            (if (i32.load8_u (i32.const 2000)) (then (return (i32.const 2000))))
            (i64.store (i32.const 1064) (i64.load (i32.const 2024)))
            (i32.const 1056)"
        ))
        .build()
}

fn programs() -> Grants {
    Grants {
        process: Some(ProcessGrant {
            programs: vec!["sh".to_owned()],
            directory: Directory::Session,
            environment: Vec::new(),
            ..ProcessGrant::default()
        }),
        ..Grants::default()
    }
}

#[tokio::test]
async fn granted_programs_run_in_the_session_and_show_what_they_write() {
    let session = TempDir::new().unwrap();
    fs::write(session.path().join("name.txt"), "loom").unwrap();
    let services = Services::within(session.path());
    let plugin = load_spec(granted(runner("sh", "cat name.txt"), programs())).await;
    let outcome = call(&*plugin, &services.caller()).await.unwrap();
    assert_eq!(text(outcome), "loom");
    assert_eq!(services.progress(), [Progress::Output("loom".to_owned())]);
}

#[tokio::test]
async fn a_program_that_is_not_granted_is_denied() {
    let session = TempDir::new().unwrap();
    let services = Services::within(session.path());
    let plugin = load_spec(granted(runner("bash", "true"), programs())).await;
    let (kind, code) = domain(fault(call(&*plugin, &services.caller()).await));
    assert_eq!((kind, &*code), (ErrorKind::Denied, "program"));
}

#[tokio::test]
async fn a_call_that_is_given_up_takes_its_programs_along() {
    let session = TempDir::new().unwrap();
    let services = Services::within(session.path());
    let script = "echo $$ > new; mv new pid; sleep 60 & wait";
    let plugin = load_spec(granted(runner("sh", script), programs())).await;
    let caller = services.caller();
    let pid = session.path().join("pid");
    tokio::select! {
        outcome = call(&*plugin, &caller) => panic!("it ended: {outcome:?}"),
        () = until(|| pid.exists()) => {}
    }
    let running = Path::new("/proc").join(fs::read_to_string(&pid).unwrap().trim());
    until(|| !running.exists()).await;
}

/// How many handles this process has on `folder`.
fn handles(folder: &Path) -> usize {
    let handles = fs::read_dir("/proc/self/fd").unwrap();
    handles
        .filter_map(|handle| fs::read_link(handle.ok()?.path()).ok())
        .filter(|target| target == folder)
        .count()
}

#[tokio::test]
async fn a_session_stays_in_the_folder_it_started_in() {
    let folder = TempDir::new().unwrap();
    let scratch = folder.path().canonicalize().unwrap();
    let (session, moved) = (scratch.join("session"), scratch.join("moved"));
    for (folder, text) in [("session", "inside"), ("elsewhere", "secret")] {
        fs::create_dir(scratch.join(folder)).unwrap();
        fs::write(scratch.join(folder).join("a.txt"), text).unwrap();
    }
    let script =
        "cat a.txt; cd ..; test -e moved || { mv session moved; ln -s elsewhere session; }";
    let program = load_spec(granted(runner("sh", script), programs())).await;
    let mut reading = granted(reader("a.txt", 100), files(Directory::Session));
    "reader".clone_into(&mut reading.id);
    let reading = load_spec(reading).await;

    let services = Services::within(&session);
    let caller = services.caller();
    assert_eq!(text(call(&*program, &caller).await.unwrap()), "inside");
    assert_eq!(fs::read_to_string(session.join("a.txt")).unwrap(), "secret");
    // Neither the plugin that was there before nor one that comes only now is led away.
    assert_eq!(text(call(&*program, &caller).await.unwrap()), "inside");
    assert_eq!(text(call(&*reading, &caller).await.unwrap()), "inside");
    assert_eq!(handles(&moved), 1);

    drop((caller, services));
    assert_eq!(handles(&moved), 0);
    let later = Services::within(&session);
    let outcome = call(&*reading, &later.caller()).await.unwrap();
    assert_eq!(text(outcome), "secret");
}

/// Waits until something holds, and fails if it does not in half a minute.
async fn until(holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never held");
}
