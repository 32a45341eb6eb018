//! Which skills go together.

use std::collections::{BTreeMap, BTreeSet};

use crate::library::{Library, Skill};

/// Why a skill is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It conflicts with one of higher priority.
    Outranked {
        /// The one that wins.
        by: String,
    },
    /// It conflicts with one of the same priority: somebody has to decide.
    Undecided {
        /// The other one, which is refused too.
        with: String,
    },
    /// It conflicts with one that is active already.
    Active {
        /// That one.
        with: String,
    },
}

/// The skill `name` and all that it requires, itself or through others, each once: the skill first,
/// what it names next, in the order it names them, and so on. Those who require each other are no
/// trouble. Empty if there is no such skill.
pub fn required<'a>(library: &'a Library, name: &str) -> Vec<&'a Skill> {
    let mut found: Vec<&Skill> = library.skill(name).into_iter().collect();
    let mut at = 0;
    while let Some(skill) = found.get(at) {
        for name in &skill.manifest.requires {
            if let Some(required) = library.skill(name)
                && !found.iter().any(|known| known.manifest.name == *name)
            {
                found.push(required);
            }
        }
        at += 1;
    }
    found
}

/// Which of the `wanted` skills (with what they bring) cannot be loaded, and why. All of them are
/// known before any is decided about, so that the order of the questions does not matter. What
/// is `active` already stays.
pub fn resolve(library: &Library, wanted: &[&str], active: &[&str]) -> BTreeMap<String, Refusal> {
    let wanted: BTreeSet<&str> = wanted.iter().copied().collect();
    let bring = |name| (name, required(library, name));
    let mut sets: Vec<(&str, Vec<&Skill>)> = wanted.into_iter().map(bring).collect();
    // The higher its priority, the earlier a skill is decided about.
    sets.sort_by_key(|(name, _)| std::cmp::Reverse(priority(library, name)));
    let mut refusals = BTreeMap::new();
    let active: Vec<&Skill> = active
        .iter()
        .filter_map(|name| library.skill(name))
        .collect();
    for (name, set) in &sets {
        if let Some(with) = clash(set, &active) {
            let with = with.manifest.name.clone();
            refusals.insert((*name).to_owned(), Refusal::Active { with });
        }
    }
    for (index, (name, set)) in sets.iter().enumerate() {
        for (other, others) in &sets[index + 1..] {
            let is_out = |name: &str| {
                matches!(
                    refusals.get(name),
                    Some(Refusal::Active { .. } | Refusal::Outranked { .. })
                )
            };
            if is_out(name) || is_out(other) || clash(set, others).is_none() {
                continue;
            }
            let (name, other) = ((*name).to_owned(), (*other).to_owned());
            if priority(library, &name) > priority(library, &other) {
                // One that is refused itself wins against nobody.
                if !refusals.contains_key(&name) {
                    refusals.insert(other, Refusal::Outranked { by: name });
                }
            } else {
                refusals.insert(
                    name.clone(),
                    Refusal::Undecided {
                        with: other.clone(),
                    },
                );
                refusals.insert(other, Refusal::Undecided { with: name });
            }
        }
    }
    refusals
}

/// Skills that require each other, each group once, by name.
pub fn cycles(library: &Library) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> = library
        .skills()
        .map(|skill| {
            let direct = skill.manifest.requires.iter();
            let reached = direct.flat_map(|name| required(library, name));
            let names = reached.map(|skill| skill.manifest.name.as_str()).collect();
            (skill.manifest.name.as_str(), names)
        })
        .collect();
    let mut groups: Vec<Vec<String>> = Vec::new();
    for (name, reached) in &reach {
        if !reached.contains(name) || groups.iter().flatten().any(|known| known == name) {
            continue;
        }
        let returns = |other: &&&str| reach.get(**other).is_some_and(|back| back.contains(name));
        groups.push(
            reached
                .iter()
                .filter(returns)
                .map(|name| (*name).to_owned())
                .collect(),
        );
    }
    groups
}

fn priority(library: &Library, name: &str) -> i32 {
    library
        .skill(name)
        .map_or(0, |skill| skill.manifest.priority)
}

/// The first of `others` that something in `set` cannot be beside, or that cannot be beside it.
fn clash<'a>(set: &[&Skill], others: &[&'a Skill]) -> Option<&'a Skill> {
    let conflict = |one: &Skill, other: &Skill| {
        one.manifest.conflicts.contains(&other.manifest.name)
            || other.manifest.conflicts.contains(&one.manifest.name)
    };
    others
        .iter()
        .copied()
        .find(|other| set.iter().any(|one| conflict(one, other)))
}
