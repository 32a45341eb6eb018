//! Standard plugin `facts`: what the host knows of a session, as prompt variables.

use raddle_sdk::variables::{self, Variable};
use raddle_sdk::{Context, Environment, Error, Lifetime, include_prompt, settings};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: variables, settings);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    names: Option<Vec<String>>,
}

/// Every variable there is, by name. A value that the context does not have is no value, and a
/// reference to it fails loudly.
const VARIABLES: [(&str, Lifetime); 7] = [
    ("agent", Lifetime::Session),
    ("cwd", Lifetime::Session),
    ("date", Lifetime::Turn),
    ("git_branch", Lifetime::Turn),
    ("model", Lifetime::Session),
    ("platform", Lifetime::Session),
    ("session", Lifetime::Session),
];

impl variables::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Variable>, Error> {
        let Settings { names } = settings()?;
        let names = names.as_deref();
        if let Some(unknown) = names.into_iter().flatten().find(|name| !is_known(name)) {
            let message = format!("there is no variable `{unknown}` to offer");
            return Err(Error::invalid("settings", message));
        }
        let wanted = |name: &str| names.is_none_or(|names| names.iter().any(|it| it == name));
        let offered = VARIABLES.iter().filter(|(name, _)| wanted(name));
        Ok(offered
            .map(|(name, lifetime)| Variable::computed(name, *lifetime))
            .collect())
    }

    fn resolve(name: String, context: Context) -> Result<Option<String>, Error> {
        let value = match name.as_str() {
            "agent" => context.agent,
            "cwd" => context.cwd.map(on_one_line),
            "date" => context.now.as_deref().map(date).transpose()?,
            "git_branch" => context
                .fact("git-branch")
                .map(str::to_owned)
                .map(on_one_line),
            "model" => context.model,
            "platform" => context.fact("platform").map(str::to_owned),
            "session" => context.session,
            _ => {
                return Err(Error::not_found(
                    "variable",
                    format!("no variable `{name}`"),
                ));
            }
        };
        Ok(value)
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

fn is_known(name: &str) -> bool {
    VARIABLES.iter().any(|(known, _)| *known == name)
}

/// A name that somebody else gave. One that would break out of its line is written as a quoted
/// text, its line breaks as `\n`: what follows a line break reads as the prompt's own words.
fn on_one_line(name: String) -> String {
    let breaks_out =
        |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    match name.contains(breaks_out) {
        true => format!("{name:?}"),
        false => name,
    }
}

/// The day of an RFC 3339 time, `2026-03-01`.
fn date(now: &str) -> Result<String, Error> {
    let is_day = |day: &str| {
        day.bytes().enumerate().all(|(index, byte)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        })
    };
    match now.split_once('T') {
        Some((day, _)) if day.len() == 10 && is_day(day) => Ok(day.to_owned()),
        _ => {
            let message = format!("the time of the run is not RFC 3339: {now:?}");
            Err(Error::invalid("now", message))
        }
    }
}
