//! Every export, and a tool that uses every import. Names begin with the setting `name`, so that
//! several of these can stand in one deployment.

use serde_json::{Value, json};

use crate::bindings::exports::raddle::plugin as exports;
use crate::bindings::raddle::plugin as imports;

use exports::agents::Agent;
use exports::filters::{Assembly, AssemblyEdit, Filter, Request, RequestEdit, Target};
use exports::injections::{Coalescing, Kind};
use exports::sections::Section;
use exports::skills::{ChecklistStep, Loaded, Skill};
use exports::subagents::{Assignment, Outcome as Ended};
use exports::tools::{Guidance, Invocation, Outcome, Reply, Tool};
use exports::variables::Variable;
use imports::inject::{Actor, Injection, Origin, Source};
use imports::process::Command;
use imports::sessions::Child;
use imports::types::{
    Content, Context, Delivery, Environment, Error, Fact, Lifetime, Message, Provider,
};

/// The component.
pub struct Everything;

impl exports::sections::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let section = |part: &str, content| Section {
            name: format!("{}:{part}", name()),
            order: 250,
            verbatim: false,
            lifetime: Lifetime::Session,
            content,
        };
        let fixed = format!("Fixed, of <<{}_word>>.", name());
        Ok(vec![
            section("fixed", Content::Fixed(fixed)),
            section("computed", Content::Computed),
        ])
    }

    fn render(name: String, context: Context) -> Result<Option<String>, Error> {
        let model = context.model.unwrap_or_default();
        Ok(Some(format!("Computed for {name} on {model}.")))
    }
}

impl exports::variables::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Variable>, Error> {
        Ok(vec![Variable {
            name: format!("{}_word", name()),
            lifetime: Lifetime::Session,
            content: Content::Computed,
        }])
    }

    fn resolve(name: String, _context: Context) -> Result<Option<String>, Error> {
        Ok(Some(format!("the word of {name}")))
    }
}

impl exports::tools::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![Tool {
            name: name(),
            description: "Uses everything.".to_owned(),
            parameters: json!({ "type": "object" }).to_string(),
            guidance: Some(Guidance {
                order: 150,
                text: "Use it once.".to_owned(),
            }),
            hints: vec![fact("read-only", "true")],
        }])
    }

    fn call(invocation: Invocation, context: Context) -> Result<Outcome, Error> {
        let mut text = match invocation.answer {
            Some(answer) => answer.value,
            None => use_imports(&context)?,
        };
        text.push_str(&format!("; {}", crate::newer()?));
        Ok(Outcome::Done(Reply {
            text,
            attachments: Vec::new(),
            details: None,
            artifact: None,
            terminate: false,
            facts: Vec::new(),
        }))
    }
}

impl exports::agents::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Agent>, Error> {
        Ok(vec![Agent {
            name: format!("{}-agent", name()),
            description: "An agent.".to_owned(),
            model: None,
            tools: Vec::new(),
            handoffs: Vec::new(),
            skills: Vec::new(),
            variants: Vec::new(),
            intents: Vec::new(),
            metadata: vec![fact("kind", "test")],
        }])
    }

    fn load(name: String, _context: Context) -> Result<String, Error> {
        Ok(format!("You are {name}."))
    }
}

impl exports::injections::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Kind>, Error> {
        Ok(vec![Kind {
            name: kind(),
            meaning: "Something happened.".to_owned(),
            order: 260,
            delivery: Delivery::NextTurn,
            coalescing: Coalescing::KeepAll,
            passive: true,
            attributed: false,
        }])
    }
}

impl exports::watchers::Guest for Everything {
    fn observe(_occasion: exports::watchers::Occasion, _context: Context) -> Result<(), Error> {
        Ok(())
    }
}

impl exports::compaction::Guest for Everything {
    fn decide(
        _pressure: exports::compaction::Pressure,
        _context: Context,
    ) -> Result<Option<u32>, Error> {
        Ok(None)
    }

    fn summarize(messages: Vec<Message>, _context: Context) -> Result<String, Error> {
        Ok(format!("{} messages.", messages.len()))
    }
}

impl exports::skills::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Skill>, Error> {
        Ok(vec![Skill {
            name: skill(),
            description: "A skill.".to_owned(),
            workflow: false,
            path: "SKILL.md".to_owned(),
            metadata: vec![fact("priority", "1")],
        }])
    }

    fn load(names: Vec<String>, _context: Context) -> Result<Vec<Loaded>, Error> {
        let loaded = names.into_iter().map(|name| Loaded {
            name,
            workflow: false,
            path: "SKILL.md".to_owned(),
            required_by: None,
            text: "What to do.".to_owned(),
            steps: vec![ChecklistStep {
                number: 1,
                text: "Do it.".to_owned(),
                optional: false,
            }],
        });
        Ok(loaded.collect())
    }
}

impl exports::knowledge::Guest for Everything {
    fn hint(_recent: Vec<String>, _context: Context) -> Result<Option<String>, Error> {
        Ok(None)
    }
}

impl exports::subagents::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Provider>, Error> {
        Ok(vec![Provider {
            name: name(),
            inherits_parent_context: false,
            capabilities: Vec::new(),
        }])
    }

    fn start(assignment: Assignment, _context: Context) -> Result<Ended, Error> {
        Ok(Ended {
            text: format!("did {:?}", assignment.prompt),
            details: None,
        })
    }
}

impl exports::filters::Guest for Everything {
    fn offer(_environment: Environment) -> Result<Vec<Filter>, Error> {
        let filter = |part: &str, target| Filter {
            name: format!("{}-{part}", name()),
            target,
        };
        Ok(vec![
            filter("assembly", Target::Assembly),
            filter("request", Target::Request),
        ])
    }

    fn edit_assembly(
        _name: String,
        _assembly: Assembly,
        _context: Context,
    ) -> Result<Vec<AssemblyEdit>, Error> {
        Ok(Vec::new())
    }

    fn edit_request(
        _name: String,
        _request: Request,
        _context: Context,
    ) -> Result<Vec<RequestEdit>, Error> {
        Ok(Vec::new())
    }
}

impl exports::settings::Guest for Everything {
    fn describe() -> String {
        json!({ "type": "object", "properties": { "name": { "type": "string" } } }).to_string()
    }
}

/// Uses each import once, and says what came of it.
fn use_imports(context: &Context) -> Result<String, Error> {
    use imports::{
        inject, log, model, process, progress, session_state, sessions, settings_host, skills_host,
        tasks, workspace,
    };

    log::write(log::Level::Info, "everything is used", &[]);
    let files = settings_host::read_files()?.len();
    session_state::set("key", "kept")?;
    let kept = session_state::get("key")?.unwrap_or_default();
    progress::report("half way", Some(50));
    let tasks = tasks::read()?;
    let active = skills_host::list_active().len();
    let receipt = inject::send(&injection())?;
    let read = workspace::read("name.txt", 0, 100)?;
    let ran = process::run(&Command {
        program: "cat".to_owned(),
        arguments: vec!["name.txt".to_owned()],
        cwd: None,
        environment_variables: Vec::new(),
        input: Vec::new(),
        timeout_ms: None,
        max_output: 100,
        merge: false,
        live: false,
    })?;
    let too_much = model::complete(&model::Prompt {
        system: String::new(),
        messages: Vec::new(),
        max_tokens: u32::MAX,
    });
    let refused = too_much.err().map(|error| error.code);
    let child = sessions::delegate(&Child {
        provider: name(),
        prompt: "little".to_owned(),
        agent: None,
        options: Vec::new(),
    })?;
    Ok(format!(
        "files {files}, state {kept}, tasks {}, skills {active}, sent {}, read {}, ran {}, model \
         {}, child {}, step {}",
        tasks.tasks.len(),
        receipt.id,
        String::from_utf8_lossy(&read.bytes),
        String::from_utf8_lossy(&ran.output),
        refused.unwrap_or_default(),
        child.text,
        context.step.unwrap_or_default(),
    ))
}

fn injection() -> Injection {
    Injection {
        id: format!("{}-1", name()),
        kind: kind(),
        occurred_at: None,
        source: Source::Tool,
        delivery: None,
        requires_decision: false,
        summary: "It happened.".to_owned(),
        dedupe_key: None,
        subject: None,
        origin: Some(Origin {
            actor: Some(Actor::Agent),
            interaction_id: None,
            tool_call_id: None,
        }),
        details: None,
    }
}

fn kind() -> String {
    "background_result".to_owned()
}

fn skill() -> String {
    format!("{}-skill", name())
}

/// The setting `name`.
fn name() -> String {
    let settings = imports::settings_host::read();
    let settings: Value = serde_json::from_str(&settings).unwrap_or_default();
    let name = settings.get("name").and_then(Value::as_str);
    name.unwrap_or("everything").to_owned()
}

fn fact(name: &str, value: &str) -> Fact {
    Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}
