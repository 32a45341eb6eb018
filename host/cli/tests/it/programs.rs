//! What programs get of the binary that runs them, and what becomes of them when it ends.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{Done, Home};

const CODER: &str = include_str!("../fixtures/coder.toml");
const RECORDING: &str = include_str!("../fixtures/recording.jsonl");

const KEY: &str = "sk-0123456789";

/// Nobody, as most systems number it.
const NOBODY: u32 = 65534;

/// A home whose recorded model runs `command`, which must end by writing `hello`.
fn running(command: &str) -> Home {
    let home = Home::new();
    let rule = "argument = \"command\"\nmatch = \"echo *\"\n";
    let grant = "cwd = \"<session>\"";
    assert!(CODER.contains(rule) && CODER.contains(grant));
    let granted = format!("{grant}, env = [\"MARK\", \"OPENAI_API_KEY\", \"TEAM_KEY\"]");
    let config = CODER.replace(rule, "").replace(grant, &granted);
    let model = "name = \"test-model\"\n";
    let headers = format!("{model}headers = {{ X-Team = \"key ${{TEAM_KEY}}\" }}\n");
    home.write("raddle.toml", &config.replace(model, &headers));
    home.write("recording.jsonl", &RECORDING.replace("echo hello", command));
    home
}

fn exec(home: &Home) -> Command {
    let arguments = ["exec", "Say hello.", "--recording", "recording.jsonl"];
    let mut command = home.command(arguments);
    command
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Living processes whose file `name` in `/proc` holds `text`, as `ID NAME`.
fn living(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("processes") {
        let folder = entry.expect("an entry").path();
        let bytes = fs::read(folder.join(name)).unwrap_or_default();
        let status = fs::read_to_string(folder.join("status")).unwrap_or_default();
        if String::from_utf8_lossy(&bytes).contains(text) && !status.contains("State:\tZ") {
            let id = folder.file_name().unwrap_or_default().to_string_lossy();
            let name = status.lines().next().unwrap_or_default();
            found.push(format!("{id} {name}"));
        }
    }
    found
}

/// Waits until something holds, and fails if it does not in half a minute.
#[track_caller]
fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never held");
}

#[test]
fn what_a_killed_process_ran_is_ended() {
    let home = running("(setsid sleep 300 >/dev/null 2>&1 &); sleep 300; echo hello");
    let mark = format!("killed-{}", std::process::id());
    let mut child = exec(&home).env("MARK", &mark).spawn().expect("it starts");
    let watcher = format!("watch-programs\0{}.", child.id());
    // The shell and two others.
    until(|| living("environ", &mark).len() >= 3 && !living("cmdline", &watcher).is_empty());
    child.kill().expect("killed");
    child.wait().expect("ended");
    until(|| living("environ", &mark).is_empty() && living("cmdline", &watcher).is_empty());
}

#[test]
fn what_has_left_its_call_goes_on_when_the_process_ends() {
    let home = running("setsid sleep 300 >/dev/null 2>&1 </dev/null & sleep 0.1; echo hello");
    let mark = format!("left-{}", std::process::id());
    let child = exec(&home).env("MARK", &mark).spawn().expect("it starts");
    let watcher = format!("watch-programs\0{}.", child.id());
    let done = Done::of(child.wait_with_output().expect("it ends"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    until(|| living("cmdline", &watcher).is_empty());
    let left = living("environ", &mark);
    assert!(left.len() == 1 && left[0].ends_with("sleep"), "{left:?}");
    let id = left[0].split(' ').next().unwrap_or_default();
    let killed = Command::new("kill").args(["-KILL", id]).status();
    assert!(killed.expect("kill runs").success());
}

#[test]
fn programs_get_the_environment_but_no_key() {
    let home = running("env; echo hello");
    let mut command = exec(&home);
    command.env("MARK", "granted").env("OTHER", "not granted");
    command.env("OPENAI_API_KEY", KEY).env("TEAM_KEY", KEY);
    let done = Done::of(command.output().expect("it runs"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let folder = home.work().parent().expect("a parent").to_owned();
    let own = format!("HOME={}\\n", folder.display());
    assert!(done.stdout.contains(&own), "{}", done.stdout);
    assert!(done.stdout.contains("MARK=granted"), "{}", done.stdout);
    for hidden in [KEY, "OTHER=", "TEAM_KEY=", "OPENAI_API_KEY="] {
        assert!(!done.stdout.contains(hidden), "{hidden}: {}", done.stdout);
    }
}

#[test]
fn programs_cannot_read_the_environment_of_the_process_that_runs_them() {
    let home = running("cat /proc/$PPID/environ; echo hello");
    let mut command = exec(&home);
    // Root reads everything, and must not run this: another user does.
    let here = home.work();
    if chown(&here, Some(NOBODY), Some(NOBODY)).is_ok() {
        command = as_nobody(&home, &command);
    }
    let done = Done::of(
        command
            .env("OPENAI_API_KEY", KEY)
            .output()
            .expect("it runs"),
    );
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("ermission denied"), "{}", done.stdout);
    assert!(!done.stdout.contains(KEY), "{}", done.stdout);
}

/// The same command, run by somebody who may not read everything, with a copy of the binary and
/// a home that are his.
fn as_nobody(home: &Home, command: &Command) -> Command {
    let folder = home.work().parent().expect("a parent").to_owned();
    let binary = folder.join("raddle");
    fs::copy(command.get_program(), &binary).expect("a copy");
    for (path, mode) in [(folder.as_path(), 0o755), (&binary, 0o755)] {
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(path, permissions).expect("a mode");
        chown(path, Some(NOBODY), Some(NOBODY)).expect("an owner");
    }
    let mut other = Command::new(binary);
    other
        .args(command.get_args())
        .current_dir(home.work())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", &folder)
        .env("XDG_DATA_HOME", folder.join("data"))
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .uid(NOBODY)
        .gid(NOBODY);
    other
}
