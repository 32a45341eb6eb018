//! A killed process loses nothing that was acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use raddle_core::store::Store;
use raddle_store::SqliteStore;

use crate::{child, header, message};

const FILE: &str = "RADDLE_STORE_CRASH_FILE";

/// The process to be killed: appends until then, and says after each append that it is done.
#[tokio::test]
async fn writer() {
    let Some(file) = std::env::var_os(FILE) else {
        return;
    };
    let store = SqliteStore::open(PathBuf::from(file)).unwrap();
    store.create(header("s")).await.unwrap();
    for seq in 1.. {
        store.append("s", &[message("s", seq)]).await.unwrap();
        writeln!(std::io::stdout(), "acknowledged {seq}").unwrap();
    }
}

#[tokio::test]
async fn every_acknowledged_event_survives_a_kill() {
    // Later kills meet checkpoints; together they meet the writer in different places.
    for kill_after in [1, 50, 1500] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("sessions.db");
        let mut writer = child("crash::writer", &[(FILE, file.to_str().unwrap())])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = 0;
        for line in BufReader::new(writer.stdout.take().unwrap()).lines() {
            if let Some(seq) = line.unwrap().strip_prefix("acknowledged ") {
                acknowledged = seq.parse().unwrap();
                if acknowledged == kill_after {
                    writer.kill().unwrap();
                }
            }
        }
        writer.wait().unwrap();
        assert!(acknowledged >= kill_after);

        let store = SqliteStore::open(&file).unwrap();
        let events = store.events("s", 0).await.unwrap();
        let count = u64::try_from(events.len()).unwrap();
        assert!(count >= acknowledged, "{count} of {acknowledged} events");
        assert!(
            events
                .into_iter()
                .eq((1..=count).map(|seq| message("s", seq)))
        );
        // And the session goes on.
        store.append("s", &[message("s", count + 1)]).await.unwrap();
    }
}
