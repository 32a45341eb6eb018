//! Serving a batch of tool calls: checked, permitted, parallel.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::arguments;
use super::permission::{Action, Decision, Permissions};
use crate::message::ToolCall;
use crate::plugins::{
    Caller, Context, Fact, Fault, Invocation, LoadedSkill, Outcome, Plugin, PluginError, Reply,
    Tool,
};
use crate::registry::{Registry, ToolEntry};
use crate::session::EventData;
use crate::wire;

/// Serves the tool calls of a session.
pub(crate) struct ToolRunner {
    registry: Arc<Registry>,
    permissions: Permissions,
}

/// A call that was looked up and checked.
pub(crate) struct Checked<'a> {
    call: &'a ToolCall,
    verdict: Verdict<'a>,
}

enum Verdict<'a> {
    /// The record that says why it does not run.
    Refused(String),
    Good {
        entry: &'a ToolEntry,
        plugin: &'a Arc<dyn Plugin>,
        arguments: Value,
        /// What the rules say, and by what.
        action: (Action, &'static str),
    },
}

/// A call that was looked up, checked and decided: what remains is to run it, or to answer with
/// the record that says why it does not run.
pub(crate) struct Prepared {
    call: ToolCall,
    work: Result<Work, String>,
}

struct Work {
    plugin: Arc<dyn Plugin>,
    name: String,
    arguments: String,
    /// Calls with equal keys run one after another, in call order.
    queue: Option<String>,
}

/// Something that outlasts the conversation.
pub(crate) enum Known {
    Skill(LoadedSkill),
    Note {
        id: String,
        revision: String,
        text: String,
    },
    Discarded(String),
    Tools(String),
}

/// What the other calls of a batch may know of a call.
struct Heard {
    call: ToolCall,
    /// Who serves it, if it runs.
    plugin: Option<String>,
}

/// A running batch. Dropping it cancels what still runs.
pub(crate) struct Batch {
    running: usize,
    tasks: JoinSet<()>,
    finished: mpsc::UnboundedReceiver<Finished>,
}

/// The end of one call.
pub(crate) struct Finished {
    /// The result for the log.
    pub(crate) result: EventData,
    /// What it told the user.
    pub(crate) said: Option<EventData>,
    /// What it made known, and the plugin that did.
    pub(crate) facts: Vec<Known>,
    pub(crate) plugin: String,
    /// What went wrong in the plugin itself.
    pub(crate) fault: Option<String>,
    /// Whether it asks for the run to end.
    pub(crate) terminate: bool,
}

impl ToolRunner {
    pub(crate) fn new(registry: Arc<Registry>, permissions: Permissions) -> Self {
        Self {
            registry,
            permissions,
        }
    }

    /// The plugins and what each owns.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The event of a call as the model made it: the tool's own name, and who owns it.
    pub(crate) fn call_event(&self, call: &ToolCall) -> EventData {
        let entry = self.registry.tool(&call.name);
        EventData::ToolCall {
            call: ToolCall {
                name: entry.map_or(&call.name, |entry| &entry.tool.name).clone(),
                ..call.clone()
            },
            plugin: entry.map(|entry| entry.plugin.to_string()),
        }
    }

    /// Whether a call works on the task, rather than on the session's own skills, tasks or messages.
    pub(crate) fn is_of_task(&self, call: &ToolCall) -> bool {
        let entry = self.registry.tool(&call.name);
        entry.is_some_and(|entry| entry.tool.hint("protocol") != Some("true"))
    }

    /// Whether a call shows people what it does by events of its own.
    pub(crate) fn shows_itself(&self, call: &ToolCall) -> bool {
        let entry = self.registry.tool(&call.name);
        entry.is_some_and(|entry| entry.tool.hint("display") == Some("false"))
    }

    /// Looks a call up among the tools the model was `shown`, and checks its arguments against
    /// the schema.
    pub(crate) fn check<'a>(&'a self, call: &'a ToolCall, shown: bool) -> Checked<'a> {
        let entry = self.registry.tool(&call.name).filter(|_| shown);
        let found = entry.and_then(|entry| Some((entry, self.registry.plugin(&entry.plugin)?)));
        let verdict = match found {
            None => {
                let message = format!("there is no tool `{}`", call.name);
                Verdict::Refused(wire::error_record("unknown-tool", &message))
            }
            Some((entry, plugin)) => match arguments::check(entry, &call.arguments) {
                Ok(arguments) => Verdict::Good {
                    entry,
                    plugin,
                    action: self.permissions.action(&entry.tool, &arguments),
                    arguments,
                },
                Err(bad) => {
                    let parameters = &entry.tool.parameters;
                    let record = wire::argument_error_record(bad.code, &bad.message, parameters);
                    Verdict::Refused(record)
                }
            },
        };
        Checked { call, verdict }
    }

    /// Decides whether a call may run; may wait for the user. The event says how that was
    /// decided.
    pub(crate) async fn decide(&self, checked: Checked<'_>) -> (Prepared, Option<EventData>) {
        let call = checked.call;
        let refused = |record| Prepared {
            call: call.clone(),
            work: Err(record),
        };
        let (entry, plugin, arguments, action) = match checked.verdict {
            Verdict::Refused(record) => return (refused(record), None),
            Verdict::Good {
                entry,
                plugin,
                arguments,
                action,
            } => (entry, plugin, arguments, action),
        };
        let tool = &entry.tool;
        let decision = self
            .permissions
            .decide(action, &entry.plugin, tool, &arguments)
            .await;
        let prepared = if decision.allowed {
            Prepared {
                call: call.clone(),
                work: Ok(Work {
                    plugin: Arc::clone(plugin),
                    name: tool.name.clone(),
                    queue: queue_key(tool, &arguments),
                    arguments: arguments.to_string(),
                }),
            }
        } else {
            let message = format!("`{}` was not permitted ({})", tool.name, decision.by);
            refused(wire::error_record("denied", &message))
        };
        (prepared, Some(permission_event(call, tool, decision)))
    }
}

impl Checked<'_> {
    /// Refuses the call as long as the run lacks skills that it requires.
    pub(crate) fn hold(&mut self, missing: &[String]) {
        if let (Verdict::Good { entry, .. }, [first, ..]) = (&self.verdict, missing) {
            let tool = &entry.tool.name;
            let message = format!(
                "`{tool}` is held: this request requires the skill `{first}`, which is not active"
            );
            self.verdict = Verdict::Refused(wire::error_record("skill-required", &message));
        }
    }

    /// Whether the user will be asked about it.
    pub(crate) fn is_question(&self) -> bool {
        matches!(
            self.verdict,
            Verdict::Good {
                action: (Action::Ask, _),
                ..
            }
        )
    }
}

impl Heard {
    fn of(prepared: &Prepared) -> Self {
        let work = prepared.work.as_ref().ok();
        Self {
            call: ToolCall {
                name: work.map_or(&prepared.call.name, |work| &work.name).clone(),
                arguments: work.map_or("{}", |work| &work.arguments).to_owned(),
                ..prepared.call.clone()
            },
            plugin: work.map(|work| work.plugin.info().id.clone()),
        }
    }

    /// The call, without its arguments for everybody but the plugin that serves it.
    fn as_told_to(&self, plugin: Option<&str>) -> ToolCall {
        let mut call = self.call.clone();
        if plugin.is_none() || self.plugin.as_deref() != plugin {
            call.arguments = "{}".to_owned();
        }
        call
    }
}

impl Batch {
    /// Starts prepared calls: all at once, but those of one queue one after another.
    pub(crate) fn start(calls: Vec<Prepared>, context: &Context, caller: &Caller) -> Self {
        let running = calls.len();
        let all: Vec<Heard> = calls.iter().map(Heard::of).collect();
        let mut queues: Vec<Vec<(Prepared, Vec<ToolCall>)>> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (index, prepared) in calls.into_iter().enumerate() {
            let plugin = all[index].plugin.as_deref();
            let others = all.iter().enumerate().filter(|(other, _)| *other != index);
            let others = others.map(|(_, call)| call.as_told_to(plugin)).collect();
            let key = prepared
                .work
                .as_ref()
                .ok()
                .and_then(|work| work.queue.clone());
            let place = match key {
                Some(key) => *places.entry(key).or_insert(queues.len()),
                None => queues.len(),
            };
            if place == queues.len() {
                queues.push(Vec::new());
            }
            queues[place].push((prepared, others));
        }
        let (sender, finished) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for queue in queues {
            let (sender, context, caller) = (sender.clone(), context.clone(), caller.clone());
            tasks.spawn(async move {
                for (prepared, others) in queue {
                    let ended = serve(prepared, others, &context, &caller).await;
                    // Nobody listens any more once the batch is dropped.
                    let _ = sender.send(ended);
                }
            });
        }
        Self {
            running,
            tasks,
            finished,
        }
    }

    /// The next call that ends; `None` when all have.
    pub(crate) async fn next(&mut self) -> Option<Finished> {
        let finished = self.finished.recv().await?;
        self.running -= 1;
        Some(finished)
    }

    /// Whether all calls have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.running == 0
    }

    /// Ends what still runs and waits until it has: what a call holds (child processes, files)
    /// is released when this returns.
    pub(crate) async fn cancel(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn serve(
    prepared: Prepared,
    batch: Vec<ToolCall>,
    context: &Context,
    caller: &Caller,
) -> Finished {
    let call_id = prepared.call.id.clone();
    let failed = |text| Finished {
        result: EventData::ToolResult {
            call_id: call_id.clone(),
            text,
            is_error: true,
            details: None,
            artifact: None,
        },
        said: None,
        facts: Vec::new(),
        plugin: String::new(),
        fault: None,
        terminate: false,
    };
    let work = match prepared.work {
        Ok(work) => work,
        Err(record) => return failed(record),
    };
    let invocation = Invocation {
        call: ToolCall {
            id: prepared.call.id,
            name: work.name,
            arguments: work.arguments,
        },
        batch,
    };
    let caller = Caller {
        call_id: Some(call_id.clone()),
        ..caller.clone()
    };
    match work.plugin.call(&invocation, context, &caller).await {
        Ok(Outcome::Done(Reply {
            text,
            details,
            artifact,
            terminate,
            facts,
        })) => Finished {
            said: said(&call_id, &facts, terminate),
            facts: known(&facts),
            fault: None,
            plugin: work.plugin.info().id.clone(),
            result: EventData::ToolResult {
                call_id,
                text,
                is_error: false,
                details,
                artifact: artifact.map(|artifact| artifact.inside(context.cwd.as_deref())),
            },
            terminate,
        },
        Ok(Outcome::NeedsUser { title }) => failed(wire::error_record(
            "unserved",
            &format!("this host cannot ask the user: {title}"),
        )),
        Err(error) => Finished {
            fault: match error.fault {
                Fault::Domain(_) => None,
                _ => Some(error.to_string()),
            },
            ..failed(fault_record(&error))
        },
    }
}

/// What a call told the user: the fact `message`, with `intent` and `deviations` (JSON).
fn said(call_id: &str, facts: &[Fact], terminate: bool) -> Option<EventData> {
    let fact = |name: &str| {
        let fact = facts.iter().find(|fact| fact.name == name)?;
        Some(fact.value.clone())
    };
    Some(EventData::Yield {
        call_id: call_id.to_owned(),
        message: fact("message")?,
        block_on_user: terminate,
        intent: fact("intent"),
        deviations: fact("deviations")
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
    })
}

/// What a call made known, by the facts of its reply.
fn known(facts: &[Fact]) -> Vec<Known> {
    #[derive(serde::Deserialize)]
    struct Note {
        id: String,
        revision: String,
        text: String,
    }
    let known = facts.iter().filter_map(|fact| match fact.name.as_str() {
        "skill-activated" => serde_json::from_str(&fact.value).ok().map(Known::Skill),
        "note-read" => {
            let Note { id, revision, text } = serde_json::from_str(&fact.value).ok()?;
            Some(Known::Note { id, revision, text })
        }
        "tools-loaded" => Some(Known::Tools(fact.value.clone())),
        "note-discarded" => Some(Known::Discarded(fact.value.clone())),
        _ => None,
    });
    known.collect()
}

/// What the model sees of a failed call: the plugin's own words for its own errors, the fault
/// with the plugin's name for all others.
fn fault_record(error: &PluginError) -> String {
    match &error.fault {
        Fault::Domain(domain) => wire::error_record(&domain.code, &domain.message),
        Fault::Limit { .. } => wire::error_record("plugin-limit", &error.to_string()),
        Fault::Quarantined { .. } => wire::error_record("plugin-quarantined", &error.to_string()),
        Fault::Busy { .. } => wire::error_record("plugin-busy", &error.to_string()),
        _ => wire::error_record("plugin-fault", &error.to_string()),
    }
}

/// The hint `exclusive` names an argument: calls with an equal value of it share a queue.
fn queue_key(tool: &Tool, arguments: &Value) -> Option<String> {
    let value = arguments.get(tool.hint("exclusive")?)?;
    Some(value.to_string())
}

fn permission_event(call: &ToolCall, tool: &Tool, decision: Decision) -> EventData {
    EventData::Permission {
        call_id: call.id.clone(),
        tool: tool.name.clone(),
        allowed: decision.allowed,
        by: decision.by.to_owned(),
    }
}
