//! Standard plugin `acp`: a subagent provider whose children are agents outside of this host, each a
//! program of its own that speaks the Agent Client Protocol (<https://agentclientprotocol.com>). The
//! model reads nothing of it; README.md says how it goes with the plugin `subagent`.

mod host;
mod messages;
mod settings;
mod turn;

use raddle_sdk::process::{self, Companion};
use raddle_sdk::subagents::{Assignment, Outcome, Provider};
use raddle_sdk::{Context, Environment, Error, include_prompt};

pub use host::{Heard, Host};
pub use settings::Settings;
pub use turn::Turn;

/// The plugin.
pub struct Acp;

raddle_sdk::export!(Acp: subagents, settings);

impl raddle_sdk::subagents::Guest for Acp {
    fn offer(_environment: Environment) -> Result<Vec<Provider>, Error> {
        let settings: Settings = raddle_sdk::settings()?;
        Ok(vec![Provider {
            name: settings.provider,
            inherits_parent_context: false,
            capabilities: Vec::new(),
        }])
    }

    fn start(assignment: Assignment, context: Context) -> Result<Outcome, Error> {
        let settings: Settings = raddle_sdk::settings()?;
        let directory = context.cwd.ok_or_else(|| {
            Error::unavailable("no-directory", "an agent works in a folder: there is none")
        })?;
        let program = process::open(&Companion {
            program: settings.program.clone(),
            arguments: settings.arguments.clone(),
            cwd: None,
            environment_variables: settings.variables(),
        })?;
        let mut host = host::Session::of(program);
        let answer = Turn::of(&mut host, &settings).run(&directory, &assignment.prompt);
        let ended = process::close(program)?;
        match answer {
            Ok(text) => Ok(Outcome {
                text,
                details: None,
            }),
            Err(error) => Err(turn::with_last_words(error, &ended)),
        }
    }
}

impl raddle_sdk::settings::Guest for Acp {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}
