//! Standard plugin `yield`: what the agent tells the user, and whether the run goes on. What the
//! model sees of it, and what it costs, stands in README.md.

use raddle_sdk::sections::Section;
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt};
use serde::{Deserialize, Serialize};

/// Order of the section `yield`.
const ORDER: i32 = 250;

/// The plugin.
pub struct Yield;

/// Arguments of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    /// The words.
    pub message: String,
    /// Whether the run ends.
    pub block_on_user: bool,
    /// What the message is.
    pub intent: Option<String>,
    /// Required steps that were not followed.
    #[serde(default)]
    pub deviations: Vec<Deviation>,
}

/// A required step that was not followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    /// Which.
    pub step: String,
    /// Why.
    pub reason: String,
}

raddle_sdk::export!(Yield: sections, tools);

impl raddle_sdk::sections::Guest for Yield {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let section = Section::fixed("yield", ORDER, include_prompt!("yield.md"));
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::tools::Guest for Yield {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![tool()])
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let arguments: Arguments = arguments(&invocation.call)?;
        let others = invocation.batch.iter().map(|call| call.name.as_str());
        reply(arguments, &others.collect::<Vec<_>>()).map(Outcome::Done)
    }
}

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "message_user".to_owned(),
        description: include_prompt!("tool.md").to_owned(),
        parameters: include_prompt!("parameters.json").to_owned(),
        guidance: None,
        hints: vec![
            Fact::new("title", "Tell the user"),
            Fact::new("kind", "other"),
            // It changes nothing.
            Fact::new("read-only", "true"),
            Fact::new("protocol", "true"),
        ],
    }
}

/// What the call comes to, beside the other calls of its `batch`.
///
/// # Errors
///
/// `not-alone`: it blocks, and others run beside it. Nothing is shown then.
pub fn reply(arguments: Arguments, batch: &[&str]) -> Result<Reply, Error> {
    if arguments.block_on_user && !batch.is_empty() {
        let message = format!(
            "not shown: with blockOnUser true, message_user must be the only call; this batch has {} too",
            batch.join(", ")
        );
        return Err(Error::invalid("not-alone", message));
    }
    let mut facts = vec![Fact::new("message", arguments.message)];
    facts.extend(arguments.intent.map(|intent| Fact::new("intent", intent)));
    if !arguments.deviations.is_empty() {
        let deviations = serde_json::to_string(&arguments.deviations);
        let deviations =
            deviations.map_err(|error| Error::invalid("deviations", error.to_string()))?;
        facts.push(Fact::new("deviations", deviations));
    }
    Ok(Reply {
        terminate: arguments.block_on_user,
        facts,
        ..Reply::text("shown to the user")
    })
}
