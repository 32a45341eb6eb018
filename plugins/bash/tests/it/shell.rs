//! Runs what the plugin asks for, the way the contract says: both streams in one, no input, the
//! middle left out. What a host does about time and processes is tested with the host.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use raddle_plugin_bash::call::{Answer, Arguments, answer};
use raddle_plugin_bash::settings::Settings;
use raddle_sdk::process::Completed;

/// The result of a command line.
pub(crate) fn run(command: &str) -> Answer {
    run_with(&Settings::default(), command)
}

pub(crate) fn run_with(settings: &Settings, command: &str) -> Answer {
    let arguments = Arguments {
        command: command.to_owned(),
        timeout_seconds: None,
    };
    let timeout = arguments.timeout(settings);
    answer(&completed(&arguments, settings), timeout, settings)
}

fn completed(arguments: &Arguments, settings: &Settings) -> Completed {
    let command = arguments.command(settings);
    assert!(command.merge && command.input.is_empty());
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut child = Command::new(&command.program)
        .args(&command.arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .stdin(Stdio::null())
        .stdout(writer.try_clone().unwrap())
        .stderr(writer)
        .spawn()
        .unwrap();
    let half = command.max_output as usize / 2;
    let (mut first, mut last, mut total) = (Vec::new(), Vec::new(), 0);
    let mut piece = vec![0; 1 << 16];
    loop {
        let length = reader.read(&mut piece).unwrap();
        if length == 0 {
            break;
        }
        total += length;
        let (head, tail) = piece[..length].split_at(length.min(half - first.len()));
        first.extend_from_slice(head);
        last.extend_from_slice(tail);
        last.drain(..last.len().saturating_sub(half));
    }
    let status = child.wait().unwrap();
    let kept = first.len() + last.len();
    Completed {
        code: status.code(),
        signal: status.signal(),
        timed_out: false,
        output: [first, last].concat(),
        errors: Vec::new(),
        omitted: u32::try_from(total - kept).unwrap(),
    }
}
