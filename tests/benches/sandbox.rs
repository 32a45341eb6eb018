//! What it costs to hold a program to its grant: the same program under a policy and without one, in
//! turn, so that the machine's drift meets both.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use raddle_tests::{good, temporary_folder};
use raddle_wasm::imports::process::{Command, Permissions, Policy, Processes};
use raddle_wasm::imports::workspace::Anchors;

const ROUNDS: usize = 400;

fn main() {
    let runtime = good(
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build(),
    );
    runtime.block_on(compare());
}

async fn compare() {
    let folder = temporary_folder();
    let permissions = |policy| Permissions {
        programs: vec!["bash".to_owned()],
        directory: folder.path().to_owned(),
        host_environment: BTreeMap::from([(
            "PATH".to_owned(),
            std::env::var_os("PATH").unwrap_or_default(),
        )]),
        policy,
        ..Permissions::default()
    };
    let held = |network| {
        Some(Policy {
            write: vec![folder.path().to_owned(), std::env::temp_dir()],
            network,
        })
    };
    let kinds = [
        ("not held", None),
        ("held", held(false)),
        ("held, network granted", held(true)),
    ];
    let anchors = Anchors::default();
    let opened =
        kinds.map(|(name, policy)| (name, good(Processes::open(&anchors, &permissions(policy)))));
    let command = Command {
        program: "bash".to_owned(),
        arguments: ["-c", "true"].map(str::to_owned).to_vec(),
        max_output: 4096,
        merge: true,
        ..Command::default()
    };
    let mut times: Vec<Vec<Duration>> = opened.iter().map(|_| Vec::with_capacity(ROUNDS)).collect();
    for _ in 0..ROUNDS {
        for ((_, processes), times) in opened.iter().zip(&mut times) {
            let start = Instant::now();
            good(processes.run(&command, None).await);
            times.push(start.elapsed());
        }
    }
    for ((name, _), mut times) in opened.iter().zip(times) {
        times.sort();
        println!(
            "{name:<24}{:>8.3} ms",
            times[ROUNDS / 2].as_secs_f64() * 1e3
        );
    }
}
