//! Standard plugin `persona`: one agent, named by its settings, whose body is the persona.
//!
//! It has no words of its own. The host places the body as section `agent:persona` at order 0
//! while the agent is active.

use raddle_sdk::agents::{self, Agent};
use raddle_sdk::{Context, Environment, Error, include_prompt, settings, trim_prompt};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: agents, settings);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    agent: String,
    text: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    tools: Vec<String>,
}

impl agents::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Agent>, Error> {
        let settings: Settings = settings()?;
        Ok(vec![Agent {
            name: settings.agent,
            description: settings.description,
            model: settings.model,
            tools: settings.tools,
            handoffs: Vec::new(),
            skills: Vec::new(),
            variants: Vec::new(),
            intents: Vec::new(),
            metadata: Vec::new(),
        }])
    }

    fn load(name: String, _context: Context) -> Result<String, Error> {
        let settings: Settings = settings()?;
        if name != settings.agent {
            let message = format!("no agent `{name}`, only `{}`", settings.agent);
            return Err(Error::not_found("agent", message));
        }
        Ok(trim_prompt(&settings.text).to_owned())
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}
