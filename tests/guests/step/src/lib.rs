//! A guest of the tests and benches: one variable, named by its settings, that has to be asked for
//! before every model request.

use raddle_sdk::variables::{self, Variable};
use raddle_sdk::{Context, Environment, Error, Lifetime, settings};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: variables, settings);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    variable: String,
}

impl variables::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Variable>, Error> {
        let Settings { variable } = settings()?;
        Ok(vec![Variable::computed(&variable, Lifetime::Step)])
    }

    fn resolve(_name: String, context: Context) -> Result<Option<String>, Error> {
        Ok(context.step.map(|step| format!("step {step}")))
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        r#"{
            "type": "object",
            "additionalProperties": false,
            "required": ["variable"],
            "properties": { "variable": { "type": "string" } }
        }"#
        .to_owned()
    }
}
