//! The harness's own price, measured from outside: the `raddle` binary with 20 plugins against a
//! model service that answers at once, beside what it spends the time on: spawning commands.
#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use raddle_tests::{Exchange, ModelServer, target_directory};

/// Plugins of the deployment: these, and `text` for the rest.
const PLUGINS: usize = 20;
const STEPS: usize = 100;
const RUNS: usize = 9;
/// Commands spawned alone, before and after each run.
const SPAWNS: usize = 100;
const MANY_STEPS: usize = 10_000;
/// Steps that stand for one point of a long run.
const WINDOW: usize = 40;

/// What one run of the binary took.
struct Run {
    /// Process start to the first byte of the first request.
    first_request: Duration,
    /// From each answer to the last byte of the request that followed.
    steps: Vec<Duration>,
    /// The same to the request's first byte: without what sending more bytes costs.
    begun: Vec<Duration>,
    /// Body of the last request.
    last_bytes: usize,
    /// Peak resident memory when the last request arrived.
    peak_kib: u64,
}

fn main() -> Result<()> {
    // `cargo bench` says so; a test run only wants to know that this compiles.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let bench = Bench::prepare()?;
    for provider in ["openai-responses", "openai-chat"] {
        println!("\n{provider}, {PLUGINS} plugins, warm cache");
        bench.run(provider, 1)?; // Compiles what is not in the cache yet.
        // A machine's speed changes from one second to the next: each run is compared with what
        // spawning took right before and after it.
        let mut runs = Vec::new();
        let mut floors = vec![floor()?];
        let mut ratios = Vec::new();
        for _ in 0..RUNS {
            let run = bench.run(provider, STEPS)?;
            floors.push(floor()?);
            let around = (floors[floors.len() - 2] + floors[floors.len() - 1]) / 2;
            ratios.push(median(run.steps.clone()).as_secs_f64() / around.as_secs_f64());
            runs.push(run);
        }
        ratios.sort_by(f64::total_cmp);
        let step = median(runs.iter().map(|run| median(run.steps.clone())).collect());
        let first = median(runs.iter().map(|run| run.first_request).collect());
        let peak = runs
            .iter()
            .map(|run| run.peak_kib)
            .max()
            .unwrap_or_default();
        println!(
            "  spawning `bash -c true` alone   {}",
            milliseconds(median(floors))
        );
        println!("  process start to first request  {}", milliseconds(first));
        println!(
            "  step                            {}  ({:.2} × spawning; {:.2} to {:.2})",
            milliseconds(step),
            ratios[ratios.len() / 2],
            ratios[0],
            ratios[ratios.len() - 1]
        );
        println!("  peak memory, {STEPS} steps          {}", mebibytes(peak));

        let long = bench.run(provider, MANY_STEPS)?;
        let at = |of: &[Duration], step: usize| median(of[step - WINDOW..step].to_vec());
        let (early, late) = (at(&long.steps, STEPS), at(&long.steps, MANY_STEPS));
        println!("  step {STEPS:<27}{}", milliseconds(early));
        println!(
            "  step {MANY_STEPS:<27}{}{}",
            milliseconds(late),
            times(late, early)
        );
        let (early, late) = (at(&long.begun, STEPS), at(&long.begun, MANY_STEPS));
        println!(
            "    until its first byte          {} after {}{}",
            milliseconds(late),
            milliseconds(early).trim_start(),
            times(late, early)
        );
        println!("    bytes sent                    {:>8}", long.last_bytes);
        println!(
            "  peak memory, {MANY_STEPS} steps         {}",
            mebibytes(long.peak_kib)
        );
    }
    Ok(())
}

/// The binary and the folders it is given.
struct Bench {
    binary: PathBuf,
    folder: tempfile::TempDir,
}

impl Bench {
    fn prepare() -> Result<Self> {
        let binary = target_directory()
            .join("release/raddle")
            .with_extension(std::env::consts::EXE_EXTENSION);
        ensure!(
            binary.is_file(),
            "{} is missing: `cargo xtask bench` builds it",
            binary.display()
        );
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("work"))?;
        Ok(Self { binary, folder })
    }

    /// Runs the agent against a service that asks for `calls` calls.
    fn run(&self, provider: &str, calls: usize) -> Result<Run> {
        let folder = self.folder.path();
        let process = Arc::new(AtomicU32::new(0));
        let peak = Arc::new(AtomicU64::new(0));
        let server = ModelServer::start(calls, {
            let (process, peak) = (Arc::clone(&process), Arc::clone(&peak));
            move || {
                let kib = peak_memory(process.load(Ordering::Acquire)).unwrap_or_default();
                peak.store(kib, Ordering::Release);
            }
        })?;
        let config = folder.join("raddle.toml");
        fs::write(&config, deployment(provider, &server.base_url()))?;

        let mut raddle = Command::new(&self.binary);
        raddle
            .args(["exec", "go", "--config"])
            .arg(&config)
            .arg("--cd")
            .arg(folder.join("work"))
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .env("XDG_DATA_HOME", folder.join("data"))
            .env("OPENAI_API_KEY", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let start = Instant::now();
        let child = raddle.spawn()?;
        process.store(child.id(), Ordering::Release);
        let status = finish(child)?;

        let exchanges = server.exchanges();
        ensure!(
            status.success() && exchanges.len() == calls + 1,
            "raddle made {} of {} requests: {status}",
            exchanges.len(),
            calls + 1
        );
        let since = |instant: fn(&Exchange) -> Instant| {
            exchanges
                .windows(2)
                .map(|pair| instant(&pair[1]).duration_since(pair[0].answered))
                .collect()
        };
        let (Some(first), Some(last)) = (exchanges.first(), exchanges.last()) else {
            bail!("raddle made no request");
        };
        Ok(Run {
            first_request: first.begun.duration_since(start),
            steps: since(|exchange| exchange.arrived),
            begun: since(|exchange| exchange.begun),
            last_bytes: last.bytes,
            peak_kib: peak.load(Ordering::Acquire),
        })
    }
}

/// A deployment of 20 plugins, with the words a coding agent has.
fn deployment(provider: &str, base_url: &str) -> String {
    let mut text = format!(
        r#"
[agent]
default = "coding-agent"

[model]
provider = "{provider}"
name = "bench"
base_url = "{base_url}"
api_key_env = "OPENAI_API_KEY"

[plugins.persona]
source = "std:persona"
settings = {{ agent = "coding-agent", text = "You are <<agent>>, powered by <<model>>." }}

[plugins.facts]
source = "std:facts"

[plugins.files]
source = "std:files"
grants.workspace = [{{ dir = "<session>", mode = "rw" }}]

[plugins.bash]
source = "std:bash"
grants.process = {{ programs = ["bash"], cwd = "<session>" }}

[plugins.web]
source = "std:web"
grants.http = {{ hosts = ["docs.rs"] }}

[plugins.instructions]
source = "std:instructions"
grants.workspace = [{{ dir = "<session>", mode = "ro" }}]

[plugins.context]
source = "std:context"

[[permission.rule]]
tool = "bash"
action = "allow"
"#
    );
    let named = text.matches("[plugins.").count();
    for number in named..PLUGINS {
        let words = "Check the exit marker on every result before you go on. ".repeat(8);
        text.push_str(&format!(
            r#"
[plugins.words_{number}]
source = "std:text"
settings.sections = [
    {{ name = "words_{number}_a", order = {number}, text = "{words}" }},
    {{ name = "words_{number}_b", order = {number}, text = "You work in <<cwd>>. {words}" }},
]
"#
        ));
    }
    text
}

/// Waits for the process; what it had to say is shown if it failed.
fn finish(child: Child) -> Result<ExitStatus> {
    let output = child.wait_with_output()?;
    if !output.status.success() {
        print!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.status)
}

/// Peak resident memory of a living process, in KiB.
fn peak_memory(process: u32) -> Result<u64> {
    let status = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let value = line.and_then(|value| value.split_whitespace().next());
    Ok(value.context("no peak memory")?.parse()?)
}

/// What the tool of each step comes down to, without everything around it.
fn floor() -> Result<Duration> {
    Ok(median((0..SPAWNS).map(|_| spawn()).collect::<Result<_>>()?))
}

fn spawn() -> Result<Duration> {
    let start = Instant::now();
    let status = Command::new("bash").args(["-c", "true"]).status()?;
    ensure!(status.success(), "bash: {status}");
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn milliseconds(time: Duration) -> String {
    format!("{:8.2} ms", time.as_secs_f64() * 1e3)
}

fn mebibytes(kib: u64) -> String {
    format!("{:8} MiB", kib / 1024)
}

fn times(time: Duration, of: Duration) -> String {
    format!("  ({:.2} ×)", time.as_secs_f64() / of.as_secs_f64())
}
