//! Standard plugin `bash`: command lines in the session's folder, over the `process` import. What
//! the model sees of it, and what it costs, stands in README.md.

pub mod call;
pub mod output;
pub mod settings;
mod terminal;

use raddle_sdk::tools::{Guidance, Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt, process};

use crate::call::{Arguments, answer};
use crate::settings::Settings;

/// Order of the section `tool:bash`.
const GUIDANCE_ORDER: i32 = 105;

/// The plugin.
pub struct Bash;

impl raddle_sdk::settings::Guest for Bash {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl raddle_sdk::tools::Guest for Bash {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![tool(&raddle_sdk::settings()?)])
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let settings: Settings = raddle_sdk::settings()?;
        let arguments: Arguments = arguments(&invocation.call)?;
        let completed = process::run(&arguments.command(&settings))?;
        let answer = answer(&completed, arguments.timeout(&settings), &settings);
        Ok(Reply::text(answer.text)
            .with_details(&answer.details)
            .into())
    }
}

raddle_sdk::export!(Bash: settings, tools);

/// The tool, under the name that `settings` give it.
pub fn tool(settings: &Settings) -> Tool {
    Tool {
        name: settings.tool.clone(),
        description: include_prompt!("tool.md").to_owned(),
        parameters: include_prompt!("parameters.json").to_owned(),
        guidance: Some(Guidance {
            order: GUIDANCE_ORDER,
            text: include_prompt!("guidance.md").replace("{tool}", &settings.tool),
        }),
        hints: vec![
            Fact::new("title", "Run a command"),
            Fact::new("kind", "execute"),
            Fact::new("summary-argument", "command"),
        ],
    }
}
