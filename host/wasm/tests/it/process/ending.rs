//! How programs end, and what happens to those they started.

use std::path::Path;
use std::time::Duration;

use raddle_wasm::imports::process::Command;

use super::{Shell, living, text};

/// Waits for a file the script makes, to know how far it is.
async fn appears(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn timed(shell: &Shell, script: &str) -> Command {
    Command {
        timeout: Some(Duration::from_millis(400)),
        ..shell.command(script)
    }
}

#[tokio::test]
async fn a_code_or_a_signal_says_how_it_ended() {
    let shell = Shell::new();
    for code in [0, 1, 3, 126, 127, 255] {
        let completed = shell.run(&format!("exit {code}")).await;
        assert_eq!((completed.code, completed.signal), (Some(code), None));
        assert!(!completed.timed_out);
    }
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("PIPE", 13)] {
        let completed = shell.run(&format!("kill -{name} $$")).await;
        assert_eq!(
            (completed.code, completed.signal),
            (None, Some(number)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn background_processes_do_not_hold_up_the_result() {
    for script in [
        "sleep 300 & echo started",
        "sleep 300 2>/dev/null & echo started",
        "sleep 300 >/dev/null 2>&1 & echo started",
        "(trap '' TERM HUP; sleep 300) & echo started",
        "yes started & sleep 0.1",
        "nohup sleep 300 & echo started",
        "(sleep 300 &) ; echo started",
        "setsid sleep 300 & echo started",
        "(setsid sleep 300 &) ; echo started",
        "set -m; sleep 300 & echo started",
        "coproc sleep 300; echo started",
        "exec 3>&1; sleep 300 >/dev/null 2>/dev/null & echo started",
        "mkfifo p; cat p & echo started",
    ] {
        let shell = Shell::new();
        let completed = shell.run(script).await;
        assert_eq!(completed.code, Some(0), "{script}");
        assert!(completed.output.starts_with(b"started\n"), "{script}");
        assert_eq!(shell.left(), [""; 0], "{script}");
    }
}

#[tokio::test]
async fn output_that_comes_just_after_the_exit_is_taken_along() {
    let shell = Shell::new();
    let completed = shell.run("(sleep 0.05; echo late) & echo early").await;
    assert_eq!(text(&completed.output), "early\nlate\n");
    let completed = shell.run("echo through > >(cat)").await;
    assert_eq!(text(&completed.output), "through\n");
}

#[tokio::test]
async fn what_left_the_group_and_the_output_goes_on() {
    let shell = Shell::new();
    let script = "setsid sleep 300 >/dev/null 2>&1 </dev/null & sleep 0.1; echo started";
    let completed = shell.run(script).await;
    assert_eq!(text(&completed.output), "started\n");
    let left = shell.left();
    assert!(left.len() == 1 && left[0].contains("sleep"), "{left:?}");
}

#[tokio::test]
async fn after_a_timeout_nothing_survives() {
    for script in [
        "sleep 300",
        "while :; do :; done",
        "trap '' TERM; while :; do sleep 1; done",
        "bash -c 'trap \"\" TERM; while :; do sleep 1; done'",
        "for i in 1 2 3; do (while :; do :; done) & done; wait",
        "sleep 300 | sleep 300",
        "setsid sleep 300 & wait",
        "setsid sleep 300 >/dev/null 2>&1 </dev/null & sleep 300",
        "(setsid sleep 300 >/dev/null 2>&1 </dev/null &); sleep 300",
        "(setsid bash -c 'trap \"\" TERM; sleep 300; sleep 300' >/dev/null 2>&1 &); sleep 300",
        "kill -STOP $$",
        "set -m; sleep 300 & sleep 300 & wait",
        "trap 'sleep 300 & wait' TERM; sleep 300 & wait",
        "yes >/dev/null",
    ] {
        let shell = Shell::new();
        let completed = shell.try_run(&timed(&shell, script)).await.unwrap();
        let ended = (completed.code, completed.signal, completed.timed_out);
        assert_eq!(ended, (None, None, true), "{script}");
        assert_eq!(shell.left(), [""; 0], "{script}");
    }
}

#[tokio::test]
async fn a_program_may_tidy_up_before_it_is_killed() {
    let shell = Shell::new();
    let script = "trap 'echo tidy; touch tidied; exit' TERM; echo begun; sleep 300 & wait";
    let completed = shell.try_run(&timed(&shell, script)).await.unwrap();
    assert_eq!(text(&completed.output), "begun\ntidy\n");
    assert!(completed.timed_out && shell.folder.path().join("tidied").exists());
}

#[tokio::test]
async fn dropping_the_future_ends_everything() {
    for script in [
        "touch ready; sleep 300",
        "trap '' TERM; touch ready; while :; do sleep 1; done",
        "(setsid sleep 300 >/dev/null 2>&1 </dev/null &); touch ready; sleep 300",
        "for i in 1 2 3; do (while :; do :; done) & done; touch ready; wait",
    ] {
        let shell = Shell::new();
        let command = shell.command(script);
        let ready = shell.folder.path().join("ready");
        tokio::select! {
            completed = shell.processes.run(&command, None) => panic!("{script}: {completed:?}"),
            () = appears(&ready) => {}
        }
        gone(&shell, script).await;
    }
}

#[tokio::test]
async fn dropping_the_future_at_any_moment_leaves_nothing() {
    let shell = Shell::new();
    for step in 0..40 {
        let command = shell.command("sleep 300 & sleep 300");
        let running = shell.processes.run(&command, None);
        let moment = Duration::from_micros(step * 150);
        assert!(tokio::time::timeout(moment, running).await.is_err());
    }
    // A start that was under way is ended as soon as it is there.
    gone(&shell, "at any moment").await;
}

/// Killed processes take a moment to be gone.
async fn gone(shell: &Shell, script: &str) {
    for _ in 0..400 {
        if shell.left().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{script}: {:?}", shell.left());
}

#[tokio::test]
async fn no_zombie_is_left() {
    let shell = Shell::new();
    for script in ["true", "exit 3", "kill -9 $$", "sleep 300 & echo x"] {
        shell.run(script).await;
    }
    shell.try_run(&timed(&shell, "sleep 300")).await.unwrap();
    let command = shell.command("sleep 300");
    let running = shell.processes.run(&command, None);
    assert!(
        tokio::time::timeout(Duration::from_millis(50), running)
            .await
            .is_err()
    );
    // Other tests of this process have children, too; a zombie of theirs is gone in a moment.
    let mut zombies = zombie_children();
    for _ in 0..400 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let now = zombie_children();
        zombies.retain(|id| now.contains(id));
        if zombies.is_empty() {
            return;
        }
    }
    panic!("{zombies:?}");
}

fn zombie_children() -> Vec<String> {
    let parent = format!("PPid:\t{}\n", std::process::id());
    let mut zombies = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap() {
        let path = entry.unwrap().path().join("status");
        let status = std::fs::read_to_string(path).unwrap_or_default();
        if status.contains(&parent) && status.contains("State:\tZ") {
            zombies.push(status.lines().nth(5).unwrap_or_default().to_owned());
        }
    }
    zombies
}

#[tokio::test]
async fn a_program_has_no_terminal_and_a_session_of_its_own() {
    let shell = Shell::new();
    let script = "exec 2>&1; (: </dev/tty) && echo terminal || echo none; \
                  read -a stat < <(sed 's/.*) //' /proc/$$/stat); echo $$ ${stat[2]} ${stat[3]}";
    let completed = shell.run(script).await;
    let output = text(&completed.output);
    assert!(output.contains("none\n"), "{output}");
    let ids: Vec<_> = output.lines().last().unwrap().split(' ').collect();
    assert!(
        ids.len() == 3 && ids[0] == ids[1] && ids[1] == ids[2],
        "{ids:?}"
    );
}

#[tokio::test]
async fn signals_are_what_programs_expect() {
    let shell = Shell::new();
    // Ignored or blocked signals would be inherited. Two numbers belong to the C library.
    let script = "sed -n 's/^Sig\\(Ign\\|Blk\\):\\t//p' /proc/self/status";
    let completed = shell.run(script).await;
    let masks: Vec<u64> = text(&completed.output)
        .lines()
        .map(|mask| u64::from_str_radix(mask, 16).unwrap() & !0x1_8000_0000)
        .collect();
    assert_eq!(masks, [0, 0]);
    let completed = shell.run("yes | head -n 1; echo ${PIPESTATUS[0]}").await;
    assert_eq!(text(&completed.output), "y\n141\n");
}

#[tokio::test]
async fn only_the_standard_streams_are_open() {
    let shell = Shell::new();
    let completed = shell.run("ls -x /proc/self/fd").await;
    // The fourth is the listing's own.
    assert_eq!(text(&completed.output).split_whitespace().count(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_do_not_disturb_each_other() {
    let running = (0..32).map(|number| async move {
        let shell = Shell::new();
        std::fs::write(shell.folder.path().join("own"), number.to_string()).unwrap();
        let completed = shell.run("cat own; sleep 300 & exit 7").await;
        assert_eq!(
            (text(&completed.output), completed.code),
            (number.to_string().as_str(), Some(7))
        );
        assert_eq!(shell.left(), [""; 0]);
    });
    futures::future::join_all(running).await;
}

#[tokio::test]
async fn the_folder_of_this_process_is_not_touched() {
    let before = std::env::current_dir().unwrap();
    let shell = Shell::new();
    let completed = shell.run("pwd -P").await;
    let expected = shell.folder.path().canonicalize().unwrap();
    assert_eq!(
        text(&completed.output).trim_end(),
        expected.to_str().unwrap()
    );
    assert_eq!(std::env::current_dir().unwrap(), before);
    assert!(living(|id| id == std::process::id().to_string()).len() == 1);
}
