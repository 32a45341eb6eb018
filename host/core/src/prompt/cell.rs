//! What a prompt remembers between steps: variables' values, and sections with their texts.

use std::sync::Arc;

use super::error::{PromptError, TemplateError};
use super::prefix::BodyMap;
use super::template::{Position, TemplateFault};
use crate::plugins::{Lifetime, Question};
use crate::registry::{Linked, Place, Registry, SectionEntry, VariableEntry};

/// A count of assemblies, to tell what changed since when.
pub(super) type Tick = u64;

/// The value of a variable, as far as it is known.
pub(super) struct ValueCell {
    pub(super) lifetime: Lifetime,
    pub(super) owner: usize,
    pub(super) value: Option<Arc<str>>,
    /// Whether `value` still holds; otherwise it is asked for when a section refers to it.
    pub(super) fresh: bool,
    /// Whether it is among the questions being collected.
    pub(super) wanted: bool,
    /// What a filter made of it.
    over: Option<Override>,
    /// When the value that is shown last changed.
    pub(super) changed: Tick,
}

/// The value that a filter gives a variable.
#[derive(PartialEq, Eq)]
pub(super) struct Override {
    pub(super) plugin: Arc<str>,
    pub(super) value: Option<Arc<str>>,
}

/// What filters made of a section.
pub(super) enum Filtered {
    /// Nothing.
    Kept,
    /// It is not there.
    Dropped,
    /// Other words, those of a filter.
    Text {
        linked: Arc<Linked>,
        plugin: Arc<str>,
        order: i32,
    },
}

/// A section, its text and its rendering.
pub(super) struct SectionCell {
    pub(super) name: Arc<str>,
    pub(super) plugin: Arc<str>,
    pub(super) owner: usize,
    /// Where it stands now.
    pub(super) order: i32,
    /// Where its owner wants it.
    pub(super) own_order: i32,
    /// Whether a filter added it.
    added: bool,
    filtered: Filtered,
    pub(super) lifetime: Lifetime,
    verbatim: bool,
    /// Whether its author declared its lifetime.
    declared: bool,
    /// How its text is asked for; `None` is a fixed text.
    pub(super) question: Option<Question>,
    /// Whether `text` still holds.
    pub(super) fresh: bool,
    /// Its text, before values are filled in.
    pub(super) text: Option<Arc<Linked>>,
    /// When `text` last changed.
    text_changed: Tick,
    /// When `body` was last made; `None` is never.
    rendered: Option<Tick>,
    /// Its rendering; `None` if there is no text, or nothing but whitespace.
    pub(super) body: Option<Body>,
    /// The tail entry of `body`.
    pub(super) entry: Option<super::TailEntry>,
    /// The text of the entry that was last appended to the transcript.
    pub(super) appended: Option<Arc<str>>,
}

/// A rendered text.
pub(super) struct Body {
    pub(super) text: String,
    pub(super) map: BodyMap,
}

impl ValueCell {
    pub(super) fn new(variable: &VariableEntry) -> Self {
        Self {
            lifetime: variable.lifetime,
            owner: variable.owner,
            value: variable.fixed.clone(),
            fresh: variable.fixed.is_some(),
            wanted: false,
            over: None,
            changed: 0,
        }
    }

    pub(super) fn set(&mut self, value: Option<Arc<str>>, now: Tick) {
        self.fresh = true;
        if self.value != value {
            self.value = value;
            self.changed = now;
        }
    }

    /// Takes what filters made of it.
    pub(super) fn overrule(&mut self, over: Option<Override>, now: Tick) {
        if self.over != over {
            self.over = over;
            self.changed = now;
        }
    }

    /// The value that sections get.
    fn shown(&self) -> Option<&str> {
        match &self.over {
            Some(over) => over.value.as_deref(),
            None => self.value.as_deref(),
        }
    }
}

impl SectionCell {
    pub(super) fn new(section: &SectionEntry) -> Self {
        Self {
            name: Arc::clone(&section.name),
            plugin: Arc::clone(&section.plugin),
            owner: section.owner,
            order: section.order,
            own_order: section.order,
            added: false,
            filtered: Filtered::Kept,
            lifetime: section.lifetime,
            verbatim: section.verbatim,
            declared: section.tool.is_none(),
            question: section
                .fixed
                .is_none()
                .then(|| Question::Section(section.name.to_string())),
            fresh: section.fixed.is_some(),
            text: section.fixed.clone(),
            text_changed: 0,
            rendered: None,
            body: None,
            entry: None,
            appended: None,
        }
    }

    /// One that a filter adds.
    pub(super) fn added(name: &str, plugin: &Arc<str>, order: i32, lifetime: Lifetime) -> Self {
        Self {
            name: name.into(),
            plugin: Arc::clone(plugin),
            owner: 0,
            order,
            own_order: order,
            added: true,
            filtered: Filtered::Dropped,
            lifetime,
            verbatim: false,
            declared: false,
            question: None,
            fresh: true,
            text: None,
            text_changed: 0,
            rendered: None,
            body: None,
            entry: None,
            appended: None,
        }
    }

    pub(super) fn is_added(&self) -> bool {
        self.added
    }

    pub(super) fn is_verbatim(&self) -> bool {
        self.verbatim
    }

    /// Takes what filters made of it.
    pub(super) fn filter(&mut self, filtered: Filtered, now: Tick) {
        if self.filtered.is(&filtered) {
            return;
        }
        self.order = match &filtered {
            Filtered::Text { order, .. } => *order,
            _ => self.own_order,
        };
        self.filtered = filtered;
        self.text_changed = now;
    }

    /// The text that is filled in.
    pub(super) fn shown(&self) -> Option<&Arc<Linked>> {
        match &self.filtered {
            Filtered::Kept => self.text.as_ref(),
            Filtered::Dropped => None,
            Filtered::Text { linked, .. } => Some(linked),
        }
    }

    /// Whose words it shows.
    pub(super) fn author(&self) -> &Arc<str> {
        match &self.filtered {
            Filtered::Text { plugin, .. } => plugin,
            _ => &self.plugin,
        }
    }

    /// The section that the body of `agent` fills.
    pub(super) fn persona(agent: &crate::registry::AgentEntry) -> Self {
        Self {
            name: crate::registry::PERSONA.into(),
            plugin: Arc::clone(&agent.plugin),
            owner: agent.owner,
            order: crate::registry::PERSONA_ORDER,
            own_order: crate::registry::PERSONA_ORDER,
            added: false,
            filtered: Filtered::Kept,
            lifetime: Lifetime::Session,
            verbatim: false,
            declared: false,
            question: Some(Question::Agent(agent.agent.name.clone())),
            fresh: false,
            text: None,
            text_changed: 0,
            rendered: None,
            body: None,
            entry: None,
            appended: None,
        }
    }

    /// Takes the answer to its question. A text that is no valid template leaves it without one,
    /// to be asked for again.
    pub(super) fn answer(
        &mut self,
        registry: &Registry,
        text: Option<&str>,
        now: Tick,
    ) -> Result<(), PromptError> {
        let old = self.text.as_ref().map(|linked| &**linked.template.source());
        if old == text && self.rendered.is_some() {
            self.fresh = true;
            return Ok(());
        }
        self.text = None;
        self.text_changed = now;
        if let Some(text) = text {
            let place = Place {
                section: &self.name,
                plugin: &self.plugin,
                lifetime: self.lifetime,
                declared: self.declared,
            };
            self.text = Some(Arc::new(registry.link(&place, text, self.verbatim)?));
        }
        self.fresh = true;
        Ok(())
    }

    /// Renders the text again if anything in it changed; says whether it did. The error names the
    /// first variable without a value.
    pub(super) fn render(
        &mut self,
        registry: &Registry,
        values: &mut [ValueCell],
        now: Tick,
    ) -> Result<bool, PromptError> {
        let newer = |since: Tick| {
            let mut variables = self
                .shown()
                .into_iter()
                .flat_map(|linked| &*linked.variables);
            self.text_changed > since || variables.any(|index| values[*index].changed > since)
        };
        if self.rendered.is_some_and(|since| !newer(since)) {
            return Ok(false);
        }
        self.rendered = None;
        self.body = None;
        self.entry = None;
        if let Some(linked) = self.shown().cloned() {
            let value = |reference: usize| values[linked.variables[reference]].shown();
            match linked.template.render(value) {
                Ok(rendered) if rendered.text.trim().is_empty() => {}
                Ok(rendered) => {
                    self.body = Some(Body {
                        text: rendered.text,
                        map: BodyMap {
                            overruled: overruled(&linked, values),
                            linked,
                            pieces: rendered.pieces.into(),
                        },
                    });
                }
                Err(reference) => {
                    let index = linked.variables[reference];
                    // It may have one next time.
                    values[index].fresh = false;
                    return Err(vec![self.valueless(registry, values, &linked, reference)].into());
                }
            }
        }
        self.rendered = Some(now);
        Ok(true)
    }

    fn valueless(
        &self,
        registry: &Registry,
        values: &[ValueCell],
        linked: &Linked,
        reference: usize,
    ) -> TemplateError {
        let variable = &registry.variables()[linked.variables[reference]];
        let at = linked.template.references()[reference].at;
        TemplateError {
            section: self.name.to_string(),
            plugin: self.author().to_string(),
            position: Position::of(linked.template.source(), at),
            fault: TemplateFault::Valueless {
                name: variable.name.to_string(),
                owner: variable.plugin.to_string(),
            },
            usable: registry
                .variables()
                .iter()
                .zip(values)
                .filter(|(_, cell)| cell.shown().is_some())
                .map(|(variable, _)| variable.name.to_string())
                .collect(),
        }
    }
}

impl Filtered {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kept, Self::Kept) | (Self::Dropped, Self::Dropped) => true,
            (
                Self::Text {
                    linked,
                    plugin,
                    order,
                },
                Self::Text {
                    linked: other,
                    plugin: author,
                    order: place,
                },
            ) => {
                linked.template.source() == other.template.source()
                    && linked.variables == other.variables
                    && (plugin, order) == (author, place)
            }
            _ => false,
        }
    }
}

/// The variables of a text whose values are a filter's, with its plugin.
fn overruled(linked: &Linked, values: &[ValueCell]) -> Arc<[(usize, Arc<str>)]> {
    let variables = linked.variables.iter();
    let overruled = variables.filter_map(|index| {
        let over = values[*index].over.as_ref()?;
        Some((*index, Arc::clone(&over.plugin)))
    });
    overruled.collect()
}
