//! Appending to a session's log: what each step pays before it goes on.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use raddle_core::session::{Event, EventData};
use raddle_core::store::{SessionHeader, Store, StoreError};
use raddle_store::SqliteStore;
use raddle_tests::{good, temporary_folder};
use tokio::runtime::Runtime;

criterion_group!(benches, append, open);
criterion_main!(benches);

/// An append costs the same early and late in a session.
fn append(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("store/append");
    for length in [100, 10_000] {
        let folder = temporary_folder();
        let store = filled(&runtime, &folder.path().join("sessions.db"), length);
        let mut seq = length;
        group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
            bencher.iter(|| {
                seq += 1;
                runtime.block_on(store.append("s", &[result(seq)]))
            });
        });
    }
    group.finish();
}

/// What the start of a process pays for the store.
fn open(criterion: &mut Criterion) {
    let folder = temporary_folder();
    let path = folder.path().join("sessions.db");
    drop(filled(&runtime(), &path, 1000));
    criterion.bench_function("store/open", |bencher| {
        bencher.iter_batched(
            || (),
            |()| black_box(SqliteStore::open(&path)),
            BatchSize::PerIteration,
        );
    });
}

/// A store with one session of `length` events.
fn filled(runtime: &Runtime, path: &Path, length: u64) -> SqliteStore {
    let fill = async || -> Result<SqliteStore, StoreError> {
        let store = SqliteStore::open(path)?;
        let header = SessionHeader {
            id: "s".to_owned(),
            created: TIME.to_owned(),
            parent: None,
            directory: None,
            variant: "base".to_owned(),
            deployment: None,
            owner: None,
        };
        store.create(header).await?;
        let events: Vec<Event> = (1..=length).map(result).collect();
        store.append("s", &events).await?;
        Ok(store)
    };
    good(runtime.block_on(fill()))
}

const TIME: &str = "2026-01-31T12:00:00.000Z";

/// A tool's answer of usual size.
fn result(seq: u64) -> Event {
    let data = EventData::ToolResult {
        call_id: format!("call_{seq}"),
        text: "A line of output.\n".repeat(50),
        is_error: false,
        details: None,
        artifact: None,
    };
    Event {
        seq,
        time: TIME.to_owned(),
        session: "s".to_owned(),
        run: 1,
        step: 1,
        display: true,
        data,
    }
}

fn runtime() -> Runtime {
    good(tokio::runtime::Builder::new_current_thread().build())
}
