//! `raddle init`: a small deployment to start from.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::Context as _;

use super::Place;
use crate::config;
use crate::failure::Failure;
use crate::terminal::print;

const DEPLOYMENT: &str = include_str!("init.toml");

/// Writes `raddle.toml`; never over one that is there.
pub(super) fn run(place: &Place) -> Result<(), Failure> {
    let file = match &place.config {
        Some(file) => file.clone(),
        None => place.directory.join("raddle.toml"),
    };
    let shown = config::shown(&file);
    let mut open = OpenOptions::new();
    let mut opened = match open.write(true).create_new(true).open(&file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let there = occupant(&file);
            return Err(Failure::Misuse(format!(
                "{shown}: there is {there} already; move it away, or name another file with `-c`"
            )));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let message = format!("{shown}: there is no folder for it");
            return Err(Failure::Misuse(message));
        }
        opened => opened.with_context(|| format!("{shown}: cannot be written"))?,
    };
    opened
        .write_all(DEPLOYMENT.as_bytes())
        .with_context(|| format!("{shown}: cannot be written"))?;
    print(&format!(
        "wrote {shown}\nnext: `raddle check`, `raddle prompt`, then `raddle run` with \
         OPENAI_API_KEY set\n"
    ))
}

/// What stands where the file should go.
fn occupant(file: &Path) -> String {
    match fs::read_link(file) {
        Ok(target) if !file.exists() => {
            format!("a link to {}, where there is nothing,", target.display())
        }
        _ if file.is_dir() => "a directory".to_owned(),
        _ => "a file".to_owned(),
    }
}
