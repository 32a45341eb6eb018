//! Standard plugin `fork`: a subagent provider whose children begin with the completed turns of their parent. The model reads nothing
//! of it; README.md says how it goes with the plugin `subagent`.

use raddle_sdk::subagents::{Assignment, Outcome, Provider};
use raddle_sdk::{Context, Environment, Error, include_prompt, sessions, settings};
use serde::Deserialize;

/// Name of the provider, where the deployment gives none.
const NAME: &str = "fork";

/// The plugin.
pub struct Fork;

/// What the deployment says about it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Settings {
    /// Name of the provider.
    pub provider: Option<String>,
    /// Name of the agent that children are.
    pub agent: Option<String>,
}

raddle_sdk::export!(Fork: subagents, settings);

impl raddle_sdk::subagents::Guest for Fork {
    fn offer(_environment: Environment) -> Result<Vec<Provider>, Error> {
        Ok(vec![settings::<Settings>()?.provider()])
    }

    fn start(assignment: Assignment, _context: Context) -> Result<Outcome, Error> {
        let work = settings::<Settings>()?.work(assignment);
        let report = sessions::run(&work)?;
        Ok(Outcome {
            text: report.text,
            details: report.details,
        })
    }
}

impl raddle_sdk::settings::Guest for Fork {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl Settings {
    /// The provider.
    pub fn provider(&self) -> Provider {
        Provider {
            name: self.provider.clone().unwrap_or_else(|| NAME.to_owned()),
            inherits_parent_context: true,
            capabilities: vec!["agent".to_owned()],
        }
    }

    /// How a child runs.
    pub fn work(self, assignment: Assignment) -> sessions::Work {
        sessions::Work {
            prompt: assignment.prompt,
            agent: assignment.agent.or(self.agent),
            inherit: true,
        }
    }
}
