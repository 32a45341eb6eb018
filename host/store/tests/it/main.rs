//! The store at its public seam: real files, real processes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod file;
mod log;
mod sharing;
mod state;

use raddle_core::session::{Event, EventData};
use raddle_core::store::SessionHeader;
use raddle_store::SqliteStore;

fn header(id: &str) -> SessionHeader {
    SessionHeader {
        id: id.to_owned(),
        created: "2026-01-31T12:00:00.000Z".to_owned(),
        parent: None,
        directory: Some("/home/somebody/project".to_owned()),
        variant: "base".to_owned(),
        deployment: None,
        owner: None,
    }
}

fn event(session: &str, seq: u64, data: EventData) -> Event {
    Event {
        seq,
        time: format!("2026-01-31T12:00:00.{seq:03}Z"),
        session: session.to_owned(),
        run: 1,
        step: 0,
        display: data.is_displayed(),
        data,
    }
}

fn message(session: &str, seq: u64) -> Event {
    let text = format!("message {seq}");
    event(session, seq, EventData::UserMessage { text })
}

/// A store in a fresh directory, and the directory.
fn store() -> (SqliteStore, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path().join("sessions.db")).unwrap();
    (store, directory)
}

/// The test binary again, running `test` alone with `variables` set: a process of its own.
fn child(test: &str, variables: &[(&str, &str)]) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.envs(variables.iter().copied());
    command
}
