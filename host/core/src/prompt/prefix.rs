//! The cached prefix: system prompt and tools, the same bytes for the whole session.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::cell::Body;
use crate::digest::Digest;
use crate::plugins::Lifetime;
use crate::provider::ToolSchema;
use crate::registry::{Linked, Registry, ToolEntry};
use crate::wire;

/// System prompt and tools, as every request of a session begins.
#[derive(Clone)]
pub struct Prefix {
    system: Arc<str>,
    tools: Arc<ToolList>,
    system_digest: OnceLock<Digest>,
    pub(super) origin: Option<Origin>,
}

/// A list of tools as the model is told of it.
#[derive(Debug)]
pub struct ToolList {
    schemas: Arc<[ToolSchema]>,
    /// Name and owner of each; the owner is unknown for what was read from a log.
    pub(super) owners: Vec<(String, Option<Arc<str>>)>,
    json: OnceLock<String>,
    digest: OnceLock<Digest>,
}

/// Where the system prompt came from.
#[derive(Clone)]
pub(super) struct Origin {
    pub(super) registry: Arc<Registry>,
    pub(super) sections: Vec<PlacedSection>,
}

/// A section in the system prompt.
#[derive(Clone)]
pub(super) struct PlacedSection {
    pub(super) name: Arc<str>,
    pub(super) plugin: Arc<str>,
    pub(super) lifetime: Lifetime,
    /// Its bytes; the separator in front of its text is its own.
    pub(super) range: Range<usize>,
    /// Where its text starts.
    pub(super) text_start: usize,
    pub(super) body: BodyMap,
}

/// What a rendered text was made of, without the text.
#[derive(Clone)]
pub(super) struct BodyMap {
    pub(super) linked: Arc<Linked>,
    pub(super) pieces: Arc<[super::template::RenderedPiece]>,
    /// Variables whose values are a filter's, with its plugin.
    pub(super) overruled: Arc<[(usize, Arc<str>)]>,
}

impl Prefix {
    /// A prefix read back from a log: its bytes, without provenance.
    pub fn logged(system: impl Into<Arc<str>>, tools: Vec<ToolSchema>) -> Self {
        let owners = tools.iter().map(|tool| (tool.name.clone(), None)).collect();
        Self {
            system: system.into(),
            tools: Arc::new(ToolList::new(tools, owners)),
            system_digest: OnceLock::new(),
            origin: None,
        }
    }

    /// Sections in their order, with their texts.
    pub(super) fn build<'a>(
        registry: &Arc<Registry>,
        tools: &Arc<ToolList>,
        sections: impl Iterator<Item = (&'a Arc<str>, &'a Arc<str>, Lifetime, &'a Body)>,
    ) -> Self {
        let mut system = String::new();
        let mut placed = Vec::new();
        for (name, plugin, lifetime, body) in sections {
            let start = system.len();
            system.push_str(wire::separator(&system));
            let text_start = system.len();
            system.push_str(&body.text);
            placed.push(PlacedSection {
                name: Arc::clone(name),
                plugin: Arc::clone(plugin),
                lifetime,
                range: start..system.len(),
                text_start,
                body: body.map.clone(),
            });
        }
        Self {
            system: system.into(),
            tools: Arc::clone(tools),
            system_digest: OnceLock::new(),
            origin: Some(Origin {
                registry: Arc::clone(registry),
                sections: placed,
            }),
        }
    }

    /// The same system prompt with other tools.
    pub(super) fn with_tools(&self, tools: &Arc<ToolList>) -> Self {
        Self {
            tools: Arc::clone(tools),
            ..self.clone()
        }
    }

    /// The whole system prompt; empty if no section has a text.
    pub fn system(&self) -> &Arc<str> {
        &self.system
    }

    /// All tools, in the order they are sent.
    pub fn tools(&self) -> &Arc<[ToolSchema]> {
        &self.tools.schemas
    }

    /// Digest of the system prompt.
    pub fn system_digest(&self) -> Digest {
        *self
            .system_digest
            .get_or_init(|| Digest::of(self.system.as_bytes()))
    }

    /// The tools as a JSON array.
    pub fn tools_json(&self) -> &str {
        self.tools.json()
    }

    /// Digest of [`Prefix::tools_json`].
    pub fn tools_digest(&self) -> Digest {
        *self
            .tools
            .digest
            .get_or_init(|| Digest::of(self.tools.json()))
    }

    pub(super) fn tool_list(&self) -> &ToolList {
        &self.tools
    }
}

impl ToolList {
    /// The list of `tools`, in their order.
    pub(crate) fn of<'a>(tools: impl Iterator<Item = &'a ToolEntry>) -> Self {
        let (schemas, owners) = tools
            .map(|entry| {
                let owner = Some(Arc::clone(&entry.plugin));
                (entry.schema.clone(), (entry.tool.name.clone(), owner))
            })
            .unzip();
        Self::new(schemas, owners)
    }

    fn new(schemas: Vec<ToolSchema>, owners: Vec<(String, Option<Arc<str>>)>) -> Self {
        Self {
            schemas: schemas.into(),
            owners,
            json: OnceLock::new(),
            digest: OnceLock::new(),
        }
    }

    fn json(&self) -> &str {
        self.json.get_or_init(|| json_of(&*self.schemas))
    }
}

/// Compact JSON. A schema holds JSON values and strings alone, which can always be written.
pub(super) fn json_of(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
