//! What a program may be, where it may run, and what it learns of the host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::process::{Command, Permissions, Processes};
use raddle_wasm::imports::workspace::Anchors;
use tempfile::TempDir;

use super::{Shell, fact, permissions, refused, text};

fn named(program: &str) -> Command {
    Command {
        program: program.to_owned(),
        max_output: 1000,
        ..Command::default()
    }
}

#[tokio::test]
async fn only_granted_programs_run_under_their_granted_names() {
    let shell = Shell::new();
    for program in [
        "sh",
        "/bin/bash",
        "/usr/bin/bash",
        "./bash",
        "bash ",
        "Bash",
        "",
        "../bash",
    ] {
        let result = shell.try_run(&named(program)).await;
        refused(result, ErrorKind::Denied, "program");
    }
}

#[tokio::test]
async fn a_program_comes_from_the_path_or_is_named_whole() {
    let folder = TempDir::new().unwrap();
    let script = |path: &str, text: &str, mode: u32| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("#!/bin/sh\necho {text} $0\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let absolute = script("absolute", "absolute", 0o755);
    script("first/tool", "not executable", 0o644);
    script("second/tool", "found", 0o755);
    script("tool", "current folder", 0o755);
    script("sub/nested", "nested", 0o755);
    std::fs::create_dir_all(folder.path().join("first/folder")).unwrap();
    let path = std::env::join_paths([
        "".into(),
        ".".into(),
        "sub".into(),
        folder.path().join("first"),
        folder.path().join("second"),
    ]);
    let programs = [
        "tool",
        "folder",
        "missing",
        "sub/nested",
        "nested",
        absolute.to_str().unwrap(),
    ];
    let processes = Processes::open(
        &Anchors::default(),
        &Permissions {
            programs: programs.map(str::to_owned).to_vec(),
            host_environment: BTreeMap::from([("PATH".to_owned(), path.unwrap())]),
            ..permissions(folder.path())
        },
    )
    .unwrap();
    let found = processes.run(&named("tool"), None).await.unwrap();
    assert!(text(&found.output).starts_with("found "), "{found:?}");
    let found = processes
        .run(&named(absolute.to_str().unwrap()), None)
        .await
        .unwrap();
    assert!(text(&found.output).starts_with("absolute "), "{found:?}");
    // A program of the folder an agent works in must not pass for one of the host.
    for program in ["folder", "missing", "sub/nested", "nested"] {
        let result = processes.run(&named(program), None).await;
        refused(result, ErrorKind::NotFound, "program");
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_run_is_an_error() {
    let folder = TempDir::new().unwrap();
    let broken = folder.path().join("broken");
    std::fs::write(&broken, "#!/nonexistent/interpreter\n").unwrap();
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = broken.to_str().unwrap().to_owned();
    let processes = Processes::open(
        &Anchors::default(),
        &Permissions {
            programs: vec![program.clone()],
            ..permissions(folder.path())
        },
    );
    let result = processes.unwrap().run(&named(&program), None).await;
    refused(result, ErrorKind::NotFound, "program");
    let shell = Shell::new();
    let huge = shell.command(&"x".repeat(3_000_000));
    refused(shell.try_run(&huge).await, ErrorKind::Limit, "arguments");
    let nul = shell.command("echo a\0b");
    refused(shell.try_run(&nul).await, ErrorKind::Invalid, "nul");
}

#[tokio::test]
async fn arguments_arrive_as_they_are() {
    let shell = Shell::new();
    let odd = [
        "",
        " ",
        "a b",
        "$HOME",
        "*",
        "'\"\\",
        "-n",
        "語",
        "line\nbreak",
    ];
    let mut command = shell.command("printf '[%s]' \"$@\"");
    command.arguments.push("name".to_owned());
    command.arguments.extend(odd.map(str::to_owned));
    let completed = shell.try_run(&command).await.unwrap();
    let expected: String = odd.iter().map(|argument| format!("[{argument}]")).collect();
    assert_eq!(text(&completed.output), expected);
}

#[tokio::test]
async fn a_folder_stays_inside_the_granted_one() {
    let shell = Shell::new();
    let folder = shell.folder.path();
    std::fs::create_dir_all(folder.join("a/b")).unwrap();
    std::fs::write(folder.join("file"), "").unwrap();
    std::os::unix::fs::symlink("/etc", folder.join("out")).unwrap();
    std::os::unix::fs::symlink("a/b", folder.join("in")).unwrap();
    let at = |cwd: &str| Command {
        cwd: Some(cwd.to_owned()),
        ..shell.command("pwd -P")
    };
    let real = folder.canonicalize().unwrap();
    let inner = real.join("a/b");
    for cwd in ["a/b", "./a/./b/", "in", "a/../in", inner.to_str().unwrap()] {
        let completed = shell.try_run(&at(cwd)).await.unwrap();
        assert_eq!(
            text(&completed.output).trim_end(),
            inner.to_str().unwrap(),
            "{cwd}"
        );
    }
    let completed = shell.try_run(&at(".")).await.unwrap();
    assert_eq!(text(&completed.output).trim_end(), real.to_str().unwrap());
    for cwd in ["..", "/", "/etc", "out", "a/../..", "out/.."] {
        refused(shell.try_run(&at(cwd)).await, ErrorKind::Denied, "outside");
    }
    refused(
        shell.try_run(&at("missing")).await,
        ErrorKind::NotFound,
        "missing",
    );
    refused(
        shell.try_run(&at("file")).await,
        ErrorKind::Invalid,
        "not-a-folder",
    );
    refused(shell.try_run(&at("")).await, ErrorKind::Invalid, "path");
    refused(shell.try_run(&at("a\0b")).await, ErrorKind::Invalid, "path");
}

#[tokio::test]
async fn the_environment_holds_what_is_harmless_and_what_is_granted() {
    let folder = TempDir::new().unwrap();
    let host = [
        ("PATH", "/usr/bin:/bin"),
        ("HOME", "/home/somebody"),
        ("LC_ALL", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("OPENAI_API_KEY", "sk-secret"),
        ("PROVIDER_KEY", "secret"),
        ("GITHUB_TOKEN", "secret"),
        ("LD_PRELOAD", ""),
        ("BASH_ENV", "/nonexistent"),
        ("CARGO_HOME", "/cargo"),
        ("RADDLE_PROCESS", "outer"),
        ("ANYTHING", "else"),
    ];
    let processes = Processes::open(
        &Anchors::default(),
        &Permissions {
            programs: vec!["env".to_owned()],
            directory: folder.path().to_owned(),
            environment: ["CARGO_HOME", "PROVIDER_KEY", "UNSET", "MINE"]
                .map(str::to_owned)
                .to_vec(),
            withheld: ["OPENAI_API_KEY", "PROVIDER_KEY"]
                .map(str::to_owned)
                .to_vec(),
            host_environment: host
                .map(|(name, value)| (name.to_owned(), OsString::from(value)))
                .into(),
            watcher: None,
            policy: None,
        },
    )
    .unwrap();
    let command = Command {
        environment: vec![
            fact("MINE", "own"),
            fact("NO_COLOR", "1"),
            fact("LC_ALL", "C"),
        ],
        ..named("env")
    };
    let completed = processes.run(&command, None).await.unwrap();
    let variables: Vec<_> = text(&completed.output)
        .lines()
        .filter(|line| !line.starts_with("RADDLE_PROCESS="))
        .collect();
    assert_eq!(
        variables,
        [
            "CARGO_HOME=/cargo",
            "HOME=/home/somebody",
            "LANG=C.UTF-8",
            "LC_ALL=C",
            "MINE=own",
            "NO_COLOR=1",
            "PATH=/usr/bin:/bin",
            "TERM=dumb",
        ]
    );
    assert!(!text(&completed.output).contains("outer"));
}

#[tokio::test]
async fn a_command_sets_only_variables_that_are_granted_or_harmless() {
    let shell = Shell::new();
    for name in [
        "LD_PRELOAD",
        "PATH",
        "BASH_ENV",
        "HOME",
        "RADDLE_PROCESS",
        "",
        "A=B",
        "X",
    ] {
        let command = Command {
            environment: vec![fact(name, "value")],
            ..shell.command("true")
        };
        let result = shell.try_run(&command).await;
        refused(result, ErrorKind::Denied, "variable");
    }
    let command = Command {
        environment: vec![fact("TEST_MARK", "a\0b")],
        ..shell.command("true")
    };
    refused(shell.try_run(&command).await, ErrorKind::Invalid, "nul");
}

#[tokio::test]
async fn a_missing_folder_is_unavailable() {
    let folder = TempDir::new().unwrap();
    let opened = Processes::open(
        &Anchors::default(),
        &permissions(&folder.path().join("missing")),
    );
    refused(opened, ErrorKind::Unavailable, "folder");
}
