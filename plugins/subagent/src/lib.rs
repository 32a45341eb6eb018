//! Standard plugin `subagent`: a tool that starts children through one subagent provider. It exists
//! exactly while the provider does, and is worded from what the provider says of itself. What the
//! model sees of it, and what it costs, stands in README.md.

use raddle_sdk::inject::{self, Actor, Injection, Origin, Source};
use raddle_sdk::sessions::{self, Child, State};
use raddle_sdk::subagents::Provider;
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::types::Subject;
use raddle_sdk::watchers::Occasion;
use raddle_sdk::{
    Context, Environment, Error, Fact, arguments, include_prompt, session_state, settings,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The tool's name, where the deployment gives none.
const TOOL: &str = "subagent";

/// What is added to it for the tool that gives a background answer.
const RESULT: &str = "_result";

/// The capability of a provider whose children can be another agent.
const AGENT: &str = "agent";

/// Key of a child in the background that was not told of yet, before its session's id.
const OPEN: &str = "open/";

/// The plugin.
pub struct Subagent;

/// What the deployment says about it.
#[derive(Debug, Clone, Deserialize)]
pub struct Settings {
    /// Name of the provider.
    pub provider: String,
    /// Name of the tool.
    pub tool: Option<String>,
    /// Whether children may run in the background.
    #[serde(default)]
    pub background: bool,
}

#[derive(Deserialize)]
struct Start {
    prompt: String,
    agent: Option<String>,
    #[serde(default)]
    background: bool,
}

#[derive(Deserialize)]
struct Collect {
    session: String,
}

raddle_sdk::export!(Subagent: tools, watchers, settings);

impl raddle_sdk::tools::Guest for Subagent {
    fn offer(environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(settings::<Settings>()?.tools(&environment))
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let settings = settings::<Settings>()?;
        let call = &invocation.call;
        let reply = if call.name == settings.result_tool() {
            let Collect { session } = arguments(call)?;
            collect(&session)?
        } else {
            start(&settings, arguments(call)?)?
        };
        Ok(Outcome::Done(reply))
    }
}

impl raddle_sdk::watchers::Guest for Subagent {
    fn observe(_occasion: Occasion, _context: Context) -> Result<(), Error> {
        let settings = settings::<Settings>()?;
        for key in session_state::list_keys(OPEN)? {
            let session = key.trim_start_matches(OPEN);
            let state = sessions::status(session);
            if let Some(told) = ended(session, &state, &settings) {
                // Told again after a crash in between, it is the same injection.
                inject::send(&told)?;
                session_state::remove(&key)?;
            }
        }
        Ok(())
    }
}

impl raddle_sdk::settings::Guest for Subagent {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl Settings {
    /// The tools as long as the provider is there; none otherwise.
    pub fn tools(&self, environment: &Environment) -> Vec<Tool> {
        let mut providers = environment.providers.iter();
        let Some(provider) = providers.find(|provider| provider.name == self.provider) else {
            return Vec::new();
        };
        let mut tools = vec![self.start_tool(provider, environment)];
        if self.background {
            tools.push(Tool {
                name: self.result_tool(),
                description: include_prompt!("result.md").to_owned(),
                parameters: json!({
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["session"],
                    "properties": { "session": { "type": "string", "minLength": 1 } },
                })
                .to_string(),
                guidance: None,
                hints: vec![Fact::new("read-only", "true")],
            });
        }
        tools
    }

    fn start_tool(&self, provider: &Provider, environment: &Environment) -> Tool {
        let (description, prompt) = match provider.inherits_parent_context {
            true => (
                include_prompt!("inherits.md"),
                include_prompt!("inherits-prompt.md"),
            ),
            false => (
                include_prompt!("separate.md"),
                include_prompt!("separate-prompt.md"),
            ),
        };
        let mut properties = Map::new();
        let text = json!({ "type": "string", "minLength": 1, "description": prompt });
        properties.insert("prompt".to_owned(), text);
        let takes_agent = provider.capabilities.iter().any(|known| known == AGENT);
        if takes_agent && environment.agents.len() > 1 {
            properties.insert("agent".to_owned(), agent_parameter(environment));
        }
        if self.background {
            let words = include_prompt!("background.md").replace("RESULT", &self.result_tool());
            let switch = json!({ "type": "boolean", "description": words });
            properties.insert("background".to_owned(), switch);
        }
        let parameters = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["prompt"],
            "properties": properties,
        });
        Tool {
            name: self.tool().to_owned(),
            description: description.to_owned(),
            parameters: parameters.to_string(),
            guidance: None,
            hints: vec![
                Fact::new("title", "Start a subagent"),
                // What the child itself does is permitted, or not, call by call.
                Fact::new("read-only", "true"),
            ],
        }
    }

    fn tool(&self) -> &str {
        self.tool.as_deref().unwrap_or(TOOL)
    }

    fn result_tool(&self) -> String {
        format!("{}{RESULT}", self.tool())
    }
}

/// What is told of a child in the background; nothing while it runs.
pub fn ended(
    session: &str,
    state: &Result<State, Error>,
    settings: &Settings,
) -> Option<Injection> {
    let (summary, change) = match state {
        Ok(State::Running) => return None,
        Ok(State::Ended(_)) => {
            let words = include_prompt!("ended.md");
            (words.replace("RESULT", &settings.result_tool()), "ended")
        }
        Ok(State::Failed(error)) | Err(error) => {
            let words = include_prompt!("failed.md");
            (words.replace("REASON", &error.message), "failed")
        }
    };
    let id = format!("subagent-{session}");
    Some(Injection {
        id: id.clone(),
        kind: "background_result".to_owned(),
        occurred_at: None,
        source: Source::BackgroundJob,
        delivery: None,
        requires_decision: false,
        summary: summary.replace("SESSION", session),
        dedupe_key: Some(id),
        subject: Some(Subject {
            reference: Some(format!("session:{session}")),
            path: None,
            revision: None,
        }),
        origin: Some(Origin {
            actor: Some(Actor::Service),
            interaction_id: None,
            tool_call_id: None,
        }),
        details: Some(json!({ "change": change, "session": session }).to_string()),
    })
}

fn start(settings: &Settings, start: Start) -> Result<Reply, Error> {
    let child = Child {
        provider: settings.provider.clone(),
        prompt: start.prompt,
        agent: start.agent,
        options: Vec::new(),
    };
    if start.background {
        let session = sessions::detach(&child)?;
        session_state::set(&format!("{OPEN}{session}"), "")?;
        return Ok(about(include_prompt!("started.md"), &session));
    }
    let report = sessions::delegate(&child)?;
    Ok(answer(report))
}

fn collect(session: &str) -> Result<Reply, Error> {
    match sessions::status(session)? {
        State::Running => Ok(about(include_prompt!("running.md"), session)),
        State::Ended(report) => {
            // It was read: there is nothing left to tell.
            session_state::remove(&format!("{OPEN}{session}"))?;
            Ok(answer(report))
        }
        State::Failed(error) => Err(error),
    }
}

fn answer(report: sessions::Report) -> Reply {
    let details = json!({ "session": report.session }).to_string();
    Reply {
        details: Some(details),
        ..Reply::text(report.text)
    }
}

fn about(words: &str, session: &str) -> Reply {
    Reply {
        details: Some(json!({ "session": session }).to_string()),
        ..Reply::text(words.replace("SESSION", session))
    }
}

fn agent_parameter(environment: &Environment) -> Value {
    let agents = environment.agents.iter();
    let mut words = include_prompt!("agent.md").to_owned();
    for agent in agents.clone().filter(|agent| !agent.description.is_empty()) {
        words.push_str(&format!("\n`{}`: {}", agent.name, agent.description));
    }
    let names: Vec<&str> = agents.map(|agent| agent.name.as_str()).collect();
    json!({ "type": "string", "enum": names, "description": words })
}
