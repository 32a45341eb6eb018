//! Assembly: the one path from sections and variables to what the model is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cell::{SectionCell, Tick, ValueCell};
use super::error::PromptError;
use super::prefix::{Prefix, ToolList};
use super::tail::TailEntry;
use crate::plugins::{Caller, Context, Lifetime};
use crate::provider::ToolSchema;
use crate::registry::{AgentEntry, Registry, ToolEntry};

/// The prompt of one session.
///
/// It remembers what cannot have changed: texts of the deployment and the session for good, a
/// turn's until the turn number changes. A step asks for what lives for a step, and renders again
/// only sections in which a value changed.
pub struct Prompt {
    pub(super) registry: Arc<Registry>,
    agent: Option<AgentEntry>,
    dynamic: Dynamic,
    options: PromptOptions,
    /// Namespaces whose tools are not loaded.
    deferred: BTreeSet<String>,
    tools: Arc<ToolList>,
    pub(super) sections: Vec<SectionCell>,
    pub(super) values: Vec<ValueCell>,
    prefix: Option<Arc<Prefix>>,
    /// The turn that turn-lived texts were last asked for.
    turn: Option<Option<u32>>,
    pub(super) now: Tick,
    /// Entries in the transcript whose sections are no tail sections here.
    orphans: BTreeMap<Arc<str>, TailEntry>,
}

/// What a deployment says about its prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptOptions {
    /// `[prompt] dynamic`.
    pub dynamic: Dynamic,
    /// `[tools] deferred`: namespaces whose tools, `<namespace>.<tool>`, are told of only when they
    /// are loaded.
    pub deferred: BTreeSet<String>,
    /// Names of tools that are not told of.
    pub without: BTreeSet<String>,
}

/// Where text goes that lives shorter than the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dynamic {
    /// To the tail: the prefix never changes.
    #[default]
    Tail,
    /// Into the system prompt, at its order.
    Inline,
}

/// What one step sends besides the transcript so far.
#[derive(Clone)]
pub struct Assembly {
    /// System prompt and tools; the same `Arc` as long as nothing in it changed.
    pub prefix: Arc<Prefix>,
    /// What is to be appended to the transcript before the request is sent, in order.
    pub tail: Vec<TailEntry>,
}

impl Prompt {
    /// The prompt of a session in which `agent` is active.
    pub fn new(
        registry: Arc<Registry>,
        agent: Option<&str>,
        options: PromptOptions,
    ) -> Result<Self, PromptError> {
        let agent = match agent {
            None => None,
            Some(name) => Some(registry.agent(name).cloned().ok_or_else(|| {
                PromptError::UnknownAgent {
                    agent: name.to_owned(),
                    known: registry
                        .agents()
                        .iter()
                        .map(|entry| entry.agent.name.clone())
                        .collect(),
                }
            })?),
        };
        let shown = Shown {
            agent: agent.as_ref(),
            without: &options.without,
            deferred: &options.deferred,
        };
        let mut sections: Vec<SectionCell> = registry
            .sections()
            .iter()
            .filter(|section| section.tool.as_deref().is_none_or(|tool| shown.is(tool)))
            .map(SectionCell::new)
            .chain(agent.as_ref().map(SectionCell::persona))
            .collect();
        sections.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        Ok(Self {
            tools: shown.tools(&registry),
            deferred: options.deferred.clone(),
            values: registry.variables().iter().map(ValueCell::new).collect(),
            sections,
            registry,
            agent,
            dynamic: options.dynamic,
            options,
            prefix: None,
            turn: None,
            now: 0,
            orphans: BTreeMap::new(),
        })
    }

    /// The active agent.
    pub fn agent(&self) -> Option<&AgentEntry> {
        self.agent.as_ref()
    }

    /// A tool the active agent may see, by its name or its name on the wire.
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        let entry = self.registry.tool(name)?;
        self.shown().is(&entry.tool.name).then_some(entry)
    }

    /// What it was made with.
    pub fn options(&self) -> &PromptOptions {
        &self.options
    }

    /// Tells of the tools of `namespaces` from here on, which changes the tool list and nothing else
    /// of the prefix: their guidance goes to the tail.
    pub fn load_tools(&mut self, namespaces: &BTreeSet<String>) {
        let loaded: BTreeSet<String> = self.deferred.intersection(namespaces).cloned().collect();
        if loaded.is_empty() {
            return;
        }
        self.deferred
            .retain(|namespace| !loaded.contains(namespace));
        let shown = self.shown();
        let guidance = self.registry.sections().iter().filter(|section| {
            let tool = section.tool.as_deref();
            tool.is_some_and(|tool| is_deferred(&loaded, tool) && shown.is(tool))
        });
        let guidance: Vec<SectionCell> = guidance
            .map(|section| {
                let mut cell = SectionCell::new(section);
                cell.lifetime = Lifetime::Turn;
                cell
            })
            .collect();
        self.sections.extend(guidance);
        self.sections
            .sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        self.tools = self.shown().tools(&self.registry);
        if let Some(prefix) = &mut self.prefix {
            *prefix = Arc::new(prefix.with_tools(&self.tools));
        }
    }

    /// Tells no more of these tools from here on, which changes the tool list and nothing else of the
    /// prefix.
    pub fn withdraw_tools(&mut self, tools: BTreeSet<String>) {
        if tools.is_subset(&self.options.without) {
            return;
        }
        self.options.without.extend(tools);
        self.tools = self.shown().tools(&self.registry);
        if let Some(prefix) = &mut self.prefix {
            *prefix = Arc::new(prefix.with_tools(&self.tools));
        }
    }

    /// Takes over which tail entries the transcript already holds, in their order: from the log
    /// when a session goes on, or what is left of them after a compaction.
    pub fn restore(&mut self, entries: impl IntoIterator<Item = TailEntry>) {
        self.orphans.clear();
        for cell in &mut self.sections {
            cell.appended = None;
        }
        let mut by_section: BTreeMap<Arc<str>, TailEntry> = entries
            .into_iter()
            .map(|entry| (Arc::clone(&entry.section), entry))
            .collect();
        let dynamic = self.dynamic;
        for cell in self
            .sections
            .iter_mut()
            .filter(|cell| !in_system(dynamic, cell))
        {
            cell.appended = by_section.remove(&cell.name).map(|entry| entry.text);
        }
        self.orphans = by_section;
    }

    /// Makes the prompt of the next step. `context` says everything that is known; each text is
    /// asked with as much of it as its lifetime allows.
    ///
    /// The entries of [`Assembly::tail`] count as appended from here on. After an error nothing
    /// does, and the next call tries again.
    pub async fn assemble(
        &mut self,
        context: &Context,
        caller: &Caller,
    ) -> Result<Assembly, PromptError> {
        self.now += 1;
        self.expire(context.turn);
        self.ask(context, caller).await?;
        self.filter(context, caller).await?;
        self.render()
    }

    fn shown(&self) -> Shown<'_> {
        Shown {
            agent: self.agent.as_ref(),
            without: &self.options.without,
            deferred: &self.deferred,
        }
    }

    /// Marks what has to be asked for again.
    fn expire(&mut self, turn: Option<u32>) {
        let new_turn = self.turn.replace(turn) != Some(turn);
        let no_prefix = self.prefix.is_none();
        let expired = |lifetime| match lifetime {
            Lifetime::Deployment | Lifetime::Session => no_prefix,
            Lifetime::Turn => new_turn,
            Lifetime::Step => true,
        };
        for (cell, variable) in self.values.iter_mut().zip(self.registry.variables()) {
            if variable.fixed.is_none() && expired(cell.lifetime) {
                cell.fresh = false;
            }
        }
        for cell in &mut self.sections {
            if cell.question.is_some() && expired(cell.lifetime) {
                cell.fresh = false;
            }
        }
    }

    /// Sections, filled in and placed. What is asked for has been answered before.
    fn render(&mut self) -> Result<Assembly, PromptError> {
        let mut system_changed = self.prefix.is_none();
        for index in 0..self.sections.len() {
            if self.is_frozen(index) {
                continue;
            }
            let cell = &mut self.sections[index];
            if cell.render(&self.registry, &mut self.values, self.now)? {
                if in_system(self.dynamic, cell) {
                    system_changed = true;
                } else {
                    cell.entry = cell.body.as_ref().map(|body| TailEntry::of(cell, body));
                }
            }
        }
        let prefix = match &self.prefix {
            Some(prefix) if !system_changed => Arc::clone(prefix),
            _ => self.build_prefix(),
        };
        Ok(Assembly {
            prefix,
            tail: self.append(),
        })
    }

    fn build_prefix(&mut self) -> Arc<Prefix> {
        let dynamic = self.dynamic;
        let placed = self.sections.iter().filter(|cell| in_system(dynamic, cell));
        let texts = placed.filter_map(|cell| {
            let body = cell.body.as_ref()?;
            Some((&cell.name, cell.author(), cell.lifetime, body))
        });
        let built = Prefix::build(&self.registry, &self.tools, texts);
        let prefix = match &self.prefix {
            Some(old) if old.system() == built.system() => Arc::clone(old),
            _ => Arc::new(built),
        };
        self.prefix = Some(Arc::clone(&prefix));
        if dynamic == Dynamic::Tail {
            // The prefix holds their bytes from here on.
            for cell in self
                .sections
                .iter_mut()
                .filter(|cell| in_system(dynamic, cell))
            {
                cell.body = None;
            }
        }
        prefix
    }

    /// The tail entries that differ from what the transcript holds.
    fn append(&mut self) -> Vec<TailEntry> {
        let mut tail = Vec::new();
        for (_, orphan) in std::mem::take(&mut self.orphans) {
            let withdrawn = TailEntry::withdrawn(&orphan.section, &orphan.plugin);
            if withdrawn.text != orphan.text {
                tail.push(withdrawn);
            }
        }
        let dynamic = self.dynamic;
        for cell in self
            .sections
            .iter_mut()
            .filter(|cell| !in_system(dynamic, cell))
        {
            let entry = match (&cell.entry, &cell.appended) {
                (None, None) => continue,
                (Some(entry), Some(appended)) if entry.text == *appended => continue,
                (Some(entry), _) => entry.clone(),
                (None, Some(appended)) => {
                    let withdrawn = TailEntry::withdrawn(&cell.name, &cell.plugin);
                    if withdrawn.text == *appended {
                        continue;
                    }
                    withdrawn
                }
            };
            cell.appended = Some(Arc::clone(&entry.text));
            tail.push(entry);
        }
        tail
    }

    /// Whether what stays for the session can no longer change.
    pub(super) fn has_prefix(&self) -> bool {
        self.prefix.is_some()
    }

    /// Whether a section is part of a prefix that can no longer change.
    pub(super) fn is_frozen(&self, section: usize) -> bool {
        self.prefix.is_some() && self.sections[section].lifetime <= Lifetime::Session
    }
}

impl Assembly {
    /// The whole system prompt; empty if no section has a text.
    pub fn system(&self) -> &str {
        self.prefix.system()
    }

    /// All tools, in the order they are sent.
    pub fn tools(&self) -> &[ToolSchema] {
        self.prefix.tools()
    }
}

/// Which tools are told of.
struct Shown<'a> {
    agent: Option<&'a AgentEntry>,
    without: &'a BTreeSet<String>,
    deferred: &'a BTreeSet<String>,
}

impl Shown<'_> {
    fn is(&self, tool: &str) -> bool {
        self.agent.is_none_or(|agent| agent.sees(tool))
            && !self.without.contains(tool)
            && !is_deferred(self.deferred, tool)
    }

    fn tools(&self, registry: &Registry) -> Arc<ToolList> {
        if self.without.is_empty() && self.deferred.is_empty() {
            return registry.visible_tools(self.agent);
        }
        let tools = registry.tools().iter();
        Arc::new(ToolList::of(
            tools.filter(|entry| self.is(&entry.tool.name)),
        ))
    }
}

/// Whether a tool is one of these namespaces.
fn is_deferred(namespaces: &BTreeSet<String>, tool: &str) -> bool {
    let namespace = tool.split_once('.').map(|(namespace, _)| namespace);
    namespace.is_some_and(|namespace| namespaces.contains(namespace))
}

/// Whether a section's text stands in the system prompt, not in the tail.
fn in_system(dynamic: Dynamic, cell: &SectionCell) -> bool {
    dynamic == Dynamic::Inline || cell.lifetime <= Lifetime::Session
}
