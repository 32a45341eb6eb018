//! Where sessions are kept and found, and how one comes to belong to this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use raddle_core::agent::{Controller, Observer};
use raddle_core::store::{SessionHeader, SessionSummary, Store};
use raddle_core::surroundings::Surroundings as _;
use tokio::task::JoinHandle;

use crate::config::{BASE, Config};
use crate::conversation::Watch;
use crate::deployment::{self, Deployment};
use crate::failure::Failure;
use crate::lock::Lock;
use crate::surroundings::Machine;

/// Where sessions are kept and found.
pub(crate) struct Sessions {
    pub(crate) store: Arc<dyn Store>,
    /// Holds a lock file for each session in use.
    locks: PathBuf,
}

/// A session opened by this process alone.
pub(crate) struct Opened {
    pub(crate) controller: Controller,
    /// Whether its prompt variant is decided.
    pub(crate) chosen: bool,
    pub(crate) watch: Arc<Watch>,
    pub(crate) lock: Lock,
}

/// The sessions, as soon as they are open.
pub(crate) struct Opening(JoinHandle<Result<Sessions, Failure>>);

impl Sessions {
    /// Opens the sessions of a deployment, while the plugins load.
    pub(crate) fn open(config: &Config) -> Opening {
        let path = deployment::store_path(Some(config));
        Opening(tokio::task::spawn_blocking(move || {
            let path = path?;
            Ok(Self {
                store: deployment::open_store(&path)?,
                locks: path.with_extension("locks"),
            })
        }))
    }

    /// A new session in `directory`.
    pub(crate) async fn start(
        &self,
        directory: &Path,
        deployment: &Deployment,
        variant: Option<&str>,
        observer: Arc<dyn Observer>,
    ) -> Result<Opened, Failure> {
        let id = new_id()?;
        self.start_as(&id, None, directory, deployment, variant, observer)
            .await
    }

    /// The same under an id, for an owner.
    pub(crate) async fn start_as(
        &self,
        id: &str,
        owner: Option<&str>,
        directory: &Path,
        deployment: &Deployment,
        variant: Option<&str>,
        observer: Arc<dyn Observer>,
    ) -> Result<Opened, Failure> {
        let variant = variant.map(|name| deployment.variant(name)).transpose()?;
        let header = SessionHeader {
            id: id.to_owned(),
            created: Machine.now(),
            parent: None,
            directory: Some(directory.display().to_string()),
            variant: variant
                .as_ref()
                .map_or(BASE, |variant| &variant.name)
                .to_owned(),
            deployment: Some(deployment.config.file.display().to_string()),
            owner: owner.map(str::to_owned),
        };
        let lock = Lock::take(&self.locks, &header.id)?;
        let watch = Watch::new(&header.id, observer);
        let store = Arc::clone(&self.store);
        let controller = Controller::start(store, header, Arc::new(Machine), watch.clone()).await;
        Ok(Opened {
            controller: controller?,
            chosen: variant.is_some(),
            watch,
            lock,
        })
    }

    /// A session to go on with: the one called `id`, else the newest of this deployment.
    pub(crate) async fn resume(
        &self,
        id: Option<&str>,
        deployment: &Deployment,
        observer: Arc<dyn Observer>,
    ) -> Result<Opened, Failure> {
        let id = match id {
            Some(id) => find(&*self.store, id).await?.header.id,
            None => {
                let file = deployment.config.file.display().to_string();
                let sessions = self.store.sessions().await?;
                let newest = sessions
                    .into_iter()
                    .find(|session| session.header.deployment.as_deref() == Some(&file));
                let message = "this deployment has no session to resume";
                newest
                    .ok_or_else(|| Failure::Misuse(message.to_owned()))?
                    .header
                    .id
            }
        };
        let lock = Lock::take(&self.locks, &id)?;
        let watch = Watch::new(&id, observer);
        let store = Arc::clone(&self.store);
        let controller = Controller::open(store, &id, Arc::new(Machine), watch.clone()).await;
        Ok(Opened {
            controller: controller?,
            chosen: true,
            watch,
            lock,
        })
    }
}

impl Opening {
    /// Waits until they are open.
    pub(crate) async fn opened(self) -> Result<Sessions, Failure> {
        self.0.await.context("the sessions cannot be opened")?
    }
}

/// The session whose id is `id` or, alone among all, starts with it.
pub(crate) async fn find(store: &dyn Store, id: &str) -> Result<SessionSummary, Failure> {
    let mut sessions = store.sessions().await?;
    if let Some(exact) = sessions.iter().position(|session| session.header.id == id) {
        return Ok(sessions.swap_remove(exact));
    }
    sessions.retain(|session| session.header.id.starts_with(id) && !id.is_empty());
    match sessions.len() {
        1 => Ok(sessions.swap_remove(0)),
        0 => Err(Failure::Misuse(format!(
            "there is no session `{id}`: `raddle session list` shows them"
        ))),
        several => Err(Failure::Misuse(format!(
            "{several} sessions start with `{id}`: write more of the id"
        ))),
    }
}

/// 64 random bits: short enough to type the beginning of, and no two alike.
pub(crate) fn new_id() -> Result<String, Failure> {
    let id = Machine.new_id();
    id.ok_or_else(|| Failure::Unable(anyhow!("there are no random numbers")))
}
