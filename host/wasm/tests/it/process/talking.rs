//! Programs that are talked with.

use std::time::Duration;

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::process::{Companion, Heard};

use super::{Shell, text};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn open(shell: &Shell, script: &str) -> Companion {
    let command = shell.command(script);
    shell.processes.open_companion(&command).await.unwrap()
}

async fn hear(companion: &mut Companion) -> String {
    match companion.read(1000, PATIENCE).await {
        Heard::Output(bytes) => text(&bytes).to_owned(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn question_and_answer() {
    let shell = Shell::new();
    let script = "while read -r name; do echo \"hello $name\"; done; echo over >&2; exit 3";
    let mut companion = open(&shell, script).await;
    for name in ["ada", "grace"] {
        let line = format!("{name}\n");
        companion.write(line.as_bytes()).await.unwrap();
        assert_eq!(hear(&mut companion).await, format!("hello {name}\n"));
    }
    let silence = companion.read(10, Duration::from_millis(20)).await;
    assert_eq!(silence, Heard::Silence);
    let completed = companion.close().await;
    assert_eq!((completed.code, completed.signal), (Some(3), None));
    assert_eq!(text(&completed.errors), "over\n");
    assert_eq!(shell.left(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_not_asked_for_at_once_waits() {
    let shell = Shell::new();
    let mut companion = open(&shell, "printf abcdef; sleep 300").await;
    for part in [&b"abcd"[..], b"ef"] {
        let heard = companion.read(4, PATIENCE).await;
        assert_eq!(heard, Heard::Output(part.to_vec()));
    }
}

/// Both directions at once, far more than the pipes hold.
#[tokio::test]
async fn a_program_that_answers_while_it_is_written_to_is_listened_to() {
    let shell = Shell::new();
    let mut companion = open(&shell, "head -c 900000 /dev/zero >&2; cat").await;
    let sent = vec![b'x'; 900_000];
    tokio::time::timeout(PATIENCE, companion.write(&sent))
        .await
        .expect("hangs")
        .unwrap();
    let mut heard = 0;
    while heard < sent.len() {
        match companion.read(100_000, PATIENCE).await {
            Heard::Output(bytes) => heard += bytes.len(),
            other => panic!("{other:?}"),
        }
    }
    let completed = companion.close().await;
    assert_eq!(completed.code, Some(0));
    assert_eq!(completed.errors.len(), 64 * 1024);
    assert_eq!(completed.omitted, 900_000 - 64 * 1024);
}

#[tokio::test]
async fn one_that_has_ended_hears_nothing_and_says_nothing() {
    let shell = Shell::new();
    let mut companion = open(&shell, "exec <&-; echo last; exec >&-; sleep 300").await;
    assert_eq!(hear(&mut companion).await, "last\n");
    assert_eq!(companion.read(10, PATIENCE).await, Heard::End);
    let mut refused = companion.write(b"anybody?").await;
    while refused.is_ok() {
        refused = companion.write(b"anybody?").await;
    }
    let refused = refused.unwrap_err();
    assert_eq!(
        (refused.kind, &*refused.code),
        (ErrorKind::Unavailable, "ended")
    );
}

/// It was told to end by the end of its input, and does not listen; nor do those it started.
#[tokio::test]
async fn closing_ends_what_does_not_end_by_itself() {
    let shell = Shell::new();
    let script =
        "trap '' TERM; (trap '' TERM; setsid sleep 300 >/dev/null 2>&1) & echo up; sleep 300";
    let mut companion = open(&shell, script).await;
    assert_eq!(hear(&mut companion).await, "up\n");
    let completed = companion.close().await;
    assert_eq!((completed.code, completed.signal), (None, Some(9)));
    assert_eq!(shell.left(), Vec::<String>::new());
}

#[tokio::test]
async fn one_that_is_forgotten_is_ended() {
    let shell = Shell::new();
    let mut companion = open(&shell, "sleep 300 & echo up; sleep 300").await;
    assert_eq!(hear(&mut companion).await, "up\n");
    drop(companion);
    assert_eq!(shell.left(), Vec::<String>::new());
}

#[tokio::test]
async fn what_is_not_granted_is_not_opened() {
    let shell = Shell::new();
    let mut command = shell.command("true");
    command.program = "sh".to_owned();
    let refused = shell.processes.open_companion(&command).await;
    let refused = refused.err().expect("refused");
    assert_eq!(
        (refused.kind, &*refused.code),
        (ErrorKind::Denied, "program")
    );
}
