//! Filters of the assembly: what they change is theirs, and what stays for the session they can
//! change only while its prefix is built.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assembly::Prompt;
use super::cell::{Filtered, Override, SectionCell};
use super::error::{Asked, PromptError};
use crate::plugins::{
    AssemblyEdit, Caller, Context, Fact, FilterTarget, FilteredAssembly, FilteredSection, Lifetime,
    PlacedText, Plugin,
};
use crate::registry::Place;

/// What filters change together: what lives at least as long, or shorter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    /// Stands in the prefix: changed once.
    Staying,
    /// Changed before every request.
    Passing,
}

/// What the filters of one pass made of sections and variables, each with the plugin that did.
#[derive(Default)]
struct Changes {
    sections: BTreeMap<String, (Arc<str>, Option<PlacedText>)>,
    variables: BTreeMap<String, (Arc<str>, Option<String>)>,
}

impl Prompt {
    /// Lets the filters change what can still be changed, then asks for what they refer to.
    pub(super) async fn filter(
        &mut self,
        context: &Context,
        caller: &Caller,
    ) -> Result<(), PromptError> {
        let registry = Arc::clone(&self.registry);
        let filters: Vec<(&str, &Arc<dyn Plugin>)> =
            registry.filters(FilterTarget::Assembly).collect();
        if filters.is_empty() {
            return Ok(());
        }
        let staying = (!self.has_prefix()).then_some(Group::Staying);
        for group in staying.into_iter().chain([Group::Passing]) {
            // What stays must not depend on what passes.
            let context = context.narrowed(group.lifetime());
            let mut view = self.view(group);
            let mut changes = Changes::default();
            for (name, plugin) in &filters {
                let edits = plugin.edit_assembly(name, &view, &context, caller).await;
                let edits = edits.map_err(|error| PromptError::Plugin {
                    asked: vec![Asked::Filter((*name).to_owned())],
                    error: Box::new(error),
                })?;
                let by: Arc<str> = plugin.info().id.as_str().into();
                for edit in edits {
                    if self.is_about(group, name, &by, &edit)? {
                        changes.take(edit, &by, &mut view, group);
                    }
                }
            }
            self.apply(group, changes)?;
        }
        self.ask(context, caller).await
    }

    /// What the filters of a group see.
    fn view(&self, group: Group) -> FilteredAssembly {
        let sections = self
            .sections
            .iter()
            .filter(|cell| group.holds(cell.lifetime));
        let sections = sections.filter(|cell| !cell.is_added());
        let sections = sections.filter_map(|cell| {
            Some(FilteredSection {
                name: cell.name.to_string(),
                owner: cell.plugin.to_string(),
                order: cell.own_order,
                lifetime: cell.lifetime,
                verbatim: cell.is_verbatim(),
                text: cell.text.as_ref()?.template.source().to_string(),
            })
        });
        let variables = self.registry.variables().iter().zip(&self.values);
        let variables = variables.filter(|(_, cell)| group.holds(cell.lifetime));
        let variables = variables.filter_map(|(variable, cell)| {
            Some(Fact {
                name: variable.name.to_string(),
                value: cell.value.as_ref()?.to_string(),
            })
        });
        FilteredAssembly {
            sections: sections.collect(),
            variables: variables.collect(),
        }
    }

    /// Whether an edit is about the group. What passes has its own turn; what stays cannot be changed
    /// when that has come, and a variable must be somebody's.
    fn is_about(
        &self,
        group: Group,
        filter: &str,
        plugin: &str,
        edit: &AssemblyEdit,
    ) -> Result<bool, PromptError> {
        let refused = |message: String| {
            Err(PromptError::Filter {
                filter: filter.to_owned(),
                plugin: plugin.to_owned(),
                message,
            })
        };
        let (what, name, lifetime) = match edit {
            AssemblyEdit::DropSection(name) | AssemblyEdit::PutSection(PlacedText { name, .. }) => {
                let mut cells = self.sections.iter();
                let cell = cells.find(|cell| &*cell.name == name);
                ("section", name, cell.map(|cell| cell.lifetime))
            }
            AssemblyEdit::DropVariable(name) | AssemblyEdit::PutVariable(Fact { name, .. }) => {
                let Some(index) = self.registry.variable_index(name) else {
                    return refused(format!(
                        "no plugin owns a variable `{name}`: the filter's own can"
                    ));
                };
                ("variable", name, Some(self.values[index].lifetime))
            }
        };
        match lifetime {
            Some(lifetime) if !group.holds(lifetime) && group == Group::Passing => refused(
                format!("{what} `{name}` stays for the session, whose prefix is built already"),
            ),
            Some(lifetime) => Ok(group.holds(lifetime)),
            // A section that is added.
            None => Ok(true),
        }
    }

    fn apply(&mut self, group: Group, mut changes: Changes) -> Result<(), PromptError> {
        let now = self.now;
        for cell in &mut self.sections {
            if !group.holds(cell.lifetime) {
                continue;
            }
            let filtered = match changes.sections.remove(&*cell.name) {
                Some((by, Some(placed))) => text_of(&self.registry, &by, cell.lifetime, &placed)?,
                Some((_, None)) => Filtered::Dropped,
                None if cell.is_added() => Filtered::Dropped,
                None => Filtered::Kept,
            };
            cell.filter(filtered, now);
        }
        for (name, (by, placed)) in changes.sections {
            let Some(placed) = placed else { continue };
            let filtered = text_of(&self.registry, &by, group.lifetime(), &placed)?;
            let mut cell = SectionCell::added(&name, &by, placed.order, group.lifetime());
            cell.filter(filtered, now);
            self.sections.push(cell);
        }
        self.sections
            .sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        for (variable, cell) in self.registry.variables().iter().zip(&mut self.values) {
            if group.holds(cell.lifetime) {
                let changed = changes.variables.remove(&*variable.name);
                let over = changed.map(|(plugin, value)| Override {
                    plugin,
                    value: value.map(Into::into),
                });
                cell.overrule(over, now);
            }
        }
        Ok(())
    }
}

impl Group {
    fn holds(self, lifetime: Lifetime) -> bool {
        (lifetime <= Lifetime::Session) == (self == Self::Staying)
    }

    /// How long what a filter adds stays.
    fn lifetime(self) -> Lifetime {
        match self {
            Self::Staying => Lifetime::Session,
            Self::Passing => Lifetime::Step,
        }
    }
}

impl Changes {
    /// Takes an edit over, and shows it to the filters that follow.
    fn take(
        &mut self,
        edit: AssemblyEdit,
        by: &Arc<str>,
        view: &mut FilteredAssembly,
        group: Group,
    ) {
        match edit {
            AssemblyEdit::DropSection(name) => {
                view.sections.retain(|section| section.name != name);
                self.sections.insert(name, (Arc::clone(by), None));
            }
            AssemblyEdit::PutSection(placed) => {
                let section = FilteredSection {
                    name: placed.name.clone(),
                    owner: by.to_string(),
                    order: placed.order,
                    lifetime: group.lifetime(),
                    verbatim: placed.verbatim,
                    text: placed.text.clone(),
                };
                view.sections.retain(|known| known.name != placed.name);
                view.sections.push(section);
                let key = |section: &FilteredSection| (section.order, section.name.clone());
                view.sections.sort_by_key(key);
                let name = placed.name.clone();
                self.sections.insert(name, (Arc::clone(by), Some(placed)));
            }
            AssemblyEdit::DropVariable(name) => {
                view.variables.retain(|variable| variable.name != name);
                self.variables.insert(name, (Arc::clone(by), None));
            }
            AssemblyEdit::PutVariable(fact) => {
                view.variables.retain(|variable| variable.name != fact.name);
                view.variables.push(fact.clone());
                view.variables.sort_by(|a, b| a.name.cmp(&b.name));
                let value = (Arc::clone(by), Some(fact.value));
                self.variables.insert(fact.name, value);
            }
        }
    }
}

/// A filter's text, its references found.
fn text_of(
    registry: &crate::registry::Registry,
    by: &Arc<str>,
    lifetime: Lifetime,
    placed: &PlacedText,
) -> Result<Filtered, PromptError> {
    let place = Place {
        section: &placed.name,
        plugin: by,
        lifetime,
        declared: false,
    };
    Ok(Filtered::Text {
        linked: Arc::new(registry.link(&place, &placed.text, placed.verbatim)?),
        plugin: Arc::clone(by),
        order: placed.order,
    })
}
