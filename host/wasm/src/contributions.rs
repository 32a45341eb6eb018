//! Between the contract's types and core's.

use raddle_core::message::ToolCall;
use raddle_core::plugins::{
    Agent, Content, Context, Entry, Environment, Fact, Fault, Guidance, InjectionKind, Invocation,
    Lifetime, Outcome, Reply, Section, Tool, Variable,
};
use raddle_core::session::injection::{Coalescing, Delivery, Kind, Subject};
use serde_json::Value;

use crate::bindings::{agents, injections, sections, tools, types, variables};

/// `environment` as the plugin gets it; `files` are what its settings declare.
pub(crate) fn environment(environment: &Environment, files: &[types::File]) -> types::Environment {
    types::Environment {
        agents: environment.agents.iter().map(entry).collect(),
        providers: Vec::new(),
        tools: environment.tools.iter().map(entry).collect(),
        connections: Vec::new(),
        files: files.to_vec(),
        facts: environment.facts.iter().map(fact_out).collect(),
    }
}

/// `context` as the plugin gets it.
pub(crate) fn context(context: &Context) -> types::Context {
    types::Context {
        agent: context.agent.clone(),
        model: context.model.clone(),
        prompt_variant: context.prompt_variant.clone(),
        session: context.session.clone(),
        cwd: context.cwd.clone(),
        turn: context.turn,
        step: context.step,
        now: context.now.clone(),
        facts: context.facts.iter().map(fact_out).collect(),
    }
}

/// `invocation` as the plugin gets it.
pub(crate) fn invocation(invocation: &Invocation) -> tools::Invocation {
    tools::Invocation {
        call: tool_call(&invocation.call),
        batch: invocation.batch.iter().map(tool_call).collect(),
        answer: None,
    }
}

fn tool_call(call: &ToolCall) -> types::ToolCall {
    types::ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    }
}

pub(crate) fn section(section: sections::Section) -> Section {
    Section {
        name: section.name,
        order: section.order,
        verbatim: section.verbatim,
        lifetime: lifetime(section.lifetime),
        content: content(section.content),
    }
}

pub(crate) fn variable(variable: variables::Variable) -> Variable {
    Variable {
        name: variable.name,
        lifetime: lifetime(variable.lifetime),
        content: content(variable.content),
    }
}

/// A tool whose parameters are a JSON object, or the fault.
pub(crate) fn tool(tool: tools::Tool) -> Result<Tool, Fault> {
    let parameters = match serde_json::from_str(&tool.parameters) {
        Ok(parameters @ Value::Object(_)) => parameters,
        Ok(_) => {
            return Err(Fault::Malformed {
                message: format!("parameters of tool `{}` are not a JSON object", tool.name),
            });
        }
        Err(error) => {
            return Err(Fault::Malformed {
                message: format!("parameters of tool `{}` are not JSON: {error}", tool.name),
            });
        }
    };
    Ok(Tool {
        name: tool.name,
        description: tool.description,
        parameters,
        guidance: tool.guidance.map(|guidance| Guidance {
            order: guidance.order,
            text: guidance.text,
        }),
        hints: facts(tool.hints),
    })
}

pub(crate) fn agent(agent: agents::Agent) -> Agent {
    Agent {
        name: agent.name,
        description: agent.description,
        model: agent.model,
        tools: agent.tools,
        metadata: facts(agent.metadata),
    }
}

pub(crate) fn injection_kind(kind: injections::Kind) -> InjectionKind {
    InjectionKind {
        order: kind.order,
        meaning: kind.meaning,
        kind: Kind {
            name: kind.name,
            delivery: delivery(kind.delivery),
            coalescing: match kind.coalescing {
                injections::Coalescing::KeepAll => Coalescing::KeepAll,
                injections::Coalescing::SameKind => Coalescing::SameKind,
                injections::Coalescing::SameSubject => Coalescing::SameSubject,
            },
            passive: kind.passive,
            attributed: kind.attributed,
        },
    }
}

pub(crate) fn delivery(delivery: types::Delivery) -> Delivery {
    match delivery {
        types::Delivery::NextTurn => Delivery::NextTurn,
        types::Delivery::Steer => Delivery::Steer,
        types::Delivery::FollowUp => Delivery::FollowUp,
    }
}

pub(crate) fn subject(subject: types::Subject) -> Subject {
    Subject {
        reference: subject.reference,
        path: subject.path,
        revision: subject.revision,
    }
}

/// How a tool call ended, or the fault in what it says.
pub(crate) fn outcome(outcome: tools::Outcome) -> Result<Outcome, Fault> {
    match outcome {
        tools::Outcome::Done(reply) => {
            let details = match reply.details.map(|details| serde_json::from_str(&details)) {
                None => None,
                Some(Ok(details)) => Some(details),
                Some(Err(error)) => {
                    return Err(Fault::Malformed {
                        message: format!("details of the reply are not JSON: {error}"),
                    });
                }
            };
            Ok(Outcome::Done(Reply {
                text: reply.text,
                details,
                artifact: reply.artifact.map(subject),
                terminate: reply.terminate,
                facts: facts(reply.facts),
            }))
        }
        tools::Outcome::NeedsUser(action) => Ok(Outcome::NeedsUser {
            title: action.title,
        }),
    }
}

fn lifetime(lifetime: types::Lifetime) -> Lifetime {
    match lifetime {
        types::Lifetime::Deployment => Lifetime::Deployment,
        types::Lifetime::Session => Lifetime::Session,
        types::Lifetime::Turn => Lifetime::Turn,
        types::Lifetime::Step => Lifetime::Step,
    }
}

fn content(content: types::Content) -> Content {
    match content {
        types::Content::Fixed(text) => Content::Fixed(text),
        types::Content::Computed => Content::Computed,
    }
}

fn entry(entry: &Entry) -> types::Entry {
    types::Entry {
        name: entry.name.clone(),
        description: entry.description.clone(),
    }
}

fn fact_out(fact: &Fact) -> types::Fact {
    types::Fact {
        name: fact.name.clone(),
        value: fact.value.clone(),
    }
}

fn facts(facts: Vec<types::Fact>) -> Vec<Fact> {
    facts
        .into_iter()
        .map(|fact| Fact {
            name: fact.name,
            value: fact.value,
        })
        .collect()
}
