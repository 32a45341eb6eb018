//! A guest of the tests: a subagent provider that takes its time to be there.

use raddle_sdk::subagents::{Assignment, Outcome, Provider};
use raddle_sdk::{Context, Environment, Error, settings};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: subagents, settings);

#[derive(Deserialize)]
struct Settings {
    /// How much it has to think about before it offers anything.
    rounds: u64,
}

impl raddle_sdk::subagents::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Provider>, Error> {
        let Settings { rounds } = settings()?;
        let mut thought = 1_u64;
        for round in 0..rounds {
            thought = std::hint::black_box(thought.wrapping_mul(31).wrapping_add(round));
        }
        Ok(vec![Provider {
            name: "slow".to_owned(),
            inherits_parent_context: thought == 0,
            capabilities: Vec::new(),
        }])
    }

    fn start(assignment: Assignment, _context: Context) -> Result<Outcome, Error> {
        Ok(Outcome {
            text: format!("Did {}", assignment.prompt),
            details: None,
        })
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        r#"{
            "type": "object",
            "additionalProperties": false,
            "required": ["rounds"],
            "properties": { "rounds": { "type": "integer", "minimum": 0 } }
        }"#
        .to_owned()
    }
}
