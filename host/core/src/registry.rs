//! Who owns what: everything the plugins of a deployment contribute, with exactly one owner for
//! each name. The order in which plugins are given never matters.

mod build;
mod contributions;
mod fault;
mod tool;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use contributions::{Contribution, contributions};
pub use fault::{Kind, RegistryFault};
pub use tool::{ToolEntry, wire_name};

use crate::plugins::{
    Agent, Environment, Filter, FilterTarget, Lifetime, Plugin, Question, SkillEntry,
    SubagentProvider,
};
use crate::prompt::template::{PlacedFault, Position, Template, TemplateFault, nearest};
use crate::prompt::{TemplateError, ToolList};
use crate::session::injection;

/// The section the active agent's body fills.
pub const PERSONA: &str = "agent:persona";
/// Order of the persona.
pub const PERSONA_ORDER: i32 = 0;
/// A tool's guidance is the section of this prefix and the tool's name.
const GUIDANCE_PREFIX: &str = "tool:";
/// What an injection kind means is the section of this prefix and the kind's name.
const MEANING_PREFIX: &str = "injection:";

/// The checked contributions of one set of plugins. Immutable, and shared by all sessions.
pub struct Registry {
    plugins: Vec<Arc<dyn Plugin>>,
    sections: Vec<SectionEntry>,
    variables: Vec<VariableEntry>,
    tools: Vec<ToolEntry>,
    tool_by_wire: HashMap<String, usize>,
    agents: Vec<AgentEntry>,
    injection_kinds: Vec<injection::Kind>,
    skills: Vec<OwnedSkill>,
    providers: Vec<OwnedProvider>,
    /// In the order they run.
    filters: Vec<OwnedFilter>,
    /// Index of the plugin that exports it.
    compaction: Option<usize>,
    knowledge: Option<usize>,
    all_tools: Arc<ToolList>,
    environment: Environment,
    deployment_answers: Mutex<HashMap<Question, Option<Arc<str>>>>,
}

/// What a deployment says about the registry.
#[derive(Debug, Clone, Default)]
pub struct RegistryOptions {
    /// `[tools] order`: these tools first, in this order; the others follow by name.
    pub tool_order: Option<Vec<String>>,
    /// `[filters] order`: these filters first, in this order; the others follow by name.
    pub filter_order: Vec<String>,
}

/// A section and its owner.
#[derive(Debug, Clone)]
pub struct SectionEntry {
    /// Its name.
    pub name: Arc<str>,
    /// Id of the plugin that owns it.
    pub plugin: Arc<str>,
    /// Ascending, then by name.
    pub order: i32,
    /// How long its text stays.
    pub lifetime: Lifetime,
    /// Whether its text is never scanned.
    pub verbatim: bool,
    /// The tool whose guidance it is.
    pub tool: Option<String>,
    pub(crate) owner: usize,
    /// `None` is a computed text.
    pub(crate) fixed: Option<Arc<Linked>>,
}

/// A variable and its owner.
#[derive(Debug, Clone)]
pub struct VariableEntry {
    /// Its name.
    pub name: Arc<str>,
    /// Id of the plugin that owns it.
    pub plugin: Arc<str>,
    /// How long its value stays.
    pub lifetime: Lifetime,
    pub(crate) owner: usize,
    /// `None` is a computed value.
    pub(crate) fixed: Option<Arc<str>>,
}

/// An agent and its owner.
#[derive(Debug, Clone)]
pub struct AgentEntry {
    /// The agent as offered.
    pub agent: Agent,
    /// Id of the plugin that owns it.
    pub plugin: Arc<str>,
    pub(crate) owner: usize,
    /// The tools it may see; `None` is all.
    visible_tools: Option<Arc<ToolList>>,
}

/// A skill and its owner.
#[derive(Debug, Clone)]
struct OwnedSkill {
    skill: SkillEntry,
    owner: usize,
}

/// A subagent provider and its owner.
#[derive(Debug, Clone)]
struct OwnedProvider {
    provider: SubagentProvider,
    owner: usize,
}

/// A filter and its owner.
#[derive(Debug, Clone)]
struct OwnedFilter {
    filter: Filter,
    owner: usize,
}

/// A template whose references are known variables.
#[derive(Debug)]
pub(crate) struct Linked {
    pub(crate) template: Template,
    /// Index of the variable of each reference.
    pub(crate) variables: Box<[usize]>,
}

/// The section a template is the text of.
pub(crate) struct Place<'a> {
    pub(crate) section: &'a str,
    pub(crate) plugin: &'a str,
    pub(crate) lifetime: Lifetime,
    /// Whether the author declared the lifetime.
    pub(crate) declared: bool,
}

impl AgentEntry {
    /// Whether the agent may see a tool.
    pub fn sees(&self, tool: &str) -> bool {
        self.agent.tools.is_empty() || self.agent.tools.iter().any(|name| name == tool)
    }
}

impl Registry {
    /// Builds the registry, or gives every fault there is. `environment` is the one the offers
    /// were made in.
    pub fn build(
        contributions: Vec<Contribution>,
        environment: Environment,
        options: &RegistryOptions,
    ) -> Result<Self, Vec<RegistryFault>> {
        let (registry, faults) = Self::build_all(contributions, environment, options);
        if faults.is_empty() {
            Ok(registry)
        } else {
            Err(faults)
        }
    }

    /// The plugins, sorted by id.
    pub fn plugins(&self) -> &[Arc<dyn Plugin>] {
        &self.plugins
    }

    /// A plugin by id.
    pub fn plugin(&self, id: &str) -> Option<&Arc<dyn Plugin>> {
        self.plugins
            .binary_search_by(|plugin| plugin.info().id.as_str().cmp(id))
            .ok()
            .map(|index| &self.plugins[index])
    }

    /// All sections but the persona, tool guidance included, in the order of the prompt.
    pub fn sections(&self) -> &[SectionEntry] {
        &self.sections
    }

    /// All variables, by name.
    pub fn variables(&self) -> &[VariableEntry] {
        &self.variables
    }

    /// All tools, in the order they are sent.
    pub fn tools(&self) -> &[ToolEntry] {
        &self.tools
    }

    /// The tools that start children: those of plugins that import `sessions`.
    pub fn tools_for_children(&self) -> impl Iterator<Item = &ToolEntry> {
        let starts = |entry: &&ToolEntry| {
            let plugin = self.plugin(&entry.plugin);
            plugin.is_some_and(|plugin| plugin.info().imports("sessions"))
        };
        self.tools.iter().filter(starts)
    }

    /// A tool by its name or its name on the wire.
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tool_by_wire
            .get(&wire_name(name))
            .map(|index| &self.tools[*index])
    }

    /// The kinds of injections, by name.
    pub fn injection_kinds(&self) -> &[injection::Kind] {
        &self.injection_kinds
    }

    /// The skills that the host can make active, by name.
    pub fn skills(&self) -> impl Iterator<Item = &SkillEntry> {
        self.skills.iter().map(|owned| &owned.skill)
    }

    /// The plugin that owns a skill.
    pub fn skill_owner(&self, name: &str) -> Option<&Arc<dyn Plugin>> {
        let found = self.skills.iter().find(|owned| owned.skill.name == name);
        found.map(|owned| &self.plugins[owned.owner])
    }

    /// The subagent providers, by name.
    pub fn providers(&self) -> impl Iterator<Item = &SubagentProvider> {
        self.providers.iter().map(|owned| &owned.provider)
    }

    /// A subagent provider and the plugin that owns it.
    pub fn provider(&self, name: &str) -> Option<(&SubagentProvider, &Arc<dyn Plugin>)> {
        let mut providers = self.providers.iter();
        let owned = providers.find(|owned| owned.provider.name == name)?;
        Some((&owned.provider, &self.plugins[owned.owner]))
    }

    /// The filters of one kind, in the order they run, each with the plugin that owns it.
    pub fn filters(&self, target: FilterTarget) -> impl Iterator<Item = (&str, &Arc<dyn Plugin>)> {
        let filters = self.filters.iter();
        let filters = filters.filter(move |owned| owned.filter.target == target);
        filters.map(|owned| (&*owned.filter.name, &self.plugins[owned.owner]))
    }

    /// The plugin that decides about compaction.
    pub fn compaction(&self) -> Option<&Arc<dyn Plugin>> {
        self.compaction.map(|index| &self.plugins[index])
    }

    /// The plugin that knows of notes.
    pub fn knowledge(&self) -> Option<&Arc<dyn Plugin>> {
        self.knowledge.map(|index| &self.plugins[index])
    }

    /// The plugins that look for what happens outside.
    pub fn watchers(&self) -> impl Iterator<Item = &Arc<dyn Plugin>> {
        let plugins = self.plugins.iter();
        plugins.filter(|plugin| plugin.info().exports("watchers"))
    }

    /// All agents, by name.
    pub fn agents(&self) -> &[AgentEntry] {
        &self.agents
    }

    /// An agent by name.
    pub fn agent(&self, name: &str) -> Option<&AgentEntry> {
        self.agents
            .binary_search_by(|entry| entry.agent.name.as_str().cmp(name))
            .ok()
            .map(|index| &self.agents[index])
    }

    /// The environment the contributions were made in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn variable_index(&self, name: &str) -> Option<usize> {
        self.variables
            .binary_search_by(|entry| (*entry.name).cmp(name))
            .ok()
    }

    /// The tools an agent may see, or without one all.
    pub(crate) fn visible_tools(&self, agent: Option<&AgentEntry>) -> Arc<ToolList> {
        let listed = agent.and_then(|entry| entry.visible_tools.as_ref());
        Arc::clone(listed.unwrap_or(&self.all_tools))
    }

    /// Parses a text and finds its variables, or gives every fault in it.
    pub(crate) fn link(
        &self,
        place: &Place<'_>,
        text: &str,
        verbatim: bool,
    ) -> Result<Linked, Vec<TemplateError>> {
        if verbatim {
            return Ok(Linked {
                template: Template::verbatim(text),
                variables: Box::default(),
            });
        }
        let (template, mut faults) = Template::scan(text);
        let mut variables = Vec::with_capacity(template.references().len());
        for reference in template.references() {
            match self.resolve(place, &reference.name) {
                Ok(index) => variables.push(index),
                Err(fault) => faults.push(PlacedFault {
                    position: Position::of(text, reference.at),
                    fault,
                }),
            }
        }
        if faults.is_empty() {
            return Ok(Linked {
                template,
                variables: variables.into(),
            });
        }
        faults.sort_by_key(|fault| fault.position);
        let error = |PlacedFault { position, fault }| TemplateError {
            section: place.section.to_owned(),
            plugin: place.plugin.to_owned(),
            position,
            usable: self.usable_variables(place, &fault),
            fault,
        };
        Err(faults.into_iter().map(error).collect())
    }

    /// The variable a reference means.
    fn resolve(&self, place: &Place<'_>, name: &str) -> Result<usize, TemplateFault> {
        let Some(index) = self.variable_index(name) else {
            let names = self.variables.iter().map(|variable| &*variable.name);
            return Err(TemplateFault::Unknown {
                name: name.to_owned(),
                near: nearest(name, names).map(str::to_owned),
            });
        };
        let variable = &self.variables[index];
        if variable.lifetime <= place.lifetime {
            return Ok(index);
        }
        Err(TemplateFault::ShorterLived {
            name: name.to_owned(),
            owner: variable.plugin.to_string(),
            lifetime: variable.lifetime,
            promised: place.lifetime,
            declared: place.declared,
        })
    }

    fn usable_variables(&self, place: &Place<'_>, fault: &TemplateFault) -> Vec<String> {
        let all = !matches!(fault, TemplateFault::ShorterLived { .. });
        self.variables
            .iter()
            .filter(|variable| all || variable.lifetime <= place.lifetime)
            .map(|variable| variable.name.to_string())
            .collect()
    }

    /// The answer given to a deployment-lived question, for every session the same.
    pub(crate) fn deployment_answer(&self, question: &Question) -> Option<Option<Arc<str>>> {
        self.deployment_answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(question)
            .cloned()
    }

    /// Keeps an answer; if two sessions asked at the same time, both get the first.
    pub(crate) fn keep_deployment_answer(
        &self,
        question: Question,
        answer: Option<Arc<str>>,
    ) -> Option<Arc<str>> {
        self.deployment_answers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(question)
            .or_insert(answer)
            .clone()
    }
}
