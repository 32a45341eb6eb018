//! From specifications to plugins, all at once: compiled or taken from the cache in parallel,
//! checked, and every fault reported.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use raddle_core::digest::Digest;
use raddle_core::plugins::{Plugin, PluginInfo};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::cache::Cache;
use crate::conduct::Conduct;
use crate::contract::{self, Interface, Surface};
use crate::engine::{self, Allocation, MAX_INSTANCES, MAX_WAITING_FOR_CHILDREN};
use crate::exports::Exports;
use crate::grants::{Grants, Sandbox};
use crate::imports::process::Watcher;
use crate::imports::{self, HostEnvironment, Profile, State};
use crate::limits::Limits;
use crate::plugin::LoadedPlugin;
use crate::refusal::{LoadFault, LoadReason};
use crate::settings::{self, Declared};
use crate::source::{ComponentSource, check_preamble, memory_fault};
use crate::visit::Enterable;

/// Counts loadings.
static LOADED: AtomicU64 = AtomicU64::new(0);

/// How a runtime works.
#[derive(Debug, Clone, Default)]
pub struct RuntimeSettings {
    /// Where compiled components are kept, in a private directory below this one. Without it
    /// every component is compiled on every start.
    pub cache_dir: Option<PathBuf>,
    /// Where instances live.
    pub allocation: Allocation,
    /// The host's environment: what programs get of it is the grants' affair.
    pub environment: BTreeMap<String, OsString>,
    /// Names of variables that no program ever gets, granted or not: those that hold keys.
    pub withheld: Vec<String>,
    /// What ends running programs when this process is killed; without it they go on then.
    pub watcher: Option<Watcher>,
}

/// Loads and runs plugins. Cheap to clone; one is enough for a process.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

/// The runtime itself could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the plugin runtime cannot start: {message}")]
pub struct RuntimeFault {
    /// Why.
    pub message: String,
}

/// A plugin to load: what stands under `[plugins.ID]`, paths resolved.
#[derive(Debug, Clone)]
pub struct PluginSpec {
    /// The key under `[plugins]`.
    pub id: String,
    /// The source as the deployment writes it; for messages and [`PluginInfo`] only.
    pub source: String,
    /// The component.
    pub component: ComponentSource,
    /// The component's digest, if it is known for certain: it is not computed again then.
    pub digest: Option<Digest>,
    /// Its settings: a JSON object.
    pub settings: Value,
    /// Where relative paths in the settings start: the deployment's directory.
    pub directory: PathBuf,
    /// What it may touch.
    pub grants: Grants,
    /// What it may use up.
    pub limits: Limits,
}

/// What became of the specifications.
#[derive(Default)]
pub struct Loaded {
    /// The good plugins, in the order of their specifications.
    pub plugins: Vec<Arc<dyn Plugin>>,
    /// Everything that is wrong with the others, in the order of the specifications.
    pub faults: Vec<LoadFault>,
}

/// Told what happens while plugins load, from the loading task.
pub trait LoadProgress: Sync {
    /// The component of `plugin` was not in the cache and is being compiled, which takes
    /// milliseconds to seconds.
    fn compiling(&self, plugin: &str) {
        let _ = plugin;
    }

    /// `plugin` is done, well or badly.
    fn finished(&self, plugin: &str) {
        let _ = plugin;
    }
}

/// Nobody is told.
impl LoadProgress for () {}

/// What a component is, without a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ComponentInfo {
    /// Digest of its bytes.
    pub digest: Digest,
    /// What it exports, sorted.
    pub exports: Vec<Interface>,
    /// What it imports, sorted, with the grants it needs.
    pub imports: Vec<Interface>,
}

struct Shared {
    engine: Engine,
    linker: Linker<State>,
    http_linker: OnceLock<Linker<State>>,
    cache: Option<Cache>,
    host: Arc<HostEnvironment>,
    instances: Arc<Semaphore>,
}

/// The components of plugins that load together: one in several plugins is one in memory.
#[derive(Default)]
struct Components(Mutex<BTreeMap<Digest, Arc<Mutex<Option<Component>>>>>);

/// A message from a loading thread.
enum Event {
    Compiling(usize),
    Finished(usize, Box<Result<LoadedPlugin, Vec<LoadReason>>>),
}

impl Runtime {
    /// A runtime. A cache directory that cannot be used is logged, and done without.
    ///
    /// # Errors
    ///
    /// The engine cannot be set up on this machine.
    pub fn new(settings: &RuntimeSettings) -> Result<Self, RuntimeFault> {
        let fault = |error: wasmtime::Error| RuntimeFault {
            message: format!("{error:#}"),
        };
        let engine = engine::build(settings.allocation).map_err(fault)?;
        let linker = imports::linker(&engine).map_err(fault)?;
        let cache = settings.cache_dir.as_ref().and_then(|directory| {
            Cache::open(directory, &engine)
                .inspect_err(|error| tracing::warn!(%error, "compiled plugins are not kept"))
                .ok()
        });
        Ok(Self {
            shared: Arc::new(Shared {
                engine,
                linker,
                http_linker: OnceLock::new(),
                cache,
                host: Arc::new(HostEnvironment {
                    variables: settings.environment.clone(),
                    withheld: settings.withheld.clone(),
                    watcher: settings.watcher.clone(),
                    children: Arc::new(Semaphore::new(MAX_WAITING_FOR_CHILDREN)),
                }),
                instances: Arc::new(Semaphore::new(MAX_INSTANCES as usize)),
            }),
        })
    }

    /// Loads plugins in parallel. A bad one does not keep the others from loading: who decides
    /// what that means for the deployment gets all faults at once.
    ///
    /// Must be called within a tokio runtime.
    pub async fn load(&self, specs: Vec<PluginSpec>, progress: &dyn LoadProgress) -> Loaded {
        let specs = Arc::new(specs);
        let (events, mut told) = mpsc::unbounded_channel();
        let next = Arc::new(AtomicUsize::new(0));
        let components = Arc::new(Components::default());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads.min(specs.len()) {
            let (shared, specs) = (self.shared.clone(), specs.clone());
            let (events, next, components) = (events.clone(), next.clone(), components.clone());
            tokio::task::spawn_blocking(move || {
                while let Some((index, spec)) = take(&next, &specs) {
                    let compiling = || {
                        let _ = events.send(Event::Compiling(index));
                    };
                    let result = Box::new(shared.load(spec, &components, &compiling));
                    if events.send(Event::Finished(index, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(events);
        let mut results: Vec<_> = specs.iter().map(|_| None).collect();
        while let Some(event) = told.recv().await {
            match event {
                Event::Compiling(index) => progress.compiling(&specs[index].id),
                Event::Finished(index, result) => {
                    progress.finished(&specs[index].id);
                    results[index] = Some(result);
                }
            }
        }
        let mut loaded = Loaded::default();
        for (spec, result) in specs.iter().zip(results) {
            let faults = match result.map(|result| *result) {
                Some(Ok(plugin)) => {
                    loaded.plugins.push(Arc::new(plugin));
                    continue;
                }
                Some(Err(faults)) => faults,
                None => vec![LoadReason::Invalid {
                    message: "the compiler gave up".to_owned(),
                }],
            };
            loaded
                .faults
                .extend(faults.into_iter().map(|reason| LoadFault {
                    plugin: spec.id.clone(),
                    reason,
                }));
        }
        loaded
    }

    /// Says what a component is. It need not be a plugin. Compiles it if the cache does not know
    /// it, and blocks meanwhile.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not a component.
    pub fn inspect(&self, component: &ComponentSource) -> Result<ComponentInfo, LoadReason> {
        let (digest, component) =
            self.shared
                .compiled(component, None, &Components::default(), &|| ())?;
        let surface = Surface::of(&component);
        Ok(ComponentInfo {
            digest,
            exports: surface.exports,
            imports: surface.imports,
        })
    }
}

impl Components {
    /// The component with this digest: the one that is there, or what `make` gives. Who needs the
    /// same one meanwhile waits for it.
    fn get<E>(
        &self,
        digest: Digest,
        make: impl FnOnce() -> Result<Component, E>,
    ) -> Result<Component, E> {
        let place = Arc::clone(locked(&self.0).entry(digest).or_default());
        let mut place = locked(&place);
        match &*place {
            Some(component) => Ok(component.clone()),
            None => Ok(place.insert(make()?).clone()),
        }
    }
}

/// A panic while it was locked left nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The next specification that no thread has taken.
fn take<'a>(next: &AtomicUsize, specs: &'a [PluginSpec]) -> Option<(usize, &'a PluginSpec)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    specs.get(index).map(|spec| (index, spec))
}

impl Shared {
    fn load(
        &self,
        spec: &PluginSpec,
        components: &Components,
        compiling: &dyn Fn(),
    ) -> Result<LoadedPlugin, Vec<LoadReason>> {
        let (digest, component) = self
            .compiled(&spec.component, spec.digest, components, compiling)
            .map_err(|fault| vec![fault])?;
        let surface = Surface::of(&component);
        let mut faults = contract::faults(&component, &surface, &spec.grants);
        faults.extend(memory_fault(&component, &spec.limits));
        let process = spec.grants.process.as_ref();
        if process.is_some_and(|process| process.sandbox == Sandbox::Require)
            && let Err(error) = imports::process::support()
        {
            faults.push(LoadReason::NoSandbox {
                message: error.to_string(),
            });
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let exports = surface.export_names();
        let unlinkable = |error: wasmtime::Error| {
            vec![LoadReason::Unlinkable {
                message: format!("{error:#}"),
            }]
        };
        let component = self
            .linker(&surface)
            .and_then(|linker| linker.instantiate_pre(&component))
            .map_err(unlinkable)?;
        let component = Enterable {
            profile: Arc::new(Profile {
                id: spec.id.clone(),
                number: LOADED.fetch_add(1, Ordering::Relaxed),
                settings: spec.settings.to_string(),
                files: OnceLock::new(),
                grants: spec.grants.clone(),
                limits: spec.limits,
                host: self.host.clone(),
            }),
            exports: Exports::find(&component, &exports).map_err(unlinkable)?,
            component,
            instances: self.instances.clone(),
            conduct: Conduct::new(&spec.limits),
        };
        let files = check_settings(spec, &component, &surface)?;
        let own_file = match &spec.component {
            ComponentSource::File(path) => Some(path.clone()),
            ComponentSource::Bytes(_) => None,
        };
        let named = component.profile.files.get();
        let is_single = |setting: &str| named.is_some_and(|named| named.is_single(setting));
        let known = files
            .iter()
            .map(|file| (&*file.setting, &*file.path, &*file.digest));
        let (singles, folders): (Vec<_>, Vec<_>) = known.partition(|file| is_single(file.0));
        let named = named.into_iter().flat_map(Declared::paths);
        Ok(LoadedPlugin {
            sources: own_file.into_iter().chain(named).collect(),
            info: PluginInfo {
                configuration: configuration(spec, &singles),
                data: Digest::of(format!("{folders:?}")),
                id: spec.id.clone(),
                source: spec.source.clone(),
                digest,
                exports,
                imports: surface.import_names(),
            },
            component,
            files,
        })
    }

    /// The linker for a component: with `wasi:http` only for those that import it.
    fn linker(&self, surface: &Surface) -> wasmtime::Result<&Linker<State>> {
        if !surface.imports_package("wasi:http") {
            return Ok(&self.linker);
        }
        if let Some(linker) = self.http_linker.get() {
            return Ok(linker);
        }
        let linker = imports::with_http(&self.linker)?;
        Ok(self.http_linker.get_or_init(|| linker))
    }

    /// A component that another plugin has too, or from the cache, or compiled and kept there.
    fn compiled(
        &self,
        source: &ComponentSource,
        digest: Option<Digest>,
        components: &Components,
        compiling: &dyn Fn(),
    ) -> Result<(Digest, Component), LoadReason> {
        let known = digest.or_else(|| match (source, &self.cache) {
            (ComponentSource::File(path), Some(cache)) => cache.digest_of_file(path),
            _ => None,
        });
        if let Some(digest) = known
            && let Ok(component) = components.get(digest, || self.cached(&digest).ok_or(()))
        {
            return Ok((digest, component));
        }
        let bytes = source.read()?;
        let digest = digest.unwrap_or_else(|| self.digest(source, &bytes));
        let compile = || {
            check_preamble(&bytes)?;
            compiling();
            let component = Component::from_binary(&self.engine, &bytes);
            let component = component.map_err(|error| LoadReason::Invalid {
                message: format!("{error:#}"),
            })?;
            if let Some(cache) = &self.cache {
                cache.put(&digest, &component);
            }
            Ok(component)
        };
        let component = components.get(digest, || self.cached(&digest).map_or_else(compile, Ok))?;
        Ok((digest, component))
    }

    fn cached(&self, digest: &Digest) -> Option<Component> {
        self.cache.as_ref()?.get(&self.engine, digest)
    }

    /// The digest of what was read, remembered for a file that stays as it is.
    fn digest(&self, source: &ComponentSource, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        if let (ComponentSource::File(path), Some(cache)) = (source, &self.cache)
            && let Ok(metadata) = fs::metadata(path)
            && metadata.len() == bytes.len() as u64
        {
            cache.remember_file(path, &metadata, digest);
        }
        digest
    }
}

/// Digest of what a plugin is loaded with, its component and the folders that it reads apart.
fn configuration(spec: &PluginSpec, files: &[(&str, &str, &str)]) -> Digest {
    let PluginSpec {
        settings,
        directory,
        grants,
        limits,
        ..
    } = spec;
    Digest::of(format!(
        "{settings} {directory:?} {grants:?} {limits:?} {files:?}"
    ))
}

/// Checks the settings, and reads the files they name.
fn check_settings(
    spec: &PluginSpec,
    component: &Enterable,
    surface: &Surface,
) -> Result<Vec<crate::bindings::types::File>, Vec<LoadReason>> {
    let described = tokio::runtime::Handle::current().block_on(component.describe_settings());
    let Some(schema) = described.map_err(|error| vec![LoadReason::Failed(Box::new(error))])? else {
        let reads = surface
            .import_names()
            .iter()
            .any(|name| name == "settings-host");
        return match spec.settings.as_object() {
            Some(settings) if !settings.is_empty() && !reads => Err(vec![LoadReason::NoSettings {
                keys: settings.keys().cloned().collect::<Vec<_>>().join("`, `"),
            }]),
            _ => Ok(Vec::new()),
        };
    };
    let schema = match serde_json::from_str(&schema) {
        Ok(schema @ Value::Object(_)) => schema,
        Ok(_) => {
            return Err(vec![LoadReason::SettingsSchema {
                message: "it is not an object".to_owned(),
            }]);
        }
        Err(error) => {
            return Err(vec![LoadReason::SettingsSchema {
                message: error.to_string(),
            }]);
        }
    };
    let faults = settings::faults(&schema, &spec.settings);
    if !faults.is_empty() {
        return Err(faults);
    }
    settings::files(&schema, spec, &component.profile.files)
}
