//! Provenance: what every byte of the prompt came from.

use serde::Serialize;

use super::assembly::Assembly;
use super::prefix::{BodyMap, Prefix, json_of};
use super::tail::TailEntry;
use crate::digest::Digest;
use crate::plugins::Lifetime;
use crate::provider::ToolSchema;
use crate::registry::Registry;

/// A prompt and where each byte of it came from: the JSON of `raddle prompt --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The system prompt.
    pub system: String,
    /// The tail entries, in order.
    pub context: Vec<ContextPart>,
    /// The tools, in the order they are sent.
    pub tools: Vec<ToolSchema>,
    /// Covers every byte of every part: in the order of the parts, without gaps or overlaps.
    pub spans: Vec<Span>,
    /// Digest of the JSON array `[system, context, tools]`.
    pub digest: Digest,
}

/// A tail entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContextPart {
    /// The section it comes from.
    pub section: String,
    /// Id of the plugin that owns the section.
    pub plugin: String,
    /// The whole text, tags included.
    pub text: String,
}

/// A stretch of bytes and what it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// `system`; `context/N`, the entry of that index (from 0); `tool/NAME`, the tool's schema as
    /// compact JSON.
    pub part: String,
    /// First byte, in UTF-8.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
    /// Id of the plugin that owns the words: for a value the variable's owner.
    pub plugin: String,
    /// The section. What separates it from the text before it, and the tags around it, are
    /// counted as its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The variable whose value this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
    /// How long the words stay: of the variable for a value, else of the section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Lifetime>,
    /// Digest of the bytes.
    pub digest: Digest,
    /// Number of tokens, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<usize>,
}

/// Counts the tokens of a text.
type Counter<'a> = &'a dyn Fn(&str) -> usize;

impl Assembly {
    /// Explains the prompt; nothing of this is done for a step. `tokens` counts the tokens of one
    /// span's text.
    pub fn explain(&self, tokens: Option<Counter<'_>>) -> Explanation {
        let mut spans = self.prefix.system_part().spans(tokens);
        for (index, entry) in self.tail.iter().enumerate() {
            spans.extend(entry.part(index, self.prefix.registry()).spans(tokens));
        }
        let tools = self.prefix.tool_list();
        for (schema, (name, owner)) in self.tools().iter().zip(&tools.owners) {
            let json = json_of(schema);
            let mut part = Part::new(format!("tool/{name}"), &json);
            part.cut(json.len(), Words::of(owner.as_deref().unwrap_or_default()));
            spans.extend(part.spans(tokens));
        }
        let context: Vec<ContextPart> = self.tail.iter().map(ContextPart::from).collect();
        let digest = Digest::of(json_of(&(self.system(), &context, self.tools())));
        Explanation {
            system: self.system().to_owned(),
            context,
            tools: self.tools().to_vec(),
            spans,
            digest,
        }
    }
}

impl Prefix {
    /// The system prompt in pieces; one read from a log has none.
    pub(super) fn system_part(&self) -> Part<'_> {
        let mut part = Part::new("system".to_owned(), self.system());
        for section in self.origin.iter().flat_map(|origin| &origin.sections) {
            let words = Words {
                section: Some(&section.name),
                lifetime: Some(section.lifetime),
                ..Words::of(&section.plugin)
            };
            part.cut_body(words, section.text_start, &section.body, self.registry());
        }
        part
    }

    fn registry(&self) -> Option<&Registry> {
        self.origin.as_ref().map(|origin| &*origin.registry)
    }
}

impl TailEntry {
    fn part<'a>(&'a self, index: usize, registry: Option<&'a Registry>) -> Part<'a> {
        let mut part = Part::new(format!("context/{index}"), &self.text);
        let mut words = Words {
            section: Some(&self.section),
            ..Words::of(&self.plugin)
        };
        if let Some(origin) = &self.origin {
            words.lifetime = Some(origin.lifetime);
            part.cut_body(words, origin.text_start, &origin.body, registry);
        }
        part.cut(self.text.len(), words);
        part
    }
}

/// What a stretch of bytes came from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Words<'a> {
    pub(super) plugin: &'a str,
    pub(super) section: Option<&'a str>,
    pub(super) variable: Option<&'a str>,
    pub(super) lifetime: Option<Lifetime>,
}

/// A part of the prompt, cut where its words change hands.
pub(super) struct Part<'a> {
    name: String,
    text: &'a str,
    /// The end of each stretch, which starts where the one before ends.
    cuts: Vec<(usize, Words<'a>)>,
}

impl<'a> Words<'a> {
    fn of(plugin: &'a str) -> Self {
        Self {
            plugin,
            section: None,
            variable: None,
            lifetime: None,
        }
    }
}

impl<'a> Part<'a> {
    fn new(name: String, text: &'a str) -> Self {
        Self {
            name,
            text,
            cuts: Vec::new(),
        }
    }

    /// What the byte at `at` came from.
    pub(super) fn words_at(&self, at: usize) -> Option<Words<'a>> {
        let index = self.cuts.partition_point(|(end, _)| *end <= at);
        self.cuts.get(index).map(|(_, words)| *words)
    }

    /// Everything from the last cut up to `end` came from `words`.
    fn cut(&mut self, end: usize, words: Words<'a>) {
        match self.cuts.last_mut() {
            Some((last, same)) if *same == words => *last = end,
            Some((last, _)) if *last == end => {}
            _ if end == 0 => {}
            _ => self.cuts.push((end, words)),
        }
    }

    /// The text of a section, and what stands in front of it.
    fn cut_body(
        &mut self,
        words: Words<'a>,
        text_start: usize,
        body: &'a BodyMap,
        registry: Option<&'a Registry>,
    ) {
        self.cut(text_start, words);
        for piece in &*body.pieces {
            let index = piece
                .reference
                .map(|reference| body.linked.variables[reference]);
            let variable = index.and_then(|index| registry?.variables().get(index));
            let mut overruled = body.overruled.iter();
            let filter = overruled.find(|(overruled, _)| Some(*overruled) == index);
            let words = variable.map_or(words, |variable| Words {
                plugin: filter.map_or(&variable.plugin, |(_, plugin)| plugin),
                section: words.section,
                variable: Some(&variable.name),
                lifetime: Some(variable.lifetime),
            });
            self.cut(text_start + piece.end, words);
        }
    }

    fn spans(self, tokens: Option<Counter<'_>>) -> Vec<Span> {
        let mut start = 0;
        let span = |(end, words): (usize, Words<'_>)| {
            let bytes = &self.text[start..end];
            let span = Span {
                part: self.name.clone(),
                start,
                end,
                plugin: words.plugin.to_owned(),
                section: words.section.map(str::to_owned),
                variable: words.variable.map(str::to_owned),
                lifetime: words.lifetime,
                digest: Digest::of(bytes),
                tokens: tokens.map(|count| count(bytes)),
            };
            start = end;
            span
        };
        self.cuts.into_iter().map(span).collect()
    }
}

impl From<&TailEntry> for ContextPart {
    fn from(entry: &TailEntry) -> Self {
        Self {
            section: entry.section.to_string(),
            plugin: entry.plugin.to_string(),
            text: entry.text.to_string(),
        }
    }
}
