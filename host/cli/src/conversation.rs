//! A session that is talked to: its agent, and what became of each run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, anyhow};
use raddle_core::agent::{Agent, AgentSettings, Asker, Cancel, Controller, Observer, Permissions};
use raddle_core::session::{EndCause, Event, EventData};
use raddle_core::store::{SessionHeader, SessionSummary, Store};
use raddle_core::surroundings::Surroundings as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use crate::config::{BASE, Config, Variant};
use crate::deployment::{self, Deployment};
use crate::failure::Failure;
use crate::live::Live;
use crate::lock::Lock;
use crate::model::Link;
use crate::surroundings::Machine;

/// Where sessions are kept and found.
pub(crate) struct Sessions {
    store: Arc<dyn Store>,
    /// Holds a lock file for each session in use.
    locks: PathBuf,
}

/// A session opened by this process alone.
pub(crate) struct Opened {
    controller: Controller,
    /// Whether its prompt variant is decided.
    chosen: bool,
    watch: Arc<Watch>,
    lock: Lock,
}

/// The sessions, as soon as they are open.
pub(crate) struct Opening(JoinHandle<Result<Sessions, Failure>>);

/// A session that can run.
pub(crate) struct Conversation {
    agent: Agent,
    /// The generation that the session runs on.
    deployment: Arc<Deployment>,
    /// The newest one.
    live: Option<Arc<Live>>,
    asker: Option<Arc<dyn Asker>>,
    provider: &'static str,
    /// The variants that the first message chooses from; none if that is decided.
    choice: Vec<Variant>,
    watch: Arc<Watch>,
    _lock: Lock,
}

/// What became of a run.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    cause: EndCause,
    /// `code` and `message` of the run's last error.
    error: Option<(String, String)>,
    /// The call that was not permitted, when the run did nothing more after it.
    denied: Option<Denied>,
    /// Whether the run ended with a message that the user is to act on.
    waits: bool,
    /// The session.
    session: String,
}

/// A call that was not permitted.
#[derive(Debug, Clone)]
struct Denied {
    tool: String,
    by: String,
    step: (u32, u32),
}

/// Passes events on and keeps what decides how the process ends.
pub(crate) struct Watch {
    /// The events of its children are shown, and decide nothing.
    session: String,
    observer: Arc<dyn Observer>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    error: Option<(String, String)>,
    denied: Option<Denied>,
    /// The last message that the user is to act on.
    asked: Option<Asked>,
}

/// A message that ended a run.
#[derive(Debug, Clone)]
struct Asked {
    intent: Option<String>,
    step: (u32, u32),
}

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
        let variant = variant.map(|name| deployment.variant(name)).transpose()?;
        let header = SessionHeader {
            id: new_id()?,
            created: Machine.now(),
            parent: None,
            directory: Some(directory.display().to_string()),
            variant: variant
                .as_ref()
                .map_or(BASE, |variant| &variant.name)
                .to_owned(),
            deployment: Some(deployment.config.file.display().to_string()),
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

impl Conversation {
    /// Makes a session ready to run.
    pub(crate) fn new(
        deployment: &Arc<Deployment>,
        link: &Link,
        opened: Opened,
        asker: Option<Arc<dyn Asker>>,
    ) -> Result<Self, Failure> {
        let header = opened.controller.header();
        let settings = settings(deployment, &header.variant, link.kind());
        let choice = match opened.chosen {
            true => Vec::new(),
            false => deployment.config.variants.clone(),
        };
        let agent = Agent::new(
            settings,
            opened.controller,
            Arc::clone(&deployment.registry),
            deployment.prompt()?,
            link.provider(),
            Permissions::new(Arc::clone(&deployment.rules), asker.clone()),
        );
        Ok(Self {
            agent,
            deployment: Arc::clone(deployment),
            live: None,
            asker,
            provider: link.kind(),
            choice,
            watch: opened.watch,
            _lock: opened.lock,
        })
    }

    /// Goes on with each new generation, from its next run on.
    pub(crate) fn follow(&mut self, live: &Arc<Live>) {
        self.agent.follow(Arc::clone(live) as _);
        self.live = Some(Arc::clone(live));
    }

    /// The generation that the session runs on.
    pub(crate) fn deployment(&self) -> &Arc<Deployment> {
        &self.deployment
    }

    /// Takes the newest generation over, if it is another one for this session.
    fn adopt(&mut self) -> Result<(), Failure> {
        let Some(live) = &self.live else {
            return Ok(());
        };
        let next = live.current();
        if Arc::ptr_eq(&next, &self.deployment) || !self.deployment.gives_way_to(&next) {
            return Ok(());
        }
        let variant = &self.agent.controller().header().variant;
        self.agent.adopt(
            settings(&next, variant, self.provider),
            Arc::clone(&next.registry),
            next.prompt()?,
            Permissions::new(Arc::clone(&next.rules), self.asker.clone()),
        );
        self.deployment = next;
        Ok(())
    }

    /// The session.
    pub(crate) fn controller(&self) -> &Controller {
        self.agent.controller()
    }

    /// Runs until the message is answered. Ctrl-C cancels the run; a second one ends the process
    /// at once, which loses nothing that was logged.
    pub(crate) async fn run(&mut self, message: &str) -> Result<Outcome, Failure> {
        self.run_with(message, &Cancel::new()).await
    }

    /// Compacts because the user asks for it. Says whether something was cut.
    pub(crate) async fn compact(&mut self) -> Result<bool, Failure> {
        let cancel = Cancel::new();
        let compacted = std::pin::pin!(self.agent.compact(&cancel));
        Ok(until_done(compacted, &cancel).await??)
    }

    /// Goes on as long as children work in the background, and tells the agent of each that ends.
    pub(crate) async fn settle(&mut self) -> Result<(), Failure> {
        let cancel = Cancel::new();
        let settled = std::pin::pin!(self.agent.settle(&cancel));
        match until_done(settled, &cancel).await?? {
            _ if cancel.is_cancelled() => Err(Failure::Interrupted),
            () => Ok(()),
        }
    }

    /// Runs if something was left for the idle session that is worth a run.
    pub(crate) async fn listen(&mut self) -> Result<(), Failure> {
        if !self.agent.listen().await? {
            return Ok(());
        }
        let cancel = Cancel::new();
        let woken = std::pin::pin!(self.agent.wake(&cancel));
        until_done(woken, &cancel).await??;
        Ok(())
    }

    /// Like [`run`](Self::run), for a run that somebody else may cancel too.
    pub(crate) async fn run_with(
        &mut self,
        message: &str,
        cancel: &Cancel,
    ) -> Result<Outcome, Failure> {
        *self.watch.seen() = Seen::default();
        self.adopt()?;
        let choice = std::mem::take(&mut self.choice);
        if let Some(variant) = choice.into_iter().find(|variant| variant.is_about(message)) {
            self.agent
                .choose_variant(&variant.name, variant.preload)
                .await?;
        }
        let cause = {
            let run = std::pin::pin!(self.agent.run(message, cancel));
            until_done(run, cancel).await??
        };
        let seen = std::mem::take(&mut *self.watch.seen());
        let controller = self.agent.controller();
        let last = (controller.run(), controller.step());
        let asked = seen.asked.filter(|asked| asked.step == last);
        let has_open_task = controller.tasks().is_active();
        Ok(Outcome {
            cause,
            waits: asked.is_some_and(|asked| asked.waits(has_open_task)),
            session: controller.header().id.clone(),
            error: seen.error,
            denied: seen.denied,
        })
    }
}

/// What a deployment fixes about the requests of a session.
fn settings(deployment: &Deployment, variant: &str, provider: &str) -> AgentSettings {
    let variant = deployment.variant(variant);
    AgentSettings {
        // A session whose variant is gone goes on without what it preloaded.
        preload: variant.map_or_else(|_| Vec::new(), |variant| variant.preload),
        ..deployment.agent_settings(provider)
    }
}

/// Turns what became of the only run into what the process ends with.
pub(crate) fn finish(outcome: &Outcome) -> Result<(), Failure> {
    match outcome.cause {
        EndCause::Answered | EndCause::Yielded => match &outcome.denied {
            None if outcome.cause == EndCause::Yielded && outcome.waits => {
                let id = &outcome.session;
                Err(Failure::Stopped(format!(
                    "the agent waits for the user: `raddle exec --resume {id}` or `raddle run \
                     --resume {id}` answers it"
                )))
            }
            None => Ok(()),
            Some(Denied { tool, by, .. }) if by == "no-terminal" => Err(Failure::Stopped(format!(
                "`{tool}` was not permitted, and nobody could be asked: a \
                     [[permission.rule]] with `action = \"allow\"` lets it run"
            ))),
            Some(Denied { tool, by, .. }) => Err(Failure::Stopped(format!(
                "`{tool}` was not permitted, by decision of the {by}"
            ))),
        },
        EndCause::Cancelled | EndCause::Interrupted => Err(Failure::Interrupted),
        EndCause::Cut => Err(Failure::Stopped(
            "the answer was cut by the output limit".to_owned(),
        )),
        EndCause::StepLimit => Err(Failure::Stopped(
            "the limit of steps in one run was reached".to_owned(),
        )),
        EndCause::TokenLimit => Err(Failure::Stopped(
            "the limit of tokens in one run was reached".to_owned(),
        )),
        EndCause::Failed => match &outcome.error {
            Some((code, message)) if code == "prompt" => Err(Failure::bad(message)),
            Some((_, message)) => Err(Failure::Unable(anyhow!("{message}"))),
            None => Err(Failure::Unable(anyhow!("the run failed"))),
        },
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

impl Asked {
    /// Whether the user has something to do. Nothing is inferred from the words of the message: it
    /// says what it is, or no task is open.
    fn waits(&self, has_open_task: bool) -> bool {
        let intent = self.intent.as_deref().unwrap_or_default().trim();
        match intent.to_lowercase().as_str() {
            "complete" | "answer" => false,
            "" => has_open_task,
            _ => true,
        }
    }
}

impl Watch {
    fn new(session: &str, observer: Arc<dyn Observer>) -> Arc<Self> {
        Arc::new(Self {
            session: session.to_owned(),
            observer,
            seen: Mutex::default(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watch {
    fn event(&self, event: &Event) {
        match &event.data {
            _ if event.session != self.session => {}
            EventData::Error { code, message } => {
                self.seen().error = Some((code.clone(), message.clone()));
            }
            EventData::Permission {
                tool,
                allowed: false,
                by,
                ..
            } => {
                self.seen().denied = Some(Denied {
                    tool: tool.clone(),
                    by: by.clone(),
                    step: (event.run, event.step),
                });
            }
            EventData::Yield {
                block_on_user: true,
                intent,
                ..
            } => {
                self.seen().asked = Some(Asked {
                    intent: intent.clone(),
                    step: (event.run, event.step),
                });
            }
            // A later step found another way.
            EventData::ToolResult {
                is_error: false, ..
            } => {
                let mut seen = self.seen();
                let now = (event.run, event.step);
                seen.denied = seen.denied.take().filter(|denied| denied.step == now);
            }
            _ => {}
        }
        self.observer.event(event);
    }
}

/// Waits for a run; an interrupt cancels it.
async fn until_done<T>(
    mut run: std::pin::Pin<&mut impl Future<Output = T>>,
    cancel: &Cancel,
) -> Result<T, Failure> {
    let listen = |kind| signal(kind).context("signals cannot be received");
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    loop {
        tokio::select! {
            biased;
            done = &mut run => return Ok(done),
            _ = interrupt.recv() => if cancel.is_cancelled() {
                std::process::exit(130);
            },
            _ = terminate.recv() => {}
            _ = hang_up.recv() => {}
        }
        cancel.cancel();
    }
}

/// 64 random bits: short enough to type the beginning of, and no two alike.
pub(crate) fn new_id() -> Result<String, Failure> {
    let id = Machine.new_id();
    id.ok_or_else(|| Failure::Unable(anyhow!("there are no random numbers")))
}
