//! The cache ledger: when a prefix is not the one before, who changed it and where.

use std::borrow::Cow;

use super::prefix::{Prefix, json_of};
use crate::session::CacheBreak;

/// How `after` differs from `before`: at most one break for `system` and one for `tools`, each
/// with the first differing byte, and the section or tool and the plugin whose words differ there.
///
/// The plugin is absent where only the log knows the words that left.
pub fn cache_breaks(before: &Prefix, after: &Prefix) -> Vec<CacheBreak> {
    system_break(before, after)
        .into_iter()
        .chain(tools_break(before, after))
        .collect()
}

fn system_break(before: &Prefix, after: &Prefix) -> Option<CacheBreak> {
    let at = first_difference(before.system(), after.system())?;
    let (name, plugin) = match differing_item(&sections(before), &sections(after)) {
        _ if before.origin.is_none() => {
            let words = after.system_part().words_at(at);
            (
                words.and_then(|words| words.section).map(str::to_owned),
                words.map(|words| words.plugin.to_owned()),
            )
        }
        Some(Difference::Here(item)) => {
            // Inside a section it can be a variable's value, which has an owner of its own.
            let words = after
                .system_part()
                .words_at(at)
                .filter(|words| words.section == Some(item.name));
            let plugin = words.map(|words| words.plugin).or(item.plugin);
            (Some(item.name.to_owned()), plugin.map(str::to_owned))
        }
        Some(Difference::Gone(item)) => {
            (Some(item.name.to_owned()), item.plugin.map(str::to_owned))
        }
        None => (None, None),
    };
    Some(CacheBreak {
        part: "system".to_owned(),
        plugin,
        name,
        at,
    })
}

fn tools_break(before: &Prefix, after: &Prefix) -> Option<CacheBreak> {
    let at = first_difference(before.tools_json(), after.tools_json())?;
    let (before, after) = (tools(before), tools(after));
    let item = match differing_item(&before, &after) {
        Some(Difference::Here(item) | Difference::Gone(item)) => Some(item),
        None => None,
    };
    Some(CacheBreak {
        part: "tools".to_owned(),
        plugin: item.and_then(|item| item.plugin).map(str::to_owned),
        name: item.map(|item| item.name.to_owned()),
        at,
    })
}

/// A section or a tool.
struct Item<'a> {
    /// What it is recognised by.
    key: &'a str,
    /// What people call it.
    name: &'a str,
    plugin: Option<&'a str>,
    bytes: Cow<'a, str>,
}

enum Difference<'a> {
    /// It is new, changed or moved.
    Here(&'a Item<'a>),
    /// It was there before.
    Gone(&'a Item<'a>),
}

/// The first item that is not as it was.
fn differing_item<'a>(before: &'a [Item<'a>], after: &'a [Item<'a>]) -> Option<Difference<'a>> {
    let same = |(a, b): &(&Item<'_>, &Item<'_>)| a.key == b.key && a.bytes == b.bytes;
    let common = before.iter().zip(after).take_while(same).count();
    let has = |items: &[Item<'_>], item: &Item<'_>| items.iter().any(|other| other.key == item.key);
    match (before.get(common), after.get(common)) {
        // Only where nothing took its place is what left the one to name.
        (Some(old), Some(new)) if !has(after, old) && has(before, new) => {
            Some(Difference::Gone(old))
        }
        (_, Some(new)) => Some(Difference::Here(new)),
        (Some(old), None) => Some(Difference::Gone(old)),
        (None, None) => None,
    }
}

fn sections(prefix: &Prefix) -> Vec<Item<'_>> {
    let origin = prefix.origin.iter();
    origin
        .flat_map(|origin| &origin.sections)
        .map(|section| Item {
            key: &section.name,
            name: &section.name,
            plugin: Some(&section.plugin),
            bytes: prefix.system()[section.range.clone()].into(),
        })
        .collect()
}

fn tools(prefix: &Prefix) -> Vec<Item<'_>> {
    let owners = &prefix.tool_list().owners;
    owners
        .iter()
        .zip(&**prefix.tools())
        .map(|((name, plugin), schema)| Item {
            key: &schema.name,
            name,
            plugin: plugin.as_deref(),
            bytes: json_of(schema).into(),
        })
        .collect()
}

fn first_difference(before: &str, after: &str) -> Option<usize> {
    let common = before
        .bytes()
        .zip(after.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    (common < before.len() || common < after.len()).then_some(common)
}
