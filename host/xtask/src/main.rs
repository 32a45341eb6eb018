//! Builds, runs and tests the whole project: `cargo xtask`.
#![expect(clippy::print_stderr, reason = "the output of a command-line tool")]

mod bench;
mod components;
mod run;
mod test;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  run [EXAMPLE] [ARG…]      build everything, then talk to an example, the coding agent if none is
                            named;
                            the arguments go to `raddle run`
  test [--world] [FILTER…]  every check and every test; with a FILTER, only the tests that match;
                            --world adds those that need programs of other projects
  bench [NAME…]             the benches, optimised; with a NAME, only those
  components                build the standard plugins
  install                   put the `raddle` binary, with the standard plugins inside, on your path";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = arguments.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let workspace = Workspace::find();
    let outcome = match command.as_str() {
        "run" => workspace.and_then(|workspace| run::run(&workspace, rest)),
        "test" => workspace.and_then(|workspace| test::run(&workspace, rest)),
        "bench" => workspace.and_then(|workspace| bench::run(&workspace, rest)),
        "components" if rest.is_empty() => {
            workspace.and_then(|workspace| components::build(&workspace))
        }
        "install" if rest.is_empty() => workspace.and_then(|workspace| run::install(&workspace)),
        "help" | "--help" | "-h" => {
            eprintln!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("no such command: {}\n\n{USAGE}", arguments.join(" "));
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
