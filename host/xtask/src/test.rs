//! Every check and every test, and a table of them at the end.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Result, bail};

use crate::components;
use crate::workspace::{COMPONENT_TARGET, Workspace, selected, succeed};

/// One line of the table.
struct Check<'a> {
    name: &'a str,
    /// A cargo subcommand without which the check cannot be made.
    needs: Option<&'a str>,
    run: Box<dyn Fn() -> Result<()> + 'a>,
}

enum Outcome {
    Good,
    Bad(String),
    /// The program that is missing.
    Skipped(String),
}

/// Runs everything; with `arguments`, only the tests that match.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (options, filters): (Vec<&String>, Vec<&String>) = arguments
        .iter()
        .partition(|argument| argument.starts_with('-'));
    if let Some(unknown) = options.iter().find(|option| **option != "--world") {
        bail!("unknown option {unknown}");
    }
    let world = !options.is_empty();
    let components = workspace.component_packages()?;
    let checks = match filters.is_empty() {
        true => all_checks(workspace, &components, world),
        false => vec![
            components_check(workspace),
            tests_check(workspace, &filters, world),
        ],
    };
    let is_ci = env::var_os("CI").is_some();

    let mut rows = Vec::new();
    for check in &checks {
        eprintln!("\n=== {}", check.name);
        let start = Instant::now();
        let outcome = match check.needs {
            Some(program) if !is_installed(workspace, program) => {
                Outcome::Skipped(format!("cargo {program}"))
            }
            _ => match (check.run)() {
                Ok(()) => Outcome::Good,
                Err(error) => {
                    eprintln!("error: {error:#}");
                    Outcome::Bad(format!("{error:#}"))
                }
            },
        };
        rows.push((check.name, start.elapsed(), outcome));
    }
    report(&rows, is_ci)
}

fn all_checks<'a>(
    workspace: &'a Workspace,
    components: &'a [String],
    world: bool,
) -> Vec<Check<'a>> {
    let cargo = move |name, needs, arguments: &'static [&str]| Check {
        name,
        needs: Some(needs),
        run: Box::new(move || succeed(&mut workspace.cargo(arguments))),
    };
    let wasm_lints = Check {
        name: "lints of the plugins as components",
        needs: Some("clippy"),
        run: Box::new(|| {
            components::add_target(workspace)?;
            let mut clippy = workspace.cargo(["clippy", "--target", COMPONENT_TARGET]);
            clippy.args(selected(components));
            succeed(clippy.args(["--", "--deny", "warnings"]))
        }),
    };
    let documentation = Check {
        name: "documentation",
        needs: None,
        run: Box::new(|| {
            let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps", "--lib"]);
            succeed(doc.env("RUSTDOCFLAGS", "--deny warnings"))
        }),
    };
    let examples = Check {
        name: "raddle check on the examples",
        needs: None,
        run: Box::new(|| check_examples(workspace)),
    };
    vec![
        cargo("format", "fmt", &["fmt", "--all", "--check"]),
        components_check(workspace),
        cargo(
            "lints, benches too",
            "clippy",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--",
                "--deny",
                "warnings",
            ],
        ),
        wasm_lints,
        documentation,
        tests_check(workspace, &[], world),
        Check {
            name: "tests in documentation",
            needs: None,
            run: Box::new(|| succeed(&mut workspace.cargo(["test", "--workspace", "--doc"]))),
        },
        examples,
    ]
}

fn components_check(workspace: &Workspace) -> Check<'_> {
    Check {
        name: "standard plugins",
        needs: None,
        run: Box::new(|| components::build(workspace)),
    }
}

/// The tests, with nextest where it is installed: it runs the binaries side by side.
fn tests_check<'a>(workspace: &'a Workspace, filters: &[&'a String], world: bool) -> Check<'a> {
    let filters = filters.to_vec();
    Check {
        name: "tests",
        needs: None,
        run: Box::new(move || {
            let is_nextest = is_installed(workspace, "nextest");
            let mut test = match is_nextest {
                true => workspace.cargo(["nextest", "run", "--workspace", "--no-fail-fast"]),
                false => workspace.cargo(["test", "--workspace", "--tests", "--no-fail-fast"]),
            };
            if is_nextest && world {
                test.args(["--run-ignored", "all"]);
            }
            test.arg("--").args(&filters);
            if !is_nextest && world {
                test.arg("--include-ignored");
            }
            // A snapshot that is new or differs fails, unless the caller asked to have it written.
            if env::var_os("INSTA_UPDATE").is_none() {
                test.env("INSTA_UPDATE", "no");
            }
            succeed(&mut test)
        }),
    }
}

/// Each deployment in `examples/` has to pass its own `raddle check`.
fn check_examples(workspace: &Workspace) -> Result<()> {
    let mut configs = Vec::new();
    for entry in fs::read_dir(workspace.root.join("examples"))? {
        let config = entry?.path().join("raddle.toml");
        if config.is_file() {
            configs.push(config);
        }
    }
    configs.sort();
    if configs.is_empty() {
        bail!("no example found");
    }
    // The same selection as the tests, so that what they built is used as it is.
    succeed(&mut workspace.cargo(["build", "--workspace", "--bins", "--tests"]))?;
    for config in configs {
        eprintln!("{}", config.display());
        let mut raddle = Command::new(workspace.binary("raddle"));
        succeed(raddle.args(["check", "--config"]).arg(&config))?;
    }
    Ok(())
}

fn is_installed(workspace: &Workspace, subcommand: &str) -> bool {
    workspace
        .cargo([subcommand, "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Prints the table. A check that was left out is good on one's own machine, not in CI.
fn report(rows: &[(&str, Duration, Outcome)], is_ci: bool) -> Result<()> {
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let (mut bad, mut skipped) = (0, 0);
    eprintln!();
    for (name, took, outcome) in rows {
        let word = match outcome {
            Outcome::Good => "ok".to_owned(),
            Outcome::Bad(error) => {
                bad += 1;
                format!("FAILED: {error}")
            }
            Outcome::Skipped(program) => {
                skipped += 1;
                format!("skipped: `{program}` is not installed")
            }
        };
        eprintln!("{name:width$}  {:>7.1} s  {word}", took.as_secs_f64());
    }
    if bad > 0 || (is_ci && skipped > 0) {
        bail!("{bad} checks failed, {skipped} were skipped");
    }
    Ok(())
}
