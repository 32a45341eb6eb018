//! A session that is talked to: its agent, and what became of each run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, anyhow};
use raddle_core::agent::{Agent, AgentSettings, Asker, Cancel, Controller, Observer, Permissions};
use raddle_core::session::{EndCause, Event, EventData};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::Variant;
use crate::deployment::Deployment;
use crate::failure::Failure;
use crate::live::Live;
use crate::lock::Lock;
use crate::model::Link;
use crate::sessions::Opened;

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

    /// Whether children work in the background.
    pub(crate) fn is_at_work(&self) -> bool {
        self.agent.is_at_work()
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
        if !self.listens_for().await? {
            return Ok(());
        }
        let cancel = Cancel::new();
        let woken = std::pin::pin!(self.wake(&cancel));
        until_done(woken, &cancel).await?
    }

    /// Whether something was left for the idle session that is worth a run.
    pub(crate) async fn listens_for(&mut self) -> Result<bool, Failure> {
        Ok(self.agent.listen().await?)
    }

    /// Runs for what was left; nobody but `cancel` cancels it.
    pub(crate) async fn wake(&mut self, cancel: &Cancel) -> Result<(), Failure> {
        self.agent.wake(cancel).await?;
        Ok(())
    }

    /// Like [`run`](Self::run), for a run that somebody else may cancel too.
    pub(crate) async fn run_with(
        &mut self,
        message: &str,
        cancel: &Cancel,
    ) -> Result<Outcome, Failure> {
        let answered = std::pin::pin!(self.answer(message, cancel));
        until_done(answered, cancel).await?
    }

    /// The same for a run that nobody but `cancel` cancels.
    pub(crate) async fn answer(
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
        let cause = self.agent.run(message, cancel).await?;
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
    pub(crate) fn new(session: &str, observer: Arc<dyn Observer>) -> Arc<Self> {
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
