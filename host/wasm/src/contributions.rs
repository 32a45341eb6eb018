//! Between the contract's types and core's.

use raddle_core::message::{AssistantMessage, Finish, Message, Part, ToolCall, ToolResult};
use raddle_core::plugins::{
    Agent, AssemblyEdit, Assignment, ChildOutcome, Content, Context, Entry, Environment, Fact,
    Fault, Filter, FilterTarget, FilteredAssembly, FilteredRequest, Guidance, InjectionKind,
    Invocation, Lifetime, LoadedSkill, Moment, Occasion, Outcome, PlacedText, Pressure, Reply,
    RequestEdit, Section, SkillEntry, SubagentProvider, Tool, Variable,
};
use raddle_core::session::injection::{Coalescing, Delivery, Kind, Subject};
use raddle_core::session::skills::{SkillKind, SkillStep};
use serde_json::Value;

use crate::bindings::{
    agents, compaction, filters, injections, sections, skills, subagents, tools, types, variables,
    watchers,
};

/// `environment` as the plugin gets it; `files` are what its settings declare.
pub(crate) fn environment(environment: &Environment, files: &[types::File]) -> types::Environment {
    types::Environment {
        agents: environment.agents.iter().map(entry).collect(),
        providers: environment.providers.iter().map(provider_out).collect(),
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
        handoffs: agent.handoffs,
        skills: agent.skills,
        variants: agent.variants,
        intents: agent.intents,
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

pub(crate) fn provider(provider: types::Provider) -> SubagentProvider {
    SubagentProvider {
        name: provider.name,
        inherits_parent_context: provider.inherits_parent_context,
        capabilities: provider.capabilities,
    }
}

fn provider_out(provider: &SubagentProvider) -> types::Provider {
    types::Provider {
        name: provider.name.clone(),
        inherits_parent_context: provider.inherits_parent_context,
        capabilities: provider.capabilities.clone(),
    }
}

pub(crate) fn filter(filter: filters::Filter) -> Filter {
    Filter {
        name: filter.name,
        target: match filter.target {
            filters::Target::Assembly => FilterTarget::Assembly,
            filters::Target::Request => FilterTarget::Request,
        },
    }
}

/// `assembly` as the plugin gets it.
pub(crate) fn assembly(assembly: &FilteredAssembly) -> filters::Assembly {
    let sections = assembly.sections.iter().map(|section| filters::Part {
        name: section.name.clone(),
        owner: section.owner.clone(),
        order: section.order,
        lifetime: lifetime_out(section.lifetime),
        verbatim: section.verbatim,
        text: section.text.clone(),
    });
    filters::Assembly {
        sections: sections.collect(),
        variables: assembly.variables.iter().map(fact_out).collect(),
    }
}

pub(crate) fn assembly_edit(edit: filters::AssemblyEdit) -> AssemblyEdit {
    match edit {
        filters::AssemblyEdit::DropSection(name) => AssemblyEdit::DropSection(name),
        filters::AssemblyEdit::PutSection(placed) => AssemblyEdit::PutSection(PlacedText {
            name: placed.name,
            order: placed.order,
            verbatim: placed.verbatim,
            text: placed.text,
        }),
        filters::AssemblyEdit::DropVariable(name) => AssemblyEdit::DropVariable(name),
        filters::AssemblyEdit::PutVariable(fact) => AssemblyEdit::PutVariable(Fact {
            name: fact.name,
            value: fact.value,
        }),
    }
}

/// `request` as the plugin gets it.
pub(crate) fn request(request: &FilteredRequest) -> filters::Request {
    let options = request.options.iter().map(|(name, value)| types::Fact {
        name: name.clone(),
        value: value.to_string(),
    });
    filters::Request {
        model: request.model.clone(),
        options: options.collect(),
    }
}

/// An edit whose value is JSON, or the fault.
pub(crate) fn request_edit(edit: filters::RequestEdit) -> Result<RequestEdit, Fault> {
    Ok(match edit {
        filters::RequestEdit::UseModel(model) => RequestEdit::UseModel(model),
        filters::RequestEdit::DropOption(name) => RequestEdit::DropOption(name),
        filters::RequestEdit::SetOption(fact) => {
            let value = serde_json::from_str(&fact.value).map_err(|error| Fault::Malformed {
                message: format!("the value of option `{}` is not JSON: {error}", fact.name),
            })?;
            RequestEdit::SetOption(fact.name, value)
        }
    })
}

/// `assignment` as the plugin gets it.
pub(crate) fn assignment(assignment: &Assignment) -> subagents::Assignment {
    subagents::Assignment {
        provider: assignment.provider.clone(),
        session: assignment.session.clone(),
        prompt: assignment.prompt.clone(),
        agent: assignment.agent.clone(),
        options: assignment.options.iter().map(fact_out).collect(),
    }
}

/// An outcome whose details are JSON, or the fault.
pub(crate) fn child_outcome(outcome: subagents::Outcome) -> Result<ChildOutcome, Fault> {
    let details = outcome.details.map(|details| {
        serde_json::from_str(&details).map_err(|error| Fault::Malformed {
            message: format!("details of the outcome are not JSON: {error}"),
        })
    });
    Ok(ChildOutcome {
        text: outcome.text,
        details: details.transpose()?,
    })
}

pub(crate) fn skill(skill: skills::Skill) -> SkillEntry {
    SkillEntry {
        name: skill.name,
        description: skill.description,
        kind: skill_kind(skill.workflow),
        path: skill.path,
        metadata: facts(skill.metadata),
    }
}

pub(crate) fn loaded_skill(loaded: skills::Loaded) -> LoadedSkill {
    LoadedSkill {
        name: loaded.name,
        kind: skill_kind(loaded.workflow),
        path: loaded.path,
        required_by: loaded.required_by,
        text: loaded.text,
        steps: loaded
            .steps
            .into_iter()
            .map(|step| SkillStep {
                number: step.number,
                text: step.text,
                optional: step.optional,
            })
            .collect(),
    }
}

fn skill_kind(workflow: bool) -> SkillKind {
    match workflow {
        true => SkillKind::Workflow,
        false => SkillKind::Reference,
    }
}

/// `occasion` as the plugin gets it.
pub(crate) fn occasion(occasion: &Occasion) -> watchers::Occasion {
    watchers::Occasion {
        moment: match occasion.moment {
            Moment::Step => watchers::Moment::Step,
            Moment::Idle => watchers::Moment::Idle,
        },
        first: occasion.first,
        calls: occasion
            .calls
            .iter()
            .map(|call| watchers::EndedCall {
                id: call.id.clone(),
                name: call.name.clone(),
                kind: call.kind.clone(),
                artifact: call.artifact.as_ref().map(subject_out),
            })
            .collect(),
        faults: occasion
            .faults
            .iter()
            .map(|fault| watchers::RuntimeFault {
                id: fault.id.clone(),
                code: fault.code.clone(),
                message: fault.message.clone(),
            })
            .collect(),
    }
}

/// `pressure` as the plugin gets it.
pub(crate) fn pressure(pressure: &Pressure) -> compaction::Pressure {
    let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    compaction::Pressure {
        prompt_tokens: count(pressure.prompt_tokens),
        fixed_tokens: count(pressure.fixed_tokens),
        window_tokens: pressure.window_tokens.map(count),
        messages: u32::try_from(pressure.messages).unwrap_or(u32::MAX),
        attempts: pressure.attempts,
        asked: pressure.asked,
    }
}

/// `message` as the plugin gets it: words and calls. Reasoning is the provider's own.
pub(crate) fn message(message: &Message) -> types::Message {
    let plain = |role, text: &str| types::Message {
        role,
        text: text.to_owned(),
        calls: Vec::new(),
        answers: None,
        facts: Vec::new(),
    };
    match message {
        Message::Developer { text } => plain(types::Role::Developer, text),
        Message::User { text } => plain(types::Role::User, text),
        Message::Tool(result) => types::Message {
            answers: Some(result.call_id.clone()),
            ..plain(types::Role::Tool, &result.text)
        },
        Message::Assistant(answer) => types::Message {
            calls: answer.calls().map(tool_call).collect(),
            ..plain(types::Role::Assistant, &answer.text())
        },
    }
}

/// A message as a plugin wants it sent.
pub(crate) fn message_in(message: types::Message) -> Message {
    let text = message.text;
    match message.role {
        types::Role::Developer => Message::Developer { text },
        types::Role::User => Message::User { text },
        types::Role::Tool => Message::Tool(ToolResult {
            call_id: message.answers.unwrap_or_default(),
            text,
            is_error: false,
        }),
        types::Role::Assistant => {
            let said = (!text.is_empty()).then_some(Part::Text { text });
            let calls = message.calls.into_iter().map(|call| {
                Part::Call(ToolCall {
                    id: call.id,
                    name: call.name,
                    arguments: call.arguments,
                })
            });
            Message::Assistant(AssistantMessage {
                parts: said.into_iter().chain(calls).collect(),
                finish: Finish::Stop,
            })
        }
    }
}

fn subject_out(subject: &Subject) -> types::Subject {
    types::Subject {
        reference: subject.reference.clone(),
        path: subject.path.clone(),
        revision: subject.revision.clone(),
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

fn lifetime_out(lifetime: Lifetime) -> types::Lifetime {
    match lifetime {
        Lifetime::Deployment => types::Lifetime::Deployment,
        Lifetime::Session => types::Lifetime::Session,
        Lifetime::Turn => types::Lifetime::Turn,
        Lifetime::Step => types::Lifetime::Step,
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

pub(crate) fn facts(facts: Vec<types::Fact>) -> Vec<Fact> {
    facts
        .into_iter()
        .map(|fact| Fact {
            name: fact.name,
            value: fact.value,
        })
        .collect()
}
