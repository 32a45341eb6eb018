//! Standard plugin `gamma`: decks and files shown to the user. What the model sees of it, and what it
//! costs, stands in README.md.

pub mod show;

use raddle_sdk::tools::{Invocation, Outcome, Tool};
use raddle_sdk::{
    Context, Environment, Error, Fact, arguments, include_prompt, progress, workspace,
};
use serde::Deserialize;

use show::Host;

/// The plugin.
pub struct Gamma;

#[derive(Deserialize)]
struct Arguments {
    path: String,
}

/// The files of the calling session, and its user.
struct Session;

raddle_sdk::export!(Gamma: tools);

impl raddle_sdk::tools::Guest for Gamma {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(tools())
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let Arguments { path } = arguments(&invocation.call)?;
        let reply = match invocation.call.name.as_str() {
            "show_gamma" => show::deck(&Session, &path),
            _ => show::file(&Session, &path),
        };
        reply.map(Outcome::Done)
    }
}

/// The tools.
pub fn tools() -> Vec<Tool> {
    let tool = |name: &str, description: &str, hints: &[(&str, &str)]| Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: include_prompt!("path.json").to_owned(),
        guidance: None,
        hints: hints
            .iter()
            .map(|(name, value)| Fact::new(name, *value))
            .collect(),
    };
    vec![
        tool(
            "show_gamma",
            include_prompt!("show-gamma.md"),
            // It writes the page.
            &[
                ("title", "Show a deck"),
                ("kind", "other"),
                ("exclusive", "path"),
            ],
        ),
        tool(
            "show_file",
            include_prompt!("show-file.md"),
            &[
                ("title", "Show a file"),
                ("kind", "read"),
                ("read-only", "true"),
            ],
        ),
    ]
}

/// Bytes that are read at once.
const PIECE: u32 = 1 << 20;

impl Host for Session {
    fn read(&self, path: &str, most: usize) -> Result<(Vec<u8>, String), Error> {
        let mut bytes = Vec::new();
        let mut known: Option<String> = None;
        loop {
            let offset = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            let piece = workspace::read(path, offset, PIECE)?;
            if known.is_some_and(|known| known != piece.digest) {
                let message = format!("{path} was changed while it was read");
                return Err(Error::conflict("stale", message));
            }
            bytes.extend(piece.bytes);
            if bytes.len() > most {
                let message = format!("{path} has more than {} MiB", most >> 20);
                return Err(Error::limit("size", message));
            }
            if !piece.more {
                return Ok((bytes, piece.digest));
            }
            known = Some(piece.digest);
        }
    }

    fn digest(&self, path: &str) -> Result<String, Error> {
        workspace::read(path, 0, 0).map(|contents| contents.digest)
    }

    fn replace(&self, path: &str, bytes: &[u8], base: Option<&str>) -> Result<(), Error> {
        workspace::replace(path, bytes, base).map(|_| ())
    }

    fn show(&self, path: &str) {
        progress::emit("show", &serde_json::json!({ "path": path }).to_string());
    }
}
