//! Standard plugin `fork`: a subagent provider whose children begin with the completed turns of their parent.
//! The model reads nothing of it; README.md says how it goes with the plugin `subagent`.

use raddle_sdk::hosted::Hosted;
use raddle_sdk::subagents::{Assignment, Outcome, Provider};
use raddle_sdk::{Context, Environment, Error, settings};

/// Name of the provider, where the deployment gives none.
const NAME: &str = "fork";

/// Whether children begin with the completed turns of their parent.
const INHERIT: bool = true;

/// The plugin.
pub struct Fork;

raddle_sdk::export!(Fork: subagents, settings);

impl raddle_sdk::subagents::Guest for Fork {
    fn offer(_environment: Environment) -> Result<Vec<Provider>, Error> {
        Ok(vec![settings::<Hosted>()?.provider(NAME, INHERIT)])
    }

    fn start(assignment: Assignment, _context: Context) -> Result<Outcome, Error> {
        settings::<Hosted>()?.start(assignment, INHERIT)
    }
}

impl raddle_sdk::settings::Guest for Fork {
    fn describe() -> String {
        Hosted::SCHEMA.to_owned()
    }
}
