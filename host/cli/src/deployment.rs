//! From a config to what can run: the one place where store, runtime, provider and registry are
//! wired together.

mod examine;
mod findings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use raddle_core::agent::{AgentSettings, Rule};
use raddle_core::plugins::Plugin;
use raddle_core::prompt::{Prompt, PromptOptions};
use raddle_core::registry::{Registry, ToolEntry};
use raddle_core::store::Store;
use raddle_store::SqliteStore;
use raddle_wasm::grants::Sandbox;
use raddle_wasm::imports::process;
use raddle_wasm::{ComponentSource, PluginSpec, Runtime, RuntimeSettings};
use serde_json::Value;

use crate::config::{self, BASE, Config, Source, Variant};
use crate::failure::Failure;
use crate::folders;
use crate::model;
use crate::programs;
use crate::report::{Finding, did_you_mean, in_order};
use crate::standard;
use findings::unknown_plugins;

pub(crate) use examine::{Examined, examine};

/// A deployment whose plugins are loaded and agree with each other.
pub(crate) struct Deployment {
    /// What it was made from.
    pub(crate) config: Config,
    /// The plugins and what each owns.
    pub(crate) registry: Arc<Registry>,
    /// `optional` plugins that did not load, each with the reason.
    pub(crate) left_out: Vec<LeftOut>,
    /// The permission rules.
    pub(crate) rules: Arc<[Rule]>,
    /// The agent that is active at the start.
    pub(crate) agent: Option<String>,
    /// `optional` plugins that kept failing: as long as they are what they are, they stay out.
    given_up: Vec<Arc<dyn Plugin>>,
    /// What runs the plugins.
    runtime: Runtime,
}

/// An `optional` plugin that did not load.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct LeftOut {
    /// Its id.
    pub(crate) plugin: String,
    /// Everything that is wrong with it.
    pub(crate) faults: Vec<Finding>,
}

/// A plugin whose programs the system does not hold to their grant.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Unsandboxed {
    /// Its id.
    pub(crate) plugin: String,
    /// Why.
    pub(crate) reason: String,
}

impl std::fmt::Display for Unsandboxed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { plugin, reason } = self;
        write!(
            formatter,
            "not sandboxed: the programs of `{plugin}` may do whatever you may: {reason}"
        )
    }
}

impl Deployment {
    /// Loads everything; any fault is a failure with all of them. Plugins in `without`, which must
    /// be there, are left out.
    pub(crate) async fn load(config: Config, without: &[String]) -> Result<Self, Failure> {
        let unknown = unknown_plugins(&config, without);
        if !unknown.is_empty() {
            return Err(Failure::Misuse(unknown.join("; ")));
        }
        let runtime = runtime(Some(&config))?;
        Self::load_with(config, runtime, without, &[]).await
    }

    /// Loads everything but what may be [`late`](config::Plugin::late), for a front end that takes that
    /// over when it is there.
    pub(crate) async fn load_early(config: Config) -> Result<Self, Failure> {
        let late = config.plugins.iter().filter(|plugin| plugin.late);
        let late: Vec<String> = late.map(|plugin| plugin.id.clone()).collect();
        Self::load(config, &late).await
    }

    /// Loads everything again. What is the same as before is kept, not copied: sessions that go on
    /// with it notice nothing.
    pub(crate) async fn load_after(config: Config, before: &Self) -> Result<Self, Failure> {
        let runtime = before.runtime.clone();
        let plugins = before.registry.plugins().iter();
        let known: Vec<_> = plugins.chain(&before.given_up).cloned().collect();
        Self::load_with(config, runtime, &[], &known).await
    }

    async fn load_with(
        config: Config,
        runtime: Runtime,
        without: &[String],
        known: &[Arc<dyn Plugin>],
    ) -> Result<Self, Failure> {
        let examined = examine(&config, &runtime, without, known, Vec::new()).await?;
        let registry = match examined.registry {
            Some(registry) if examined.faults.is_empty() => registry,
            _ => return Err(Failure::Bad(in_order(examined.faults))),
        };
        Ok(Self {
            registry: Arc::new(registry),
            left_out: examined.left_out,
            rules: examined.rules.into(),
            agent: examined.agent,
            given_up: examined.given_up,
            runtime,
            config,
        })
    }

    /// Whether a session should go on with `next` in place of this one. Folders that settings name
    /// hold texts that change by themselves, such as skills: for them alone no running session gets
    /// another prompt.
    pub(crate) fn gives_way_to(&self, next: &Self) -> bool {
        let known = |deployment: &Self| -> Vec<_> {
            let plugins = deployment.registry.plugins().iter();
            let infos = plugins.map(|plugin| plugin.info());
            infos
                .map(|info| (info.id.clone(), info.digest, info.configuration))
                .collect()
        };
        self.config.text != next.config.text || known(self) != known(next)
    }

    /// The plugins that are still to come.
    pub(crate) fn late(&self) -> impl Iterator<Item = &str> {
        let late = self.config.plugins.iter().filter(|plugin| plugin.late);
        let late = late.map(|plugin| &*plugin.id);
        late.filter(|id| self.registry.plugin(id).is_none() && !self.is_left_out(id))
    }

    /// Whether an `optional` plugin has begun to be called no more, so that it is to be left out.
    pub(crate) fn has_one_to_give_up(&self) -> bool {
        let mut optional = self.config.plugins.iter().filter(|plugin| plugin.optional);
        optional.any(|plugin| {
            let loaded = self.registry.plugin(&plugin.id);
            loaded.is_some_and(|loaded| loaded.is_quarantined())
        })
    }

    fn is_left_out(&self, id: &str) -> bool {
        self.left_out.iter().any(|left_out| left_out.plugin == id)
    }

    /// The files and folders that it was made from.
    pub(crate) fn sources(&self) -> Vec<PathBuf> {
        let plugins = self.registry.plugins().iter();
        let named = plugins.flat_map(|plugin| plugin.sources());
        // One that was left out may be mended.
        let components = self.config.plugins.iter();
        let components = components.filter_map(|plugin| match &plugin.source {
            Source::File(file) => Some(file),
            Source::Standard(_) => None,
        });
        let sources = named.chain(components).chain([&self.config.file]);
        let sources: BTreeSet<&PathBuf> = sources.collect();
        sources.into_iter().cloned().collect()
    }

    /// The tools that the agent may see, in the order they are sent.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &ToolEntry> {
        let agent = self
            .agent
            .as_deref()
            .and_then(|name| self.registry.agent(name));
        let sees = move |entry: &&ToolEntry| agent.is_none_or(|agent| agent.sees(&entry.tool.name));
        self.registry.tools().iter().filter(sees)
    }

    /// The prompt of a new session.
    pub(crate) fn prompt(&self) -> Result<Prompt, Failure> {
        let options = PromptOptions {
            dynamic: self.config.dynamic,
            deferred: self.config.deferred.iter().cloned().collect(),
            without: BTreeSet::new(),
        };
        Prompt::new(Arc::clone(&self.registry), self.agent.as_deref(), options)
            .map_err(|error| Failure::bad(error.to_string()))
    }

    /// What the deployment fixes about every request. `provider` is the kind that answers, which
    /// is `replay` for a recording.
    pub(crate) fn agent_settings(&self, provider: &str) -> AgentSettings {
        let model = self.config.model.as_ref();
        AgentSettings {
            agent: self.agent.clone(),
            provider: provider.to_owned(),
            model: self.model().to_owned(),
            options: model.map(|model| model.options.clone()).unwrap_or_default(),
            max_steps: None,
            max_tokens: None,
            window_tokens: model.and_then(|model| Some(u64::from(model.window_tokens?))),
            preload: Vec::new(),
            requirements: self.config.requirements.clone(),
        }
    }

    /// The variant called `name`; `base` needs no entry.
    pub(crate) fn variant(&self, name: &str) -> Result<Variant, Failure> {
        let mut variants = self.config.variants.iter();
        if let Some(variant) = variants.find(|variant| variant.name == name) {
            return Ok(variant.clone());
        }
        if name == BASE {
            return Ok(Variant::base());
        }
        let names = self
            .config
            .variants
            .iter()
            .map(|variant| variant.name.as_str());
        let hint = did_you_mean(name, names.chain([BASE]));
        Err(Failure::Misuse(format!(
            "this deployment has no prompt variant `{name}`{hint}"
        )))
    }

    /// The model's name: the active agent's own, else the deployment's; empty without any.
    pub(crate) fn model(&self) -> &str {
        let agent = self
            .agent
            .as_deref()
            .and_then(|name| self.registry.agent(name));
        agent
            .and_then(|entry| entry.agent.model.as_deref())
            .or_else(|| Some(self.config.model.as_ref()?.name.as_str()))
            .unwrap_or_default()
    }
}

/// The plugins whose programs may do whatever the user may.
pub(crate) fn unsandboxed(config: &Config) -> Vec<Unsandboxed> {
    let support = process::support();
    let reason = |sandbox| match (sandbox, &support) {
        (Sandbox::Off, _) => Some("its grant says so".to_owned()),
        (Sandbox::Try, Err(error)) => Some(error.to_string()),
        _ => None,
    };
    let plugins = config.plugins.iter().filter_map(|plugin| {
        Some(Unsandboxed {
            plugin: plugin.id.clone(),
            reason: reason(plugin.grants.process.as_ref()?.sandbox)?,
        })
    });
    plugins.collect()
}

/// The file that holds the sessions of a deployment, else that in the user's data folder.
pub(crate) fn store_path(config: Option<&Config>) -> Result<PathBuf, Failure> {
    match config.and_then(|config| config.store.clone()) {
        Some(path) => Ok(path),
        None => Ok(folders::data()?.join("sessions.db")),
    }
}

/// Opens the sessions in a file.
pub(crate) fn open_store(path: &Path) -> Result<Arc<dyn Store>, Failure> {
    let store = SqliteStore::open(path).map_err(anyhow::Error::from)?;
    Ok(Arc::new(store))
}

/// Opens the sessions of a deployment.
pub(crate) fn store(config: Option<&Config>) -> Result<Arc<dyn Store>, Failure> {
    open_store(&store_path(config)?)
}

/// The plugin runtime, with its cache in the user's cache folder; for the plugins of a deployment,
/// or for none that runs.
pub(crate) fn runtime(config: Option<&Config>) -> Result<Runtime, Failure> {
    let mut settings = RuntimeSettings {
        cache_dir: folders::cache().ok(),
        ..RuntimeSettings::default()
    };
    if let Some(config) = config {
        programs::conceal(config);
        settings.environment = programs::environment();
        settings.withheld = model::secret_variables(config.model.as_ref());
        let tokens = config.tokens.iter();
        settings
            .withheld
            .extend(tokens.map(|token| token.env.clone()));
        settings.watcher = Some(programs::watcher());
    }
    let runtime = Runtime::new(&settings).map_err(anyhow::Error::from)?;
    Ok(runtime)
}

/// The component of a source, with its digest where that is known.
pub(crate) fn component(
    source: &Source,
) -> Result<(ComponentSource, Option<raddle_core::digest::Digest>), Failure> {
    match source {
        Source::File(file) => Ok((ComponentSource::File(file.clone()), None)),
        Source::Standard(name) => {
            let (bytes, digest) = standard::find(name).map_err(Failure::Misuse)?.component()?;
            Ok((
                ComponentSource::Bytes(Bytes::from_static(bytes)),
                Some(digest),
            ))
        }
    }
}

fn specification(plugin: &config::Plugin, directory: &Path) -> Result<PluginSpec, Failure> {
    let (component, digest) = component(&plugin.source)?;
    Ok(PluginSpec {
        id: plugin.id.clone(),
        source: plugin.written.clone(),
        component,
        digest,
        settings: Value::Object(plugin.settings.clone()),
        directory: directory.to_path_buf(),
        grants: plugin.grants.clone(),
        limits: plugin.limits,
    })
}
