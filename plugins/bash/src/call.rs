//! The call: from arguments to a command, and from what came of it to a result.

use raddle_sdk::process::{Command, Completed};
use serde::{Deserialize, Serialize};

use crate::output::Raw;
use crate::settings::Settings;

/// Exit code of a command that was ended because its time was over, as `timeout` has it.
const TIMED_OUT: i32 = 124;

/// What a shell adds to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Bytes kept of the output for each byte that may be shown: escape sequences and overwritten
/// lines take room that the result does not need.
const KEPT: u32 = 4;

/// Arguments of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Arguments {
    /// The command line.
    pub command: String,
    /// After how many seconds it is ended.
    pub timeout_seconds: Option<u32>,
}

/// What the model and front ends get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The output, and in its last line the marker `[exit code: N]`.
    pub text: String,
    /// For front ends.
    pub details: Details,
}

/// A result for front ends, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// What the marker says.
    pub exit_code: i32,
    /// The signal that ended the command.
    pub signal: Option<i32>,
    /// Its time was over.
    pub timed_out: bool,
    /// Bytes that the host left out of the output.
    pub omitted: u32,
}

impl Arguments {
    /// Seconds after which the command is ended.
    pub fn timeout(&self, settings: &Settings) -> u32 {
        self.timeout_seconds
            .unwrap_or(settings.timeout_seconds)
            .clamp(1, settings.longest_timeout_seconds)
    }

    /// What the host is to run: no start-up files, no input, both streams in the order written.
    pub fn command(&self, settings: &Settings) -> Command {
        Command {
            program: settings.program.clone(),
            arguments: vec!["-c".to_owned(), self.command.clone()],
            cwd: None,
            environment_variables: Vec::new(),
            input: Vec::new(),
            timeout_ms: Some(self.timeout(settings).saturating_mul(1000)),
            max_output: settings.output_bytes.saturating_mul(KEPT),
            merge: true,
            live: true,
        }
    }
}

/// The result of a command that ran for at most `timeout` seconds.
pub fn answer(completed: &Completed, timeout: u32, settings: &Settings) -> Answer {
    let raw = Raw {
        bytes: &completed.output,
        omitted: completed.omitted.into(),
    };
    let mut text = raw.shown(settings.output_bytes as usize);
    let code = match (completed.code, completed.signal) {
        _ if completed.timed_out => {
            text.push_str(&format!("[ended after {timeout} seconds: timeout]\n"));
            TIMED_OUT
        }
        (_, Some(signal)) => {
            text.push_str(&format!("[ended by signal {signal}]\n"));
            SIGNALLED + signal
        }
        (code, None) => code.unwrap_or(-1),
    };
    text.push_str(&format!("[exit code: {code}]"));
    Answer {
        text,
        details: Details {
            exit_code: code,
            signal: completed.signal,
            timed_out: completed.timed_out,
            omitted: completed.omitted,
        },
    }
}
