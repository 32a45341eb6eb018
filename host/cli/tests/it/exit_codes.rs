//! What the process exits with: the table in the help and in the README.

use std::fs::File;
use std::process::Command;

use crate::harness::{Done, Home};

const CODER: &str = include_str!("../fixtures/coder.toml");
const RECORDING: &str = include_str!("../fixtures/recording.jsonl");
const README: &str = include_str!("../../../../README.md");

fn home() -> Home {
    let home = Home::new();
    home.write("raddle.toml", CODER);
    home.write("recording.jsonl", RECORDING);
    home.write("bad.toml", "nonsense = 1\n");
    home.write("bad.jsonl", "\"Say hello.\"\n");
    home.write("text.wasm", "(component)");
    home.write("folder/file", "");
    home
}

#[test]
fn every_command_documents_them() {
    let home = Home::new();
    let all = home.good(["--help"]);
    let (_, table) = all.split_once("Exit codes:\n").expect("a table");
    for command in [
        vec!["init"],
        vec!["run"],
        vec!["exec"],
        vec!["prompt"],
        vec!["check"],
        vec!["plugin"],
        vec!["plugin", "inspect"],
        vec!["session"],
        vec!["session", "list"],
        vec!["session", "show"],
        vec!["session", "export"],
        vec!["session", "replay"],
        vec!["session", "verify"],
    ] {
        let help = home.good(command.iter().chain(&["--help"]));
        assert!(help.ends_with(table), "{command:?}: {help}");
    }
    for line in table.lines() {
        let (code, meaning) = line.trim().split_once(' ').expect("a code and its meaning");
        let row = format!("| {code} | {} |", meaning.trim());
        assert!(README.contains(&row), "{row} is missing in README.md");
    }
}

#[test]
fn what_is_good_exits_with_0() {
    let home = home();
    for arguments in [
        vec!["check"],
        vec!["prompt"],
        vec!["prompt", "--without", "bash,files"],
        vec!["plugin", "inspect", "bash"],
        vec!["plugin", "inspect", "std:bash"],
        vec!["session", "list"],
        vec!["exec", "Say hello.", "--recording", "recording.jsonl"],
    ] {
        let done = home.run(&arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn what_is_bad_exits_with_1() {
    let home = home();
    for arguments in [
        vec!["check", "-c", "bad.toml"],
        vec!["prompt", "-c", "bad.toml"],
        vec!["prompt", "--diff", "bad.toml"],
        vec!["exec", "Hello.", "-c", "bad.toml"],
        vec!["session", "list", "-c", "bad.toml"],
        vec!["plugin", "inspect", "text.wasm"],
        vec!["exec", "Hello.", "--recording", "bad.jsonl"],
        vec!["run", "--recording", "bad.jsonl"],
    ] {
        fails(&home, &arguments, 1);
    }
}

#[test]
fn what_is_not_there_was_used_wrongly_and_exits_with_2() {
    let home = home();
    for arguments in [
        vec!["chekc"],
        vec!["exec"],
        vec!["exec", " "],
        vec!["prompt", "--explain", "--json"],
        vec!["prompt", "--diff"],
        vec!["prompt", "--diff", "missing.toml"],
        vec!["prompt", "--without", "nope"],
        vec!["prompt", "--diff", "--without", "nope"],
        vec!["prompt", "--session", "nope"],
        vec!["check", "-c", "missing.toml"],
        vec!["check", "-c", "folder"],
        vec!["check", "-c", "raddle.toml/file"],
        vec!["check", "-C", "missing"],
        vec!["check", "-C", "raddle.toml"],
        vec!["exec", "Hello.", "--recording", "missing.jsonl"],
        vec!["exec", "Hello.", "--recording", "folder"],
        vec!["run", "--recording", "missing.jsonl"],
        vec!["run", "--recording", "recording.jsonl", "--resume", "nope"],
        vec!["plugin", "inspect", "nope"],
        vec!["plugin", "inspect", "std:nope"],
        vec!["plugin", "inspect", "missing.wasm"],
        vec!["plugin", "inspect", "./folder"],
        vec!["session", "show", "nope"],
        vec!["session", "export", "nope"],
        vec!["session", "replay", "nope"],
        vec!["session", "verify", "nope"],
        vec!["init"],
        vec!["init", "-c", "missing/raddle.toml"],
    ] {
        fails(&home, &arguments, 2);
    }
}

#[test]
fn what_cannot_be_done_exits_with_3() {
    let home = home();
    home.write(
        "other/raddle.toml",
        "[store]\npath = \"/dev/null/sessions.db\"\n",
    );
    for arguments in [
        // There is no key.
        vec!["exec", "Hello."],
        // The recording expects another message.
        vec!["exec", "Hello.", "--recording", "recording.jsonl"],
        vec!["session", "list", "-c", "other/raddle.toml"],
    ] {
        fails(&home, &arguments, 3);
    }
}

/// Reading it would never end, or never begin.
#[test]
fn what_is_no_file_is_not_read() {
    let home = home();
    let made = Command::new("mkfifo")
        .arg(home.work().join("fifo"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    for named in ["/dev/zero", "./fifo"] {
        for arguments in [
            vec!["check", "-c", named],
            vec!["exec", "Hello.", "--recording", named],
            vec!["plugin", "inspect", named],
        ] {
            let told = fails(&home, &arguments, 2);
            assert!(told.contains("it is no regular file"), "{told}");
        }
        let component = format!("[plugins.odd]\nsource = \"{named}\"\n");
        let recording = format!("recording = \"{named}\"\n");
        let recording = CODER.replace(
            "[plugins.persona]",
            &format!("{recording}\n[plugins.persona]"),
        );
        for deployment in [component, recording] {
            home.write("raddle.toml", &deployment);
            let told = fails(&home, &["check"], 1);
            assert!(told.contains("it is no regular file"), "{told}");
        }
        let words = "[plugins.words]\nsource = \"std:text\"\n";
        let setting =
            format!("settings.sections = [{{ name = \"a\", order = 1, file = \"{named}\" }}]\n");
        home.write("raddle.toml", &format!("{words}{setting}"));
        let told = fails(&home, &["check"], 1);
        assert!(told.contains("it is not a file"), "{told}");
        let optional = format!("[plugins.odd]\nsource = \"{named}\"\noptional = true\n");
        home.write("raddle.toml", &optional);
        let told = home.good(["check"]);
        assert!(told.contains("it is not a file"), "{told}");
        home.write("raddle.toml", CODER);
    }
    let large = File::create(home.work().join("large.toml")).expect("a file");
    large.set_len(1 << 30).expect("a hole");
    let told = fails(&home, &["check", "-c", "large.toml"], 2);
    assert!(told.contains("it is larger than 16 MiB"), "{told}");
}

/// Everything that prints: that nobody sees it is a failure, unless nobody wants to.
#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_exits_with_3() {
    let home = home();
    let run = |arguments: &[&str]| {
        let full = File::options().write(true).open("/dev/full");
        let mut command = home.command(arguments);
        Done::of(
            command
                .stdout(full.expect("/dev/full"))
                .output()
                .expect("the binary runs"),
        )
    };
    let exec = ["exec", "Say hello.", "--recording", "recording.jsonl"];
    for arguments in [
        &exec[..],
        &[&exec[..], &["--json"]].concat(),
        &["run", "--recording", "recording.jsonl"],
        &["prompt"],
        &["check"],
        &["session", "list"],
    ] {
        let done = run(arguments);
        assert_eq!(done.code, Some(3), "{arguments:?}: {}", done.stderr);
        assert!(
            done.stderr.contains("stdout cannot be written: "),
            "{}",
            done.stderr
        );
    }
    // The runs themselves went on, and are in the log.
    let list = home.good(["session", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    for session in list.as_array().expect("a list") {
        let id = session["id"].as_str().expect("an id");
        assert_eq!(run(&["session", "replay", id]).code, Some(3));
        assert!(
            home.good(["session", "show", id])
                .contains("It said hello.")
        );
    }
}

fn fails(home: &Home, arguments: &[&str], code: i32) -> String {
    let done = home.run(arguments);
    assert_eq!(done.code, Some(code), "{arguments:?}: {}", done.stderr);
    assert_ne!(done.stderr, "", "{arguments:?}");
    done.stderr
}
