//! From a configuration to plugins and what each owns, with everything that is wrong with it.

use std::sync::Arc;

use raddle_core::agent::Rule;
use raddle_core::plugins::{Environment, Fact, Plugin};
use raddle_core::registry::{Registry, RegistryFault, RegistryOptions, contributions};
use raddle_wasm::{PluginSpec, Runtime};

use super::findings::{agent, load_finding, registry_finding, rules, skill_faults};
use super::{LeftOut, specification};
use crate::config::Config;
use crate::failure::Failure;
use crate::report::Finding;
use crate::terminal::CompileProgress;

/// What loading a deployment showed.
pub(crate) struct Examined {
    /// The plugins and what each owns; absent when they cannot be brought together.
    pub(crate) registry: Option<Registry>,
    /// Plugins are missing from `registry` that the deployment cannot do without: what refers to
    /// them is no fault of its own.
    pub(crate) partial: bool,
    /// `optional` plugins that did not load.
    pub(crate) left_out: Vec<LeftOut>,
    /// Everything that is wrong.
    pub(crate) faults: Vec<Finding>,
    /// `optional` plugins that loaded once, and then kept failing.
    pub(super) given_up: Vec<Arc<dyn Plugin>>,
    pub(super) rules: Vec<Rule>,
    pub(super) agent: Option<String>,
}

/// Loads as much of a deployment as can be loaded, and finds everything that is wrong with it
/// besides `faults`. Plugins in `without` are left out; one that is the same as a `known` one is that
/// one, with what became of it.
pub(crate) async fn examine(
    config: &Config,
    runtime: &Runtime,
    without: &[String],
    known: &[Arc<dyn Plugin>],
    mut faults: Vec<Finding>,
) -> Result<Examined, Failure> {
    let incomplete = !faults.is_empty();
    let rules = rules(config, &mut faults);
    let specs: Vec<PluginSpec> = config
        .plugins
        .iter()
        .filter(|plugin| !without.contains(&plugin.id))
        .map(|plugin| specification(plugin, config.directory()))
        .collect::<Result<_, _>>()?;
    let progress = CompileProgress::default();
    let loaded = runtime.load(specs, &progress).await;
    progress.finish();
    let plugins = loaded.plugins.into_iter();
    let plugins = plugins.map(|plugin| {
        let known = known.iter().find(|known| known.info() == plugin.info());
        known.cloned().unwrap_or(plugin)
    });
    let mut gathering = Gathering {
        config,
        plugins: plugins.collect(),
        partial: incomplete,
        left_out: Vec::new(),
        faults,
    };
    let given_up = gathering.give_up();
    for fault in &loaded.faults {
        gathering.fault(Some(&fault.plugin), load_finding(config, fault));
    }
    let registry = gathering.settle().await;
    let agent = match &registry {
        Some(registry) if !gathering.partial => agent(config, registry).unwrap_or_else(|fault| {
            gathering.faults.push(fault);
            None
        }),
        _ => None,
    };
    if let Some(registry) = registry.as_ref().filter(|_| !gathering.partial) {
        gathering.faults.extend(skill_faults(config, registry));
    }
    Ok(Examined {
        registry,
        agent,
        partial: gathering.partial,
        left_out: gathering.left_out,
        faults: gathering.faults,
        given_up,
        rules,
    })
}

/// What the host itself supplies to plugins.
fn environment(config: &Config) -> Environment {
    let deferred = (!config.deferred.is_empty()).then(|| Fact {
        name: "deferred-tools".to_owned(),
        value: config.deferred.join(" "),
    });
    Environment {
        facts: deferred.into_iter().collect(),
        ..Environment::default()
    }
}

/// Plugins on their way to a registry.
struct Gathering<'a> {
    config: &'a Config,
    plugins: Vec<Arc<dyn Plugin>>,
    partial: bool,
    left_out: Vec<LeftOut>,
    faults: Vec<Finding>,
}

impl Gathering<'_> {
    /// Leaves out what is `optional` and kept failing.
    fn give_up(&mut self) -> Vec<Arc<dyn Plugin>> {
        let is_given_up = |plugin: &Arc<dyn Plugin>| {
            plugin.is_quarantined() && self.is_optional(&plugin.info().id)
        };
        let (given_up, plugins) = self.plugins.iter().cloned().partition(is_given_up);
        self.plugins = plugins;
        for plugin in &given_up {
            let id = &plugin.info().id;
            let message = format!("plugin `{id}` kept failing, and is not called any more");
            let finding = self.config.finding(&["plugins", id], message);
            self.fault(Some(id), finding);
        }
        given_up
    }

    /// Brings the offers of all plugins together. A plugin at fault is left out and the others
    /// are asked again, so that one plugin's fault does not hide another's; whether that is a
    /// deployment is decided by the faults that remain.
    async fn settle(&mut self) -> Option<Registry> {
        let order = &self.config.tool_order;
        let options = RegistryOptions {
            tool_order: (!order.is_empty()).then(|| order.clone()),
            filter_order: self.config.filter_order.clone(),
        };
        let environment = environment(self.config);
        loop {
            let faults = match contributions(&self.plugins, &environment, &options).await {
                Ok(registry) => return Some(registry),
                Err(faults) => faults,
            };
            let before = self.plugins.len();
            let partial = self.partial;
            for fault in &faults {
                let blamed = blamed(fault);
                if !(partial && fault.is_about_absence()) {
                    self.fault(fault.plugin(), registry_finding(self.config, fault));
                }
                self.plugins
                    .retain(|plugin| Some(plugin.info().id.as_str()) != blamed);
            }
            if self.plugins.len() == before {
                return None;
            }
        }
    }

    /// Notes a fault: of an `optional` plugin it is the reason why it is left out.
    fn fault(&mut self, plugin: Option<&str>, finding: Finding) {
        let Some(id) = plugin.filter(|plugin| self.is_optional(plugin)) else {
            self.partial = true;
            self.faults.push(finding);
            return;
        };
        match self.left_out.iter_mut().find(|known| known.plugin == id) {
            Some(known) => known.faults.push(finding),
            None => self.left_out.push(LeftOut {
                plugin: id.to_owned(),
                faults: vec![finding],
            }),
        }
    }

    fn is_optional(&self, id: &str) -> bool {
        let mut plugins = self.config.plugins.iter();
        plugins.any(|plugin| plugin.id == id && plugin.optional)
    }
}

/// The plugin without which the others may agree.
fn blamed(fault: &RegistryFault) -> Option<&str> {
    match fault {
        RegistryFault::Duplicate { second, .. } | RegistryFault::WireCollision { second, .. } => {
            Some(second)
        }
        fault => fault.plugin(),
    }
}
