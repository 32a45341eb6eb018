//! Standard plugin `files`: read, write, edit, list, find and search the files of the session,
//! over the `workspace` import. What the model sees of it, and what it costs, stands in README.md.

pub mod call;
mod decomposed;
pub mod edit;
mod file;
pub mod hint;
pub mod host;
pub mod offer;
mod seen;
pub mod text;

use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::types::Subject;
use raddle_sdk::{Context, Environment, Error, arguments, include_prompt};

use crate::call::Answer;
use crate::host::{Host, Imports};
use crate::offer::{Kind, Settings};

/// The plugin.
pub struct Files;

impl raddle_sdk::settings::Guest for Files {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl raddle_sdk::tools::Guest for Files {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(raddle_sdk::settings::<Settings>()?.offered())
    }

    fn call(invocation: Invocation, context: Context) -> Result<Outcome, Error> {
        let settings: Settings = raddle_sdk::settings()?;
        answer(&Imports, &settings, &invocation, context.cwd.as_deref())
            .map(|answer| reply(answer).into())
    }
}

raddle_sdk::export!(Files: settings, tools);

/// Answers a call with what `host` has. `folder` is the session's.
pub fn answer(
    host: &impl Host,
    settings: &Settings,
    invocation: &Invocation,
    folder: Option<&str>,
) -> Result<Answer, Error> {
    let call = &invocation.call;
    match settings.kind(&call.name) {
        Some(Kind::Read) => call::read(host, folder, &arguments(call)?),
        Some(Kind::Write) => call::write(host, folder, &arguments(call)?),
        Some(Kind::Edit) => call::edit(host, folder, &arguments(call)?),
        Some(Kind::List) => call::list(host, &arguments(call)?),
        Some(Kind::Find) => call::find(host, &arguments(call)?),
        Some(Kind::Search) => call::search(host, &arguments(call)?),
        None => Err(Error::not_found(
            "tool",
            format!("this plugin has no tool {}", call.name),
        )),
    }
}

fn reply(answer: Answer) -> Reply {
    Reply {
        artifact: answer.file.map(|(path, revision)| Subject {
            reference: None,
            path: Some(path),
            revision: Some(revision),
        }),
        ..Reply::text(answer.text).with_details(&answer.details)
    }
}
