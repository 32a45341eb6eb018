//! From plugins to a registry: asking for offers until the environment settles.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;

use super::{Registry, RegistryFault, RegistryOptions};
use crate::plugins::{Entry, Environment, Offer, Plugin, SubagentProvider};

/// What one plugin contributes.
#[derive(Clone)]
pub struct Contribution {
    /// The plugin.
    pub plugin: Arc<dyn Plugin>,
    /// Its offer.
    pub offer: Offer,
}

/// Asks every plugin what it offers until what is present no longer changes, and builds the
/// registry from it, or gives every fault there is.
///
/// `host` is what the host itself supplies (facts); agents and tools are derived from the offers.
/// All plugins see the same environment in a round, so neither their order nor an event can
/// matter.
pub async fn contributions(
    plugins: &[Arc<dyn Plugin>],
    host: &Environment,
    options: &RegistryOptions,
) -> Result<Registry, Vec<RegistryFault>> {
    let mut plugins = plugins.to_vec();
    plugins.sort_by(|a, b| a.info().id.cmp(&b.info().id));
    let mut rounds: Vec<Round> = Vec::new();
    let mut environment = derived(host, &[]);
    loop {
        let (offers, faults) = ask(&plugins, &environment).await;
        let next = derived(host, &offers);
        let settled = next == environment;
        let turned = rounds.iter().position(|round| round.environment == next);
        rounds.push(Round {
            environment,
            offers,
        });
        if settled || !faults.is_empty() {
            let Some(Round {
                environment,
                offers,
            }) = rounds.pop()
            else {
                return Err(faults);
            };
            return finish(&plugins, environment, offers, faults, options);
        }
        // A chain in which each plugin waits for the one before takes one round a plugin.
        let longest = 2 * plugins.len() + 8;
        if turned.is_some() || rounds.len() > longest {
            let cycle = turned.unwrap_or(rounds.len().saturating_sub(2));
            return Err(vec![unsettled(&plugins, &rounds[cycle..])]);
        }
        environment = next;
    }
}

/// What every plugin offered in one environment. A plugin that failed has `None`.
struct Round {
    environment: Environment,
    offers: Vec<Option<Offer>>,
}

async fn ask(
    plugins: &[Arc<dyn Plugin>],
    environment: &Environment,
) -> (Vec<Option<Offer>>, Vec<RegistryFault>) {
    let mut faults = Vec::new();
    let answers = join_all(plugins.iter().map(|plugin| plugin.offer(environment))).await;
    let offers = answers
        .into_iter()
        .map(|answer| answer.map_err(|error| faults.push(error.into())).ok())
        .collect();
    (offers, faults)
}

fn derived(host: &Environment, offers: &[Option<Offer>]) -> Environment {
    let offers = || offers.iter().flatten();
    let sorted = |mut entries: Vec<Entry>| {
        entries.sort_by(|a, b| (&a.name, &a.description).cmp(&(&b.name, &b.description)));
        entries.dedup();
        entries
    };
    let mut facts = host.facts.clone();
    facts.sort_by(|a, b| (&a.name, &a.value).cmp(&(&b.name, &b.value)));
    Environment {
        agents: sorted(
            offers()
                .flat_map(|offer| &offer.agents)
                .map(|agent| Entry {
                    name: agent.name.clone(),
                    description: agent.description.clone(),
                })
                .collect(),
        ),
        tools: sorted(
            offers()
                .flat_map(|offer| &offer.tools)
                .map(|tool| Entry {
                    name: tool.name.clone(),
                    description: tool.description.clone(),
                })
                .collect(),
        ),
        providers: providers(offers().flat_map(|offer| &offer.providers)),
        facts,
    }
}

fn providers<'a>(offered: impl Iterator<Item = &'a SubagentProvider>) -> Vec<SubagentProvider> {
    let mut providers: Vec<SubagentProvider> = offered.cloned().collect();
    for provider in &mut providers {
        provider.capabilities.sort_unstable();
        provider.capabilities.dedup();
    }
    providers.sort_by(|a, b| {
        let key = |provider: &SubagentProvider| {
            (
                provider.name.clone(),
                provider.inherits_parent_context,
                provider.capabilities.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
    providers.dedup();
    providers
}

fn finish(
    plugins: &[Arc<dyn Plugin>],
    environment: Environment,
    offers: Vec<Option<Offer>>,
    mut faults: Vec<RegistryFault>,
    options: &RegistryOptions,
) -> Result<Registry, Vec<RegistryFault>> {
    let contributions = plugins
        .iter()
        .zip(offers)
        .filter_map(|(plugin, offer)| {
            Some(Contribution {
                plugin: Arc::clone(plugin),
                offer: offer?,
            })
        })
        .collect();
    if faults.is_empty() {
        return Registry::build(contributions, environment, options);
    }
    let (_, others) = Registry::build_all(contributions, environment, options);
    // What a plugin that failed to make its offer would have offered may be all that is missing.
    faults.extend(others.into_iter().filter(|fault| !fault.is_about_absence()));
    Err(faults)
}

fn unsettled(plugins: &[Arc<dyn Plugin>], cycle: &[Round]) -> RegistryFault {
    let Some((first, others)) = cycle.split_first() else {
        return RegistryFault::Unsettled {
            plugins: Vec::new(),
            entries: Vec::new(),
        };
    };
    let changing = plugins
        .iter()
        .enumerate()
        .filter(|(index, _)| {
            let changed = |round: &Round| round.offers[*index] != first.offers[*index];
            others.iter().any(changed)
        })
        .map(|(_, plugin)| plugin.info().id.clone())
        .collect();
    let mut entries = BTreeSet::new();
    for other in others {
        let (a, b) = (&first.environment, &other.environment);
        changed_names("agent", &a.agents, &b.agents, &mut entries);
        changed_names("tool", &a.tools, &b.tools, &mut entries);
        changed_providers(&a.providers, &b.providers, &mut entries);
    }
    RegistryFault::Unsettled {
        plugins: changing,
        entries: entries.into_iter().collect(),
    }
}

fn changed_providers(a: &[SubagentProvider], b: &[SubagentProvider], names: &mut BTreeSet<String>) {
    for (one, other) in [(a, b), (b, a)] {
        for provider in one.iter().filter(|provider| !other.contains(provider)) {
            names.insert(format!("subagent provider {}", provider.name));
        }
    }
}

fn changed_names(kind: &str, a: &[Entry], b: &[Entry], names: &mut BTreeSet<String>) {
    for (one, other) in [(a, b), (b, a)] {
        for entry in one.iter().filter(|entry| !other.contains(entry)) {
            names.insert(format!("{kind} {}", entry.name));
        }
    }
}
