//! A deployment under a running session: watched, and replaced by a new generation when it has
//! changed and is good.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use notify::{RecursiveMode, Watcher as _};
use raddle_core::agent::Newest;
use raddle_core::digest::Digest;
use raddle_core::registry::Registry;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::deployment::Deployment;
use crate::failure::Failure;

/// How long nothing must have changed before it is looked at: whoever saves files saves several.
const QUIET: Duration = Duration::from_millis(200);

/// How often it is looked whether something has changed.
const LOOK: Duration = Duration::from_millis(100);

/// The newest generation of a deployment.
pub(crate) struct Live {
    current: Mutex<Arc<Deployment>>,
    changed: Arc<Changed>,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// A new generation is there.
    Ready {
        /// What is new about it for sessions that run.
        changes: Vec<String>,
        /// Plugins whose folders hold other texts: their sessions keep their prompt.
        texts: Vec<String>,
    },
    /// What is there now is bad, for these reasons: the generation before goes on.
    Refused(Vec<String>),
}

/// Watches until it is dropped.
pub(crate) struct Watching {
    task: JoinHandle<()>,
}

/// What is watched, and when it last changed.
#[derive(Default)]
struct Changed {
    paths: Mutex<Vec<PathBuf>>,
    at: Mutex<Option<Instant>>,
}

impl Live {
    pub(crate) fn of(deployment: Arc<Deployment>) -> Arc<Self> {
        Arc::new(Self {
            current: Mutex::new(deployment),
            changed: Arc::default(),
        })
    }

    /// The newest generation.
    pub(crate) fn current(&self) -> Arc<Deployment> {
        Arc::clone(&locked(&self.current))
    }

    /// Watches the deployment's files, and tells what becomes of each change.
    ///
    /// # Errors
    ///
    /// Files cannot be watched on this machine.
    pub(crate) fn watch(
        self: &Arc<Self>,
        tell: impl Fn(News) + Send + 'static,
    ) -> Result<Watching, Failure> {
        let changed = Arc::clone(&self.changed);
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<_>| {
            if event.is_ok_and(|event| changed.is_meant(&event)) {
                *locked(&changed.at) = Some(Instant::now());
            }
        })
        .context("files cannot be watched")?;
        let mut watched = BTreeMap::new();
        self.attend(&mut watcher, &mut watched);
        let live = Arc::clone(self);
        let mut is_whole = self.current().late().next().is_none();
        let mut was_refused = false;
        let task = tokio::spawn(async move {
            loop {
                if is_whole {
                    tokio::time::sleep(LOOK).await;
                    let is_wanted = !was_refused && live.current().has_one_to_give_up();
                    if !live.changed.has_settled() && !is_wanted {
                        continue;
                    }
                }
                is_whole = true;
                let news = live.reload().await;
                was_refused = matches!(news, Some(News::Refused(_)));
                if let Some(news) = news {
                    tell(news);
                }
                live.attend(&mut watcher, &mut watched);
            }
        });
        Ok(Watching { task })
    }

    /// Watches what the newest generation was made from.
    fn attend(
        &self,
        watcher: &mut notify::RecommendedWatcher,
        watched: &mut BTreeMap<PathBuf, RecursiveMode>,
    ) {
        // As the system's events name them.
        let named = |path: PathBuf| path.canonicalize().unwrap_or(path);
        let sources = self.current().sources();
        let sources: Vec<PathBuf> = sources.into_iter().map(named).collect();
        let mut wanted = BTreeMap::new();
        for source in &sources {
            // A file is often replaced by another one: its folder tells of both.
            let (folder, mode) = match (source.is_dir(), source.parent()) {
                (false, Some(parent)) => (parent, RecursiveMode::NonRecursive),
                _ => (&**source, RecursiveMode::Recursive),
            };
            let known = wanted.entry(folder.to_path_buf()).or_insert(mode);
            if mode == RecursiveMode::Recursive {
                *known = mode;
            }
        }
        *locked(&self.changed.paths) = sources;
        for folder in watched
            .keys()
            .filter(|folder| !wanted.contains_key(*folder))
        {
            // It may be gone.
            let _ = watcher.unwatch(folder);
        }
        for (folder, mode) in &wanted {
            if watched.get(folder) != Some(mode)
                && let Err(error) = watcher.watch(folder, *mode)
            {
                tracing::warn!(folder = %folder.display(), %error, "a folder is not watched");
            }
        }
        *watched = wanted;
    }

    /// Loads the deployment again, aside; it takes the place of the one before only if it is good.
    async fn reload(&self) -> Option<News> {
        let before = self.current();
        match again(&before).await {
            Ok(next) => {
                let (changes, texts) = changes(&before, &next);
                if changes.is_empty() && texts.is_empty() {
                    return None;
                }
                *locked(&self.current) = Arc::new(next);
                Some(News::Ready { changes, texts })
            }
            Err(failure) => {
                let reasons = failure.to_string();
                Some(News::Refused(reasons.lines().map(str::to_owned).collect()))
            }
        }
    }
}

impl Newest for Live {
    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&locked(&self.current).registry)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Changed {
    /// Whether an event changed something that is watched.
    fn is_meant(&self, event: &notify::Event) -> bool {
        if event.kind.is_access() {
            return false;
        }
        let paths = locked(&self.paths);
        let is_meant = |changed: &PathBuf| paths.iter().any(|path| changed.starts_with(path));
        event.paths.iter().any(is_meant)
    }

    /// Whether something changed, and nothing more for a while.
    fn has_settled(&self) -> bool {
        let mut at = locked(&self.at);
        let settled = at.is_some_and(|at| at.elapsed() >= QUIET);
        if settled {
            *at = None;
        }
        settled
    }
}

async fn again(before: &Deployment) -> Result<Deployment, Failure> {
    let config = Config::load(&before.config.file)?;
    for (key, is_same) in [
        ("model", config.model == before.config.model),
        ("store", config.store == before.config.store),
        ("serve", config.tokens == before.config.tokens),
    ] {
        if !is_same {
            let message = format!("[{key}] changed: that takes a new start");
            return Err(Failure::Bad(vec![config.finding(&[key], message)]));
        }
    }
    Deployment::load_after(config, before).await
}

/// What is new about a generation, and the plugins of which only the folders of texts are.
fn changes(before: &Deployment, next: &Deployment) -> (Vec<String>, Vec<String>) {
    let known = |deployment: &Deployment| -> BTreeMap<String, ([Digest; 2], Digest)> {
        let plugins = deployment.registry.plugins().iter();
        plugins
            .map(|plugin| {
                let info = plugin.info();
                let code = [info.digest, info.configuration];
                (info.id.clone(), (code, info.data))
            })
            .collect()
    };
    let (old, new) = (known(before), known(next));
    let (mut changes, mut texts) = (Vec::new(), Vec::new());
    for (id, (code, data)) in &new {
        match old.get(id) {
            None => changes.push(format!("`{id}` is new")),
            Some((known, _)) if known != code => changes.push(format!("`{id}` changed")),
            Some((_, known)) if known != data => texts.push(format!("`{id}`")),
            Some(_) => {}
        }
    }
    let gone = old.keys().filter(|id| !new.contains_key(*id));
    changes.extend(gone.map(|id| format!("`{id}` is gone")));
    if changes.is_empty() && before.config.text != next.config.text {
        changes.push(format!("{} changed", next.config.shown));
    }
    (changes, texts)
}

/// A panic while it was locked left nothing half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
