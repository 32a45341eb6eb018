//! What is wrong with a deployment, each thing at its place in the file.

use std::collections::BTreeSet;

use raddle_core::agent::Rule;
use raddle_core::registry::{Registry, RegistryFault};
use raddle_wasm::{LoadFault, LoadReason};

use crate::config::Config;
use crate::report::{Finding, did_you_mean, listed};

/// Skills that the config names and no plugin has.
pub(super) fn skill_faults(config: &Config, registry: &Registry) -> Vec<Finding> {
    let fault = |path: &[&str], name: &str| {
        let known = registry.skills().map(|skill| skill.name.as_str());
        let hint = did_you_mean(name, known);
        let message = format!("no plugin has the skill `{name}`{hint}");
        config.finding(path, message)
    };
    let is_missing = |name: &str| registry.skill_owner(name).is_none();
    let mut faults = Vec::new();
    for variant in &config.variants {
        for name in variant.preload.iter().filter(|name| is_missing(name)) {
            faults.push(fault(&["variants", &variant.name, "preload"], name));
        }
    }
    for requirement in &config.requirements {
        if is_missing(&requirement.skill) {
            faults.push(fault(&["skill", "rule"], &requirement.skill));
        }
    }
    faults
}

pub(super) fn unknown_plugins(config: &Config, without: &[String]) -> Vec<String> {
    let known: BTreeSet<&str> = config
        .plugins
        .iter()
        .map(|plugin| plugin.id.as_str())
        .collect();
    without
        .iter()
        .filter(|id| !known.contains(id.as_str()))
        .map(|id| {
            let hint = did_you_mean(id, known.iter().copied());
            format!("--without {id}: there is no such plugin{hint}")
        })
        .collect()
}

pub(super) fn rules(config: &Config, faults: &mut Vec<Finding>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (index, rule) in config.permissions.iter().enumerate() {
        let argument = rule.argument.as_deref().zip(rule.pattern.as_deref());
        match Rule::new(&rule.tool, argument, rule.action) {
            Ok(rule) => rules.push(rule),
            Err(error) => {
                let key = if error.pattern == rule.tool {
                    "tool"
                } else {
                    "match"
                };
                let path = ["permission", "rule", &index.to_string(), key];
                faults.push(config.finding(&path, error.to_string()));
            }
        }
    }
    rules
}

pub(super) fn load_finding(config: &Config, fault: &LoadFault) -> Finding {
    let mut path = vec!["plugins", &fault.plugin];
    match &fault.reason {
        LoadReason::Setting { key, .. } | LoadReason::SettingFile { key, .. } => {
            path.push("settings");
            path.extend(key.split('.'));
        }
        LoadReason::NoSettings { .. } => path.push("settings"),
        LoadReason::Memory { .. } => path.extend(["limits", "memory"]),
        LoadReason::NotGranted { .. } => {}
        _ => path.push("source"),
    }
    config.finding(&path, fault.to_string())
}

pub(super) fn registry_finding(config: &Config, fault: &RegistryFault) -> Finding {
    match fault {
        RegistryFault::UnknownOrderedTool { .. } | RegistryFault::OrderedTwice { .. } => {
            config.finding(&["tools", "order"], fault.to_string())
        }
        RegistryFault::UnknownOrderedFilter { .. } => {
            config.finding(&["filters", "order"], fault.to_string())
        }
        RegistryFault::Duplicate { second, .. } => {
            config.finding(&["plugins", second], fault.to_string())
        }
        _ => match fault.plugin() {
            Some(plugin) => config.finding(&["plugins", plugin], fault.to_string()),
            None => config.finding(&["plugins"], fault.to_string()),
        },
    }
}

/// The agent that the config names, else the only one there is.
pub(super) fn agent(config: &Config, registry: &Registry) -> Result<Option<String>, Finding> {
    let agents = registry.agents().iter();
    let names: Vec<&str> = agents.map(|entry| entry.agent.name.as_str()).collect();
    match (&config.agent, names.as_slice()) {
        (Some(wanted), names) if names.contains(&wanted.as_str()) => Ok(Some(wanted.clone())),
        (Some(wanted), names) => {
            let hint = did_you_mean(wanted, names.iter().copied());
            let message = format!("no plugin offers the agent `{wanted}`{hint}");
            Err(config.finding(&["agent", "default"], message))
        }
        (None, []) => Ok(None),
        (None, [only]) => Ok(Some((*only).to_owned())),
        (None, several) => Err(config.finding(
            &["agent"],
            format!(
                "there are several agents, {}: write `[agent] default = …` to choose one",
                listed(several)
            ),
        )),
    }
}
