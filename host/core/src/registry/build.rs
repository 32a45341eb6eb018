//! Checking the offers: one owner for each name, and every reference fits.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::tool::{LONGEST_WIRE_NAME, is_tool_name};
use super::{
    AgentEntry, Contribution, GUIDANCE_PREFIX, Kind, MEANING_PREFIX, OwnedFilter, OwnedProvider,
    OwnedSkill, PERSONA, Place, Registry, RegistryFault, RegistryOptions, SectionEntry, ToolEntry,
    VariableEntry, wire_name,
};
use crate::plugins::{
    Agent, Content, Environment, InjectionKind, Lifetime, Offer, Plugin, Section, Tool, Variable,
};
use crate::prompt::ToolList;
use crate::prompt::template::is_variable_name;
use crate::session::injection;
use crate::trust::RESERVED_TAGS;

impl Registry {
    /// Builds as much of a registry as is free of faults, and lists the faults.
    pub(super) fn build_all(
        mut contributions: Vec<Contribution>,
        environment: Environment,
        options: &RegistryOptions,
    ) -> (Self, Vec<RegistryFault>) {
        contributions.sort_by(|a, b| a.plugin.info().id.cmp(&b.plugin.info().id));
        let mut builder = Builder::default();
        let mut plugins = Vec::with_capacity(contributions.len());
        for (owner, Contribution { plugin, offer }) in contributions.into_iter().enumerate() {
            let id: Arc<str> = plugin.info().id.as_str().into();
            if builder.ids.insert(Arc::clone(&id)) {
                builder.take(owner, &id, offer);
            } else {
                builder.faults.push(RegistryFault::DuplicatePlugin {
                    plugin: id.to_string(),
                });
            }
            plugins.push(plugin);
        }
        builder.order_tools(options);
        builder.order_filters(&options.filter_order);
        builder.check_agents();
        let Builder {
            mut faults,
            mut variables,
            mut agents,
            mut injection_kinds,
            mut skills,
            mut providers,
            filters,
            tools,
            sections,
            ..
        } = builder;
        skills.sort_by(|a: &OwnedSkill, b| a.skill.name.cmp(&b.skill.name));
        providers.sort_by(|a: &OwnedProvider, b| a.provider.name.cmp(&b.provider.name));
        let compaction = only_exporter("compaction", &plugins, &mut faults);
        let knowledge = only_exporter("knowledge", &plugins, &mut faults);
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        injection_kinds.sort_by(|a, b| a.name.cmp(&b.name));
        agents.sort_by(|a, b| a.agent.name.cmp(&b.agent.name));
        let tool_by_wire = tools
            .iter()
            .enumerate()
            .map(|(index, entry)| (entry.schema.name.clone(), index))
            .collect();
        let listed = |tool: &&ToolEntry, agent: &AgentEntry| agent.sees(&tool.tool.name);
        for agent in agents
            .iter_mut()
            .filter(|entry| !entry.agent.tools.is_empty())
        {
            let visible = tools.iter().filter(|tool| listed(tool, agent));
            agent.visible_tools = Some(Arc::new(ToolList::of(visible)));
        }
        let mut registry = Self {
            all_tools: Arc::new(ToolList::of(tools.iter())),
            plugins,
            sections: Vec::new(),
            variables,
            tools,
            tool_by_wire,
            agents,
            injection_kinds,
            skills,
            providers,
            filters,
            compaction,
            knowledge,
            environment,
            deployment_answers: Mutex::default(),
        };
        let mut linked = Vec::with_capacity(sections.len());
        for (mut entry, text) in sections {
            if let Some(text) = text {
                let place = Place {
                    section: &entry.name,
                    plugin: &entry.plugin,
                    lifetime: entry.lifetime,
                    declared: entry.tool.is_none(),
                };
                match registry.link(&place, &text, entry.verbatim) {
                    Ok(template) => entry.fixed = Some(Arc::new(template)),
                    Err(errors) => faults.extend(errors.into_iter().map(Into::into)),
                }
            }
            linked.push(entry);
        }
        linked.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        registry.sections = linked;
        (registry, faults)
    }
}

#[derive(Default)]
struct Builder {
    faults: Vec<RegistryFault>,
    ids: HashSet<Arc<str>>,
    owners: HashMap<(Kind, String), Arc<str>>,
    variables: Vec<VariableEntry>,
    agents: Vec<AgentEntry>,
    tools: Vec<ToolEntry>,
    /// With their fixed texts, which can be linked only when all variables are known.
    sections: Vec<(SectionEntry, Option<String>)>,
    injection_kinds: Vec<injection::Kind>,
    skills: Vec<OwnedSkill>,
    providers: Vec<OwnedProvider>,
    filters: Vec<OwnedFilter>,
}

impl Builder {
    fn take(&mut self, owner: usize, plugin: &Arc<str>, offer: Offer) {
        for variable in offer.variables {
            self.take_variable(owner, plugin, variable);
        }
        for section in offer.sections {
            self.take_section(owner, plugin, section);
        }
        for tool in offer.tools {
            self.take_tool(owner, plugin, tool);
        }
        for agent in offer.agents {
            self.take_agent(owner, plugin, agent);
        }
        for kind in offer.injections {
            self.take_injection_kind(owner, plugin, kind);
        }
        for skill in offer.skills {
            if self.claim(Kind::Skill, &skill.name, plugin, is_skill_name) {
                self.skills.push(OwnedSkill { skill, owner });
            }
        }
        for provider in offer.providers {
            if self.claim(Kind::Provider, &provider.name, plugin, is_agent_name) {
                self.providers.push(OwnedProvider { provider, owner });
            }
        }
        for filter in offer.filters {
            if self.claim(Kind::Filter, &filter.name, plugin, is_agent_name) {
                self.filters.push(OwnedFilter { filter, owner });
            }
        }
    }

    fn take_variable(&mut self, owner: usize, plugin: &Arc<str>, variable: Variable) {
        if self.claim(Kind::Variable, &variable.name, plugin, is_variable_name) {
            self.variables.push(VariableEntry {
                name: variable.name.into(),
                plugin: Arc::clone(plugin),
                lifetime: variable.lifetime,
                owner,
                fixed: match variable.content {
                    Content::Fixed(value) => Some(value.into()),
                    Content::Computed => None,
                },
            });
        }
    }

    fn take_section(&mut self, owner: usize, plugin: &Arc<str>, section: Section) {
        let is_reserved = section.name == PERSONA
            || section.name.starts_with(GUIDANCE_PREFIX)
            || section.name.starts_with(MEANING_PREFIX);
        if is_reserved {
            self.faults.push(RegistryFault::Reserved {
                name: section.name,
                plugin: plugin.to_string(),
            });
        } else if self.claim(Kind::Section, &section.name, plugin, is_section_name) {
            let entry = SectionEntry {
                name: section.name.into(),
                plugin: Arc::clone(plugin),
                order: section.order,
                lifetime: section.lifetime,
                verbatim: section.verbatim,
                tool: None,
                owner,
                fixed: None,
            };
            let text = match section.content {
                Content::Fixed(text) => Some(text),
                Content::Computed => None,
            };
            self.sections.push((entry, text));
        }
    }

    fn take_tool(&mut self, owner: usize, plugin: &Arc<str>, tool: Tool) {
        if !self.claim(Kind::Tool, &tool.name, plugin, is_tool_name) {
            return;
        }
        let wire = wire_name(&tool.name);
        if wire.len() > LONGEST_WIRE_NAME {
            self.faults.push(RegistryFault::LongToolName {
                tool: tool.name.clone(),
                plugin: plugin.to_string(),
                wire,
            });
        }
        if let Some(guidance) = &tool.guidance {
            let entry = SectionEntry {
                name: format!("{GUIDANCE_PREFIX}{}", tool.name).into(),
                plugin: Arc::clone(plugin),
                order: guidance.order,
                lifetime: Lifetime::Session,
                verbatim: false,
                tool: Some(tool.name.clone()),
                owner,
                fixed: None,
            };
            self.sections.push((entry, Some(guidance.text.clone())));
        }
        if let Some(argument) = tool.hint("exclusive")
            && tool.parameters["properties"].get(argument).is_none()
        {
            self.faults.push(RegistryFault::Exclusive {
                tool: tool.name.clone(),
                plugin: plugin.to_string(),
                argument: argument.to_owned(),
            });
        }
        let name = tool.name.clone();
        match ToolEntry::new(tool, Arc::clone(plugin)) {
            Ok(entry) => self.tools.push(entry),
            Err(message) => self.faults.push(RegistryFault::Parameters {
                tool: name,
                plugin: plugin.to_string(),
                message,
            }),
        }
    }

    fn take_agent(&mut self, owner: usize, plugin: &Arc<str>, agent: Agent) {
        if self.claim(Kind::Agent, &agent.name, plugin, is_agent_name) {
            self.agents.push(AgentEntry {
                agent,
                plugin: Arc::clone(plugin),
                owner,
                visible_tools: None,
            });
        }
    }

    fn take_injection_kind(&mut self, owner: usize, plugin: &Arc<str>, offered: InjectionKind) {
        let InjectionKind {
            kind,
            order,
            meaning,
        } = offered;
        if !self.claim(Kind::Injection, &kind.name, plugin, is_injection_name) {
            return;
        }
        let entry = SectionEntry {
            name: format!("{MEANING_PREFIX}{}", kind.name).into(),
            plugin: Arc::clone(plugin),
            order,
            lifetime: Lifetime::Session,
            verbatim: false,
            tool: None,
            owner,
            fixed: None,
        };
        self.sections.push((entry, Some(meaning)));
        self.injection_kinds.push(kind);
    }

    /// Whether the name is well-formed and nobody's yet; if so it is the plugin's from now on.
    fn claim(
        &mut self,
        kind: Kind,
        name: &str,
        plugin: &Arc<str>,
        is_name: fn(&str) -> bool,
    ) -> bool {
        if !is_name(name) {
            self.faults.push(RegistryFault::Name {
                kind,
                name: name.to_owned(),
                plugin: plugin.to_string(),
            });
            return false;
        }
        match self.owners.entry((kind, name.to_owned())) {
            Entry::Vacant(free) => {
                free.insert(Arc::clone(plugin));
                true
            }
            Entry::Occupied(taken) => {
                self.faults.push(RegistryFault::Duplicate {
                    kind,
                    name: name.to_owned(),
                    first: taken.get().to_string(),
                    second: plugin.to_string(),
                });
                false
            }
        }
    }

    fn order_tools(&mut self, options: &RegistryOptions) {
        self.tools.sort_by(|a, b| a.tool.name.cmp(&b.tool.name));
        let mut on_wire: BTreeMap<&str, &ToolEntry> = BTreeMap::new();
        for entry in &self.tools {
            if let Some(first) = on_wire.insert(&entry.schema.name, entry) {
                self.faults.push(RegistryFault::WireCollision {
                    wire: entry.schema.name.clone(),
                    first_tool: first.tool.name.clone(),
                    first: first.plugin.to_string(),
                    second_tool: entry.tool.name.clone(),
                    second: entry.plugin.to_string(),
                });
            }
        }
        let Some(order) = &options.tool_order else {
            return;
        };
        let mut place = HashMap::new();
        for (index, name) in order.iter().enumerate() {
            if !self.owners.contains_key(&(Kind::Tool, name.clone())) {
                self.faults.push(RegistryFault::UnknownOrderedTool {
                    tool: name.clone(),
                    known: self.tools.iter().map(|e| e.tool.name.clone()).collect(),
                });
            } else if place.insert(name.as_str(), index).is_some() {
                self.faults
                    .push(RegistryFault::OrderedTwice { tool: name.clone() });
            }
        }
        self.tools
            .sort_by_key(|entry| *place.get(entry.tool.name.as_str()).unwrap_or(&order.len()));
    }

    fn order_filters(&mut self, order: &[String]) {
        let names = self.filters.iter().map(|owned| owned.filter.name.clone());
        let mut known: Vec<String> = names.collect();
        known.sort_unstable();
        for name in order.iter().filter(|name| !known.contains(name)) {
            self.faults.push(RegistryFault::UnknownOrderedFilter {
                filter: name.clone(),
                known: known.clone(),
            });
        }
        self.filters.sort_by_cached_key(|owned| {
            let name = &owned.filter.name;
            let place = order.iter().position(|known| known == name);
            (place.unwrap_or(order.len()), name.clone())
        });
    }

    /// Every tool that an agent is to see must be there: a slip would leave it without.
    fn check_agents(&mut self) {
        let mut known: Vec<String> = self.tools.iter().map(|e| e.tool.name.clone()).collect();
        known.sort_unstable();
        for AgentEntry { agent, plugin, .. } in &self.agents {
            for tool in &agent.tools {
                if !self.owners.contains_key(&(Kind::Tool, tool.clone())) {
                    self.faults.push(RegistryFault::UnknownAgentTool {
                        agent: agent.name.clone(),
                        plugin: plugin.to_string(),
                        tool: tool.clone(),
                        known: known.clone(),
                    });
                }
            }
        }
    }
}

/// The plugin that exports an interface which one plugin of a deployment may have.
fn only_exporter(
    interface: &'static str,
    plugins: &[Arc<dyn Plugin>],
    faults: &mut Vec<RegistryFault>,
) -> Option<usize> {
    let exports = |plugin: &Arc<dyn Plugin>| plugin.info().exports(interface);
    let first = plugins.iter().position(exports)?;
    for second in plugins[first + 1..].iter().filter(|plugin| exports(plugin)) {
        faults.push(RegistryFault::SecondExport {
            interface,
            first: plugins[first].info().id.clone(),
            second: second.info().id.clone(),
        });
    }
    Some(first)
}

/// The names of skills are those of the public format, which allows letters of any alphabet.
fn is_skill_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(char::is_whitespace)
}

fn is_section_name(name: &str) -> bool {
    starts_low(name) && name.bytes().all(|byte| goes_on(byte) || byte == b':')
}

/// Its tag must be one that no other text can write.
fn is_injection_name(name: &str) -> bool {
    RESERVED_TAGS.contains(&name)
}

fn is_agent_name(name: &str) -> bool {
    starts_low(name) && name.bytes().all(goes_on)
}

fn starts_low(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
}

fn goes_on(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.')
}
