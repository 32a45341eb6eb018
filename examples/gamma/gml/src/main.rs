//! `gml check FILE` and `gml render FILE -o FILE.html`.
#![forbid(unsafe_code)]
#![expect(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "the output of a command-line tool"
)]

mod check;
mod image;
mod page;
mod rules;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use check::{Problem, Severity};
use roxmltree::Document;

const USAGE: &str = "\
usage: gml check FILE
       gml render FILE -o FILE.html";

/// The most bytes of a deck.
const LARGEST: u64 = 4 << 20;

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
    let text = read(file)?;
    let (_, problems) = parse(file, &text)?;
    tell(file, &problems)
}

fn render(file: &str, page: &str) -> Result<(), Failure> {
    let text = read(file)?;
    let (document, problems) = parse(file, &text)?;
    tell(file, &problems)?;
    let unable = |error: String| Failure::Unable(format!("{page}: {error}"));
    let html = page::render(&document, folder(file)).map_err(unable)?;
    fs::write(page, html).map_err(|error| unable(error.to_string()))
}

fn read(file: &str) -> Result<String, Failure> {
    let unable = |error: &str| Failure::Unable(format!("{file}: {error}"));
    let metadata = fs::metadata(file).map_err(|error| unable(&error.to_string()))?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(unable("it is no file of at most 4 MiB"));
    }
    let bytes = fs::read(file).map_err(|error| unable(&error.to_string()))?;
    let mut text = String::from_utf8(bytes).map_err(|_| unable("it is not UTF-8 text"))?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// The deck and what is wrong with it. What is no XML is told of here.
fn parse<'a>(file: &str, text: &'a str) -> Result<(Document<'a>, Vec<Problem>), Failure> {
    match Document::parse(text) {
        Ok(document) => {
            let problems = check::problems(&document, folder(file));
            Ok((document, problems))
        }
        Err(error) => {
            let at = error.pos();
            println!("{file}:{}:{}: error: {error}", at.row, at.col);
            Err(Failure::Bad)
        }
    }
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

/// Where the images of a deck are.
fn folder(file: &str) -> &Path {
    match Path::new(file).parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}
