//! Standard plugin `instructions`: AGENTS.md and its kin, from the session's directory up to the
//! root of its repository and no further, as data in the prompt.

mod collect;
mod show;

use raddle_sdk::sections::{self, Section};
use raddle_sdk::{
    Context, Environment, Error, Fact, Lifetime, include_prompt, log, settings, workspace,
};
use serde::Deserialize;

pub use collect::{Instruction, Tree, collect};
pub use show::show;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: sections, settings);

/// Name of the one section.
const SECTION: &str = "instructions";

/// What the deployment says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// File names, in the order in which those of one folder are shown.
    pub names: Vec<String>,
    /// Bytes shown of each file.
    pub max_bytes: u32,
    /// Order of the section.
    pub order: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            names: vec!["AGENTS.md".to_owned()],
            max_bytes: 32 * 1024,
            // After the protocol: what comes from files does not stand among the harness's words.
            order: 300,
        }
    }
}

impl sections::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let settings: Settings = settings()?;
        let section = Section::computed(SECTION, settings.order, Lifetime::Session);
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, context: Context) -> Result<Option<String>, Error> {
        if name != SECTION {
            return Err(Error::not_found("section", format!("no section `{name}`")));
        }
        let Some(cwd) = context.cwd else {
            return Ok(None);
        };
        let files = collect(&Granted, &cwd, &settings()?)?;
        Ok(show(&files))
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

/// The session's files, as far as the deployment lets this plugin read them.
struct Granted;

impl Tree for Granted {
    fn read(&self, path: &str, length: u32) -> Result<workspace::Contents, Error> {
        workspace::read(path, 0, length)
    }

    fn left_out(&self, path: &str, reason: &str) {
        let fields = [Fact::new("path", path), Fact::new("reason", reason)];
        log::write(log::Level::Warning, "instructions left out", &fields);
    }
}
