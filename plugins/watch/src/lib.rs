//! Standard plugin `watch`: what changes outside of the agent's own actions becomes an injection.
//! What the model sees of it, and what it costs, stands in README.md.

pub mod artifacts;
mod faults;
pub mod host;
pub mod workspace;

use raddle_sdk::watchers::Occasion;
use raddle_sdk::{Context, Error, include_prompt, settings};
use serde::Deserialize;

pub use faults::update;
pub use host::Host;

/// The plugin.
pub struct Watch;

/// What the deployment says about it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Settings {
    /// Globs of files that are artifacts from the beginning.
    #[serde(default)]
    pub artifacts: Vec<String>,
    /// Globs of files that say how work is done.
    #[serde(default)]
    pub workspace: Vec<String>,
    /// Who changes artifacts besides the agent.
    #[serde(default)]
    pub actor: Actor,
    /// Whether faults of the runtime are told.
    pub faults: Option<bool>,
}

/// Who changes artifacts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// The user.
    #[default]
    User,
    /// Somebody who works with the user.
    Collaborator,
    /// A service.
    Service,
}

raddle_sdk::export!(Watch: watchers, settings);

impl raddle_sdk::watchers::Guest for Watch {
    fn observe(occasion: Occasion, _context: Context) -> Result<(), Error> {
        observe(&mut host::Session, &settings()?, &occasion)
    }
}

impl raddle_sdk::settings::Guest for Watch {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

/// Looks once.
///
/// # Errors
///
/// Those of the host.
pub fn observe(
    host: &mut impl Host,
    settings: &Settings,
    occasion: &Occasion,
) -> Result<(), Error> {
    if settings.faults.unwrap_or(true) {
        for fault in &occasion.faults {
            host.send(update(fault))?;
        }
    }
    artifacts::observe(host, settings, occasion)?;
    workspace::observe(host, settings)
}
