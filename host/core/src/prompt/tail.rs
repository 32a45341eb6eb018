//! Tail entries: text that lives shorter than the session, appended when it changed.

use std::sync::Arc;

use super::cell::SectionCell;
use super::prefix::BodyMap;
use crate::plugins::Lifetime;
use crate::{trust, wire};

/// A text to append to the transcript as a trusted message of its own.
#[derive(Clone)]
pub struct TailEntry {
    /// The section it comes from.
    pub section: Arc<str>,
    /// Id of the plugin that owns the section.
    pub plugin: Arc<str>,
    /// The whole text, tags included. A section that has no text any more says so with an empty
    /// element: `<context section="NAME"/>`.
    pub text: Arc<str>,
    pub(super) origin: Option<Arc<TailOrigin>>,
}

/// What a tail entry was made of.
pub(super) struct TailOrigin {
    pub(super) lifetime: Lifetime,
    /// Where the section's text starts in the entry.
    pub(super) text_start: usize,
    pub(super) body: BodyMap,
}

impl TailEntry {
    /// An entry as the log holds it.
    pub fn new(
        section: impl Into<Arc<str>>,
        plugin: impl Into<Arc<str>>,
        text: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            section: section.into(),
            plugin: plugin.into(),
            text: text.into(),
            origin: None,
        }
    }

    /// The entry of a section with a text.
    pub(super) fn of(cell: &SectionCell, body: &super::cell::Body) -> Self {
        let (text, text_start) = wire::context_entry(&cell.name, &body.text);
        Self {
            section: Arc::clone(&cell.name),
            plugin: Arc::clone(cell.author()),
            text: text.into(),
            origin: Some(Arc::new(TailOrigin {
                lifetime: cell.lifetime,
                text_start,
                body: neutralised(&body.map, &body.text),
            })),
        }
    }

    /// The entry of a section that has no text any more.
    pub(super) fn withdrawn(section: &Arc<str>, plugin: &Arc<str>) -> Self {
        Self::new(
            Arc::clone(section),
            Arc::clone(plugin),
            wire::withdrawn_entry(section),
        )
    }
}

/// The map of a text after its reserved tags were neutralised, which makes it longer.
fn neutralised(map: &BodyMap, text: &str) -> BodyMap {
    let reserved: Vec<usize> = trust::reserved_tags(text).collect();
    if reserved.is_empty() {
        return map.clone();
    }
    let grown = trust::NEUTRAL.len() - '<'.len_utf8();
    let pieces = map.pieces.iter().map(|piece| {
        let before = reserved.partition_point(|at| *at < piece.end);
        let mut piece = *piece;
        piece.end += before * grown;
        piece
    });
    BodyMap {
        linked: Arc::clone(&map.linked),
        pieces: pieces.collect(),
        overruled: Arc::clone(&map.overruled),
    }
}

impl PartialEq for TailEntry {
    fn eq(&self, other: &Self) -> bool {
        (&self.section, &self.plugin, &self.text) == (&other.section, &other.plugin, &other.text)
    }
}

impl std::fmt::Debug for TailEntry {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TailEntry")
            .field("section", &self.section)
            .field("plugin", &self.plugin)
            .field("text", &self.text)
            .finish_non_exhaustive()
    }
}
