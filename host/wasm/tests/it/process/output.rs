//! What becomes of a program's output.

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::process::{Command, MAX_OUTPUT};

use super::{Shell, refused, text};

#[tokio::test]
async fn streams_are_apart_or_merged_in_the_order_written() {
    let shell = Shell::new();
    let script = "for i in 1 2 3; do echo out $i; echo err $i >&2; done";
    let apart = shell.run(script).await;
    assert_eq!(text(&apart.output), "out 1\nout 2\nout 3\n");
    assert_eq!(text(&apart.errors), "err 1\nerr 2\nerr 3\n");
    let command = Command {
        merge: true,
        ..shell.command(script)
    };
    let merged = shell.try_run(&command).await.unwrap();
    assert_eq!(
        text(&merged.output),
        "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"
    );
    assert_eq!(text(&merged.errors), "");
}

#[tokio::test]
async fn head_and_tail_are_kept_at_every_limit() {
    let shell = Shell::new();
    let whole = "語".repeat(100);
    for max_output in (0..=10).chain(297..=303) {
        let command = Command {
            max_output,
            ..shell.command("for i in {1..100}; do printf 語; printf é >&2; done")
        };
        let completed = shell.try_run(&command).await.unwrap();
        let (head, tail) = (max_output.div_ceil(2) as usize, max_output as usize / 2);
        let expected = if max_output >= 300 {
            whole.as_bytes().to_vec()
        } else {
            [&whole.as_bytes()[..head], &whole.as_bytes()[300 - tail..]].concat()
        };
        assert_eq!(completed.output, expected, "{max_output}");
        let cut = |length: u64| length.saturating_sub(u64::from(max_output));
        assert_eq!(completed.omitted, cut(300) + cut(200));
    }
}

#[tokio::test]
async fn both_streams_can_be_flooded() {
    let shell = Shell::new();
    let script = "head -c 30000000 /dev/zero & head -c 20000000 /dev/zero >&2; wait";
    let completed = shell.run(script).await;
    assert_eq!(
        (completed.output.len(), completed.errors.len()),
        (100_000, 100_000)
    );
    assert_eq!(completed.omitted, 50_000_000 - 200_000);
}

#[tokio::test]
async fn output_without_end_is_cut_by_the_timeout() {
    let shell = Shell::new();
    let command = Command {
        timeout: Some(std::time::Duration::from_millis(300)),
        ..shell.command("yes")
    };
    let completed = shell.try_run(&command).await.unwrap();
    assert!(completed.timed_out && completed.omitted > 0);
    assert_eq!(completed.output.len(), 100_000);
}

#[tokio::test]
async fn more_output_than_a_host_can_hold_is_refused() {
    let shell = Shell::new();
    let command = Command {
        max_output: MAX_OUTPUT + 1,
        ..shell.command("true")
    };
    refused(
        shell.try_run(&command).await,
        ErrorKind::Limit,
        "max-output",
    );
}

#[tokio::test]
async fn input_arrives_whole_and_ends() {
    let shell = Shell::new();
    for length in [0, 1, 65_536, 1_000_000] {
        let command = Command {
            input: vec![b'x'; length],
            ..shell.command("wc -c")
        };
        let completed = shell.try_run(&command).await.unwrap();
        assert_eq!(text(&completed.output).trim(), length.to_string());
    }
    // A program that does not read it is not held up, and not ended by it.
    let command = Command {
        input: vec![b'x'; 1_000_000],
        ..shell.command("exit 5")
    };
    assert_eq!(shell.try_run(&command).await.unwrap().code, Some(5));
    let command = Command {
        input: b"echo from input".into(),
        arguments: Vec::new(),
        ..shell.command("")
    };
    assert_eq!(
        text(&shell.try_run(&command).await.unwrap().output),
        "from input\n"
    );
}

#[tokio::test]
async fn live_output_comes_as_it_is_written_and_as_text() {
    let shell = Shell::new();
    let ready = shell.folder.path().join("ready");
    let mut pieces = Vec::new();
    // Goes on only when the first piece has been seen.
    let script = "printf 'one '; while [ ! -e ready ]; do sleep 0.01; done; printf '\\xe8\\xaa'; \
                  sleep 0.05; printf '\\x9e '; echo two >&2; printf '\\xff'";
    let mut live = |piece: &str| {
        pieces.push(piece.to_owned());
        std::fs::write(&ready, "").unwrap();
    };
    let command = shell.command(script);
    let completed = shell
        .processes
        .run(&command, Some(&mut live))
        .await
        .unwrap();
    assert_eq!(pieces[0], "one ");
    let all = pieces.concat();
    assert!(
        all.contains("two\n") && all.contains("語 ") && all.matches('\u{fffd}').count() == 1,
        "{all}"
    );
    assert_eq!(
        completed.output,
        "one 語 ".bytes().chain([0xff]).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn live_output_is_bounded() {
    let shell = Shell::new();
    let mut shown = 0;
    let mut live = |piece: &str| shown += piece.len();
    let command = shell.command("head -c 50000000 /dev/zero");
    shell
        .processes
        .run(&command, Some(&mut live))
        .await
        .unwrap();
    assert_eq!(shown, 1024 * 1024);
}

#[tokio::test]
async fn no_output_is_a_result_too() {
    let shell = Shell::new();
    let completed = shell.run("true").await;
    assert_eq!((completed.code, completed.omitted), (Some(0), 0));
    assert!(completed.output.is_empty() && completed.errors.is_empty());
    // Closed streams are no trouble.
    let completed = shell.run("exec >&- 2>&- <&-; sleep 0.05; exit 4").await;
    assert_eq!(completed.code, Some(4));
}
