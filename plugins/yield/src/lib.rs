//! Standard plugin `yield`: what the agent tells the user, and whether the run goes on. What the
//! model sees of it, and what it costs, stands in README.md.

use raddle_sdk::sections::Section;
use raddle_sdk::skills_host::{self, ActiveSkill, StepState};
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt, session_state};
use serde::{Deserialize, Serialize};

/// Order of the section `yield`.
const ORDER: i32 = 250;

/// Key of the run whose completion was sent back.
const AUDITED: &str = "audited";

/// Intents with which a message does not end the task.
const NOT_COMPLETE: [&str; 4] = ["answer", "blocked", "progress", "question"];

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

    fn call(invocation: Invocation, context: Context) -> Result<Outcome, Error> {
        let arguments: Arguments = arguments(&invocation.call)?;
        let others = invocation.batch.iter().map(|call| call.name.as_str());
        let reply = reply(&arguments, &others.collect::<Vec<_>>())?;
        if let Some(unaccounted) = audit(&arguments, &skills_host::list_active()) {
            // Once a run: what it says to that counts, whatever it is.
            let run = context.turn.unwrap_or_default().to_string();
            let audited = session_state::get(AUDITED)?;
            if audited.as_deref() != Some(&run) {
                session_state::set(AUDITED, &run)?;
                return Err(Error::invalid("unaccounted-steps", unaccounted));
            }
        }
        Ok(Outcome::Done(reply))
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
            // People see the message itself.
            Fact::new("display", "false"),
        ],
    }
}

/// What the call comes to, beside the other calls of its `batch`.
///
/// # Errors
///
/// `not-alone`: it blocks, and others run beside it. Nothing is shown then.
pub fn reply(arguments: &Arguments, batch: &[&str]) -> Result<Reply, Error> {
    if arguments.block_on_user && !batch.is_empty() {
        let message = format!(
            "not shown: with blockOnUser true, message_user must be the only call; this batch has {} too",
            batch.join(", ")
        );
        return Err(Error::invalid("not-alone", message));
    }
    let mut facts = vec![Fact::new("message", &arguments.message)];
    let intent = arguments.intent.as_ref();
    facts.extend(intent.map(|intent| Fact::new("intent", intent)));
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

/// The required steps of active workflows that a message which may end the task leaves out: neither
/// complete nor explained. None if there are none.
pub fn audit(arguments: &Arguments, active: &[ActiveSkill]) -> Option<String> {
    let intent = arguments.intent.as_deref().map(str::to_lowercase);
    let ends = intent.is_none_or(|intent| !NOT_COMPLETE.contains(&intent.as_str()));
    if !arguments.block_on_user || !ends {
        return None;
    }
    let workflows: Vec<&ActiveSkill> = active
        .iter()
        .filter(|skill| !skill.steps.is_empty())
        .collect();
    let mut lines = Vec::new();
    for skill in &workflows {
        for step in &skill.steps {
            let explained = arguments
                .deviations
                .iter()
                .any(|deviation| is_about(&deviation.step, skill, step, workflows.len() == 1));
            let open = match step.state {
                StepState::Complete => false,
                // A blocked step is an unrecoverable error: the message has to list it.
                StepState::Blocked => true,
                StepState::Open => !step.optional,
            };
            if open && !explained {
                lines.push(format!("- {} {}: {}", skill.name, step.number, step.text));
            }
        }
    }
    let list = lines.join("\n");
    (!lines.is_empty()).then(|| format!("{}\n{list}", include_prompt!("audit.md")))
}

/// Whether a deviation names a step: by its number, with the skill's name where several have
/// steps, or by its first words.
fn is_about(written: &str, skill: &ActiveSkill, step: &skills_host::Step, alone: bool) -> bool {
    if !alone && !written.contains(&skill.name) {
        return false;
    }
    let rest = written.replace(&skill.name, " ");
    let mut numbers = rest
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty());
    if let Some(number) = numbers.next() {
        return number.parse() == Ok(step.number);
    }
    let (words, text) = (rest.trim().to_lowercase(), step.text.to_lowercase());
    !words.is_empty() && (text.starts_with(&words) || words.starts_with(&text))
}
