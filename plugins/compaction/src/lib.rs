//! Standard plugin `compaction`: when a conversation is compacted, and the summary that stands for
//! what is cut. What the model sees of it, and what it costs, stands in README.md.

mod transcript;

use raddle_sdk::compaction::{Message, Pressure};
use raddle_sdk::sections::Section;
use raddle_sdk::types::Role;
use raddle_sdk::{Context, Environment, Error, include_prompt, model, settings};
use serde::Deserialize;

pub use transcript::transcript;

/// Order of the section.
const ORDER: i32 = 260;

/// Where neither a limit nor a window is known.
const DEFAULT_LIMIT: u32 = 100_000;

/// The plugin.
pub struct Compaction;

/// What the deployment says about it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Settings {
    /// Tokens of a request from which on it is compacted.
    pub at_tokens: Option<u32>,
    /// Messages that stay.
    pub keep_messages: Option<u32>,
    /// Most tokens of a summary.
    pub summary_tokens: Option<u32>,
}

raddle_sdk::export!(Compaction: sections, compaction, settings);

impl raddle_sdk::sections::Guest for Compaction {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let section = Section::fixed("compaction", ORDER, include_prompt!("section.md"));
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::compaction::Guest for Compaction {
    fn decide(pressure: Pressure, _context: Context) -> Result<Option<u32>, Error> {
        Ok(settings::<Settings>()?.decide(&pressure))
    }

    fn summarize(messages: Vec<Message>, _context: Context) -> Result<String, Error> {
        let settings = settings::<Settings>()?;
        let prompt = model::Prompt {
            system: include_prompt!("summarize.md").to_owned(),
            messages: vec![Message {
                role: Role::User,
                text: transcript(&messages),
                calls: Vec::new(),
                answers: None,
                facts: Vec::new(),
            }],
            max_tokens: settings.summary_tokens.unwrap_or(2000),
        };
        let completion = model::complete(&prompt)?;
        if completion.text.trim().is_empty() {
            let message = "the model's summary is empty";
            return Err(Error::failed("empty-summary", message));
        }
        Ok(completion.text)
    }
}

impl raddle_sdk::settings::Guest for Compaction {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl Settings {
    /// How many messages are kept if it is time. Each attempt that did not help keeps fewer.
    pub fn decide(&self, pressure: &Pressure) -> Option<u32> {
        let keep = self.keep_messages.unwrap_or(12);
        if pressure.asked {
            // Whoever asks means now: also a short conversation is cut.
            return Some(keep.min(pressure.messages / 2));
        }
        let limit = self.at_tokens.unwrap_or_else(|| {
            let window = pressure.window_tokens;
            window.map_or(DEFAULT_LIMIT, |window| window / 5 * 4)
        });
        (pressure.prompt_tokens >= limit).then(|| keep >> pressure.attempts.min(31))
    }
}
