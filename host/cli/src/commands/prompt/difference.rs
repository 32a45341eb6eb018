//! What changes between two prompts, by owner.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use raddle_core::prompt::Explanation;
use raddle_core::registry::Registry;

use super::explain::part_text;
use super::line_diff::{Line, compare};

/// A prompt, taken apart.
pub(super) struct Side {
    items: BTreeMap<Item, Contribution>,
}

/// What is compared. The order is that of the output.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    /// A section of the system prompt or of the tail.
    Section(String),
    Variable(String),
    Tool(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Contribution {
    plugin: String,
    text: String,
}

impl Side {
    /// Takes a prompt apart.
    pub(super) fn of(explanation: &Explanation, registry: &Registry) -> Self {
        let mut items = BTreeMap::new();
        for span in &explanation.spans {
            let text = part_text(explanation, &span.part).unwrap_or_default();
            let words = text.get(span.start..span.end).unwrap_or_default();
            let item = match (&span.section, span.part.strip_prefix("tool/")) {
                (Some(section), _) => Item::Section(section.clone()),
                (None, Some(tool)) => Item::Tool(tool.to_owned()),
                (None, None) => continue,
            };
            let found: &mut Contribution = items.entry(item).or_insert_with(|| Contribution {
                plugin: span.plugin.clone(),
                text: String::new(),
            });
            // A section that starts with a value still belongs to its own plugin.
            if span.variable.is_none() {
                found.plugin.clone_from(&span.plugin);
            }
            found.text.push_str(words);
        }
        for contribution in items.values_mut() {
            // What separates a section from the one before it depends on its neighbours.
            contribution.text = contribution.text.trim_matches('\n').to_owned();
        }
        for variable in registry.variables() {
            let value = explanation.spans.iter().find_map(|span| {
                (span.variable.as_deref() == Some(&*variable.name)).then(|| {
                    let text = part_text(explanation, &span.part).unwrap_or_default();
                    text.get(span.start..span.end)
                        .unwrap_or_default()
                        .to_owned()
                })
            });
            items.insert(
                Item::Variable(variable.name.to_string()),
                Contribution {
                    plugin: variable.plugin.to_string(),
                    text: value.unwrap_or_default(),
                },
            );
        }
        Self { items }
    }
}

/// Everything that differs, then how much does not.
pub(super) fn difference(before: &Side, after: &Side) -> String {
    let mut text = String::new();
    let mut same = 0;
    let all: BTreeSet<&Item> = before.items.keys().chain(after.items.keys()).collect();
    for item in &all {
        match (before.items.get(item), after.items.get(item)) {
            (Some(one), Some(other)) if one == other => same += 1,
            (one, other) => {
                let sign = match (one, other) {
                    (Some(_), None) => '-',
                    (None, _) => '+',
                    _ => '~',
                };
                let _ = writeln!(text, "{sign} {}", title(item, one, other));
                let before = one.map_or("", |one| &one.text);
                let after = other.map_or("", |other| &other.text);
                for line in compare(before, after) {
                    let _ = match line {
                        Line::Same(line) => writeln!(text, "      {line}"),
                        Line::Removed(line) => writeln!(text, "    - {line}"),
                        Line::Added(line) => writeln!(text, "    + {line}"),
                    };
                }
            }
        }
    }
    let _ = match all.len() - same {
        0 => writeln!(
            text,
            "no difference in {same} sections, variables and tools"
        ),
        changed => writeln!(
            text,
            "{changed} differ; {same} other sections, variables and tools are the same"
        ),
    };
    text
}

fn title(item: &Item, before: Option<&Contribution>, after: Option<&Contribution>) -> String {
    let name = match item {
        Item::Section(name) => format!("section {name}"),
        Item::Variable(name) => format!("variable {name}"),
        Item::Tool(name) => format!("tool {name}"),
    };
    match (before, after) {
        (Some(before), Some(after)) if before.plugin != after.plugin => {
            format!("{name} ({} → {})", before.plugin, after.plugin)
        }
        (Some(owner), _) | (None, Some(owner)) => format!("{name} ({})", owner.plugin),
        (None, None) => name,
    }
}
