//! `gml check FILE`, `gml render FILE -o FILE.html` and `gml serve FILE --session ID`.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "the output of a command-line tool"
)]

mod folder;
mod serve;

use std::fs;
use std::process::ExitCode;

use folder::{Folder, without_mark};
use gml::{Problem, Severity};

const USAGE: &str = "\
usage: gml check FILE
       gml render FILE -o FILE.html
       gml serve FILE --session ID [--config raddle.toml] [--raddle PROGRAM] [--port PORT]";

/// Why it ends without having done what was asked for.
enum Failure {
    /// The deck has errors: 1.
    Bad,
    /// It was used wrongly, or a file cannot be read or written: 2.
    Unable(String),
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["check", file] => check(file),
        ["render", file, "-o", page] | ["render", "-o", page, file] => render(file, page),
        ["serve", options @ ..] => serve(options),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => Err(Failure::Unable(USAGE.to_owned())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Bad) => ExitCode::from(1),
        Err(Failure::Unable(message)) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn check(file: &str) -> Result<(), Failure> {
    let text = folder::read(file).map_err(Failure::Unable)?;
    tell(file, &gml::check(without_mark(&text), &Folder::of(file)))
}

fn render(file: &str, page: &str) -> Result<(), Failure> {
    let text = folder::read(file).map_err(Failure::Unable)?;
    let text = without_mark(&text);
    let images = Folder::of(file);
    tell(file, &gml::check(text, &images))?;
    let unable = |error: String| Failure::Unable(format!("{page}: {error}"));
    let html = gml::render(text, &images).map_err(unable)?;
    fs::write(page, html).map_err(|error| unable(error.to_string()))
}

fn serve(options: &[&str]) -> Result<(), Failure> {
    let usage = || Failure::Unable(USAGE.to_owned());
    let served = serve::Served::from_options(options).ok_or_else(usage)?;
    served.run().map_err(Failure::Unable)
}

/// Prints what is wrong. Errors end it.
fn tell(file: &str, problems: &[Problem]) -> Result<(), Failure> {
    for problem in problems {
        println!("{file}:{problem}");
    }
    let of = |severity| {
        problems
            .iter()
            .filter(|problem| problem.severity == severity)
            .count()
    };
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let plural = |count| if count == 1 { "" } else { "s" };
    println!(
        "{errors} error{}, {warnings} warning{}",
        plural(errors),
        plural(warnings)
    );
    match errors {
        0 => Ok(()),
        _ => Err(Failure::Bad),
    }
}
