//! The children of a session: sessions that it starts, within limits, and what becomes of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::board::Board;
use super::child::Seat;
use super::ending::{cancelled, domain_error, lost, unavailable, verdict};
use super::{AgentSettings, Cancel, Controller, Observer, Permissions};
use crate::message::Message;
use crate::plugins::{
    AGENT_CAPABILITY, Assignment, Caller, ChildLimits, ChildReport, ChildStart, ChildState,
    Context, DomainError, ErrorKind, Plugin, SubagentProvider,
};
use crate::prompt::{Prompt, PromptOptions};
use crate::provider::Provider;
use crate::registry::Registry;
use crate::session::{EndCause, EventData};
use crate::store::{SessionHeader, Store, StoreError};
use crate::surroundings::Surroundings;
use crate::wire;

/// Where the main agent's answers stand in a recording.
const MAIN: &str = "main";

/// The children of one session.
pub(crate) struct Family {
    seed: Mutex<Arc<Seed>>,
    /// Id of the session.
    session: String,
    place: Place,
    board: Arc<Board>,
    /// The messages of the turns before the one that runs.
    completed: Mutex<Vec<Arc<Message>>>,
    running: Mutex<BTreeMap<String, Running>>,
    /// Told when a child has ended.
    ended: watch::Sender<()>,
    /// How many children each call has started.
    started: Mutex<BTreeMap<String, u32>>,
}

/// What an agent like this one is made from.
pub(crate) struct Seed {
    pub(super) settings: AgentSettings,
    pub(super) registry: Arc<Registry>,
    pub(super) options: PromptOptions,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) permissions: Permissions,
    pub(super) store: Arc<dyn Store>,
    pub(super) surroundings: Arc<dyn Surroundings>,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) header: SessionHeader,
}

/// Where a session stands among those it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// `main`, or that of the parent and the call that started it.
    pub(super) path: String,
    /// 0 has no parent.
    pub(super) depth: u32,
}

struct Running {
    cancel: Cancel,
    /// Whether a call waits for it.
    attached: bool,
}

/// Cancels a child when nobody waits for it any more.
struct Leash(Cancel);

/// A child leaves when this goes, however its task ends.
struct Left(Arc<Family>, String);

type Ended = oneshot::Receiver<Result<ChildReport, DomainError>>;

impl Family {
    pub(super) fn new(seed: Seed, place: Place, board: Arc<Board>) -> Arc<Self> {
        Arc::new(Self {
            session: seed.header.id.clone(),
            seed: Mutex::new(Arc::new(seed)),
            place,
            board,
            completed: Mutex::default(),
            running: Mutex::default(),
            ended: watch::Sender::new(()),
            started: Mutex::default(),
        })
    }

    /// What children are made from now on: those that run go on as they are.
    pub(super) fn adopt(&self, seed: Seed) {
        *locked(&self.seed) = Arc::new(seed);
    }

    /// What children are made from.
    pub(super) fn seed(&self) -> Arc<Seed> {
        Arc::clone(&locked(&self.seed))
    }

    /// Where the answers of this session stand in a recording.
    pub(super) fn path(&self) -> &str {
        &self.place.path
    }

    /// Keeps what children may begin with: the conversation before the run that begins.
    pub(super) fn remember(&self, messages: &[Arc<Message>]) {
        *locked(&self.completed) = messages.to_vec();
    }

    /// The completed turns, without what the harness itself said in them.
    pub(super) fn completed_turns(&self) -> Vec<Message> {
        let completed = locked(&self.completed);
        let said = completed.iter().filter(|message| match &***message {
            Message::Developer { text } => wire::is_summary(text),
            _ => true,
        });
        said.map(|message| Message::clone(message)).collect()
    }

    /// Runs a child for a call; without the call it is cancelled.
    pub(super) async fn delegate(
        self: &Arc<Self>,
        caller: Caller,
        start: ChildStart,
    ) -> Result<ChildReport, DomainError> {
        let (id, ended) = self.begin(caller, start, true).await?;
        let cancel = locked(&self.running)
            .get(&id)
            .map(|child| child.cancel.clone());
        let _leash = cancel.map(Leash);
        ended.await.unwrap_or_else(|_| Err(lost()))
    }

    /// Starts a child that goes on by itself.
    pub(super) async fn detach(
        self: &Arc<Self>,
        caller: Caller,
        start: ChildStart,
    ) -> Result<String, DomainError> {
        let (id, _) = self.begin(caller, start, false).await?;
        Ok(id)
    }

    /// What became of a child, also of one that an earlier process started.
    pub(super) async fn state_of(&self, id: &str) -> Result<ChildState, DomainError> {
        self.must_be_ours(id).await?;
        if locked(&self.running).contains_key(id) {
            return Ok(ChildState::Running);
        }
        let events = self.seed().store.events(id, 0).await;
        let events = events.map_err(unavailable)?;
        let mut cause = None;
        let mut report = ChildReport {
            session: id.to_owned(),
            outcome: Default::default(),
        };
        let mut message = None;
        for event in events {
            match event.data {
                EventData::RunEnded { cause: ended } => cause = Some(ended),
                EventData::Done { message, .. } => report.outcome.text = message,
                EventData::Error { message: said, .. } => message = Some(said),
                _ => {}
            }
        }
        let cause = cause.unwrap_or(EndCause::Interrupted);
        Ok(match verdict(cause, message.as_deref()) {
            Ok(()) => ChildState::Ended(report),
            Err(error) => ChildState::Failed(error),
        })
    }

    /// Cancels a child; says whether it still ran.
    pub(super) async fn cancel(&self, id: &str) -> Result<bool, DomainError> {
        self.must_be_ours(id).await?;
        let running = locked(&self.running);
        let child = running.get(id);
        if let Some(child) = child {
            child.cancel.cancel();
        }
        Ok(child.is_some())
    }

    /// Whether children run that no call waits for.
    pub(super) fn has_detached(&self) -> bool {
        locked(&self.running).values().any(|child| !child.attached)
    }

    /// Waits until a child ends; at once if none runs.
    pub(super) async fn one_ends(&self) {
        let mut ended = self.ended.subscribe();
        if !locked(&self.running).is_empty() {
            // The sender lives in `self`, so waiting cannot fail.
            let _ = ended.changed().await;
        }
    }

    /// Waits until the children have ended that calls waited for: what they hold is released then.
    pub(super) async fn settled(&self) {
        let mut ended = self.ended.subscribe();
        while locked(&self.running).values().any(|child| child.attached) {
            ended.mark_unchanged();
            if locked(&self.running).values().any(|child| child.attached) {
                let _ = ended.changed().await;
            }
        }
    }

    /// Cancels all children.
    pub(super) fn cancel_all(&self) {
        for child in locked(&self.running).values() {
            child.cancel.cancel();
        }
    }

    /// Checks what is asked for, makes the child's session and starts it.
    async fn begin(
        self: &Arc<Self>,
        caller: Caller,
        start: ChildStart,
        attached: bool,
    ) -> Result<(String, Ended), DomainError> {
        let seed = self.seed();
        let (provider, plugin) = seed.registry.provider(&start.provider).ok_or_else(|| {
            let message = format!("there is no subagent provider `{}`", start.provider);
            DomainError::new(ErrorKind::NotFound, "no-provider", message)
        })?;
        self.check(provider, &start)?;
        let id = seed.surroundings.new_id().ok_or_else(lost)?;
        let cancel = Cancel::new();
        self.take_place(&id, &start.limits, &cancel, attached)?;
        let left = Left(Arc::clone(self), id.clone());
        let seat = self.seat(&seed, &id, &caller, &start, &cancel);
        let seat = seat.await.map_err(unavailable)?;
        self.board.leave(EventData::ChildStarted {
            child: id.clone(),
            provider: start.provider.clone(),
            plugin: plugin.info().id.clone(),
            call_id: caller.call_id.clone(),
        });
        let (sender, ended) = oneshot::channel();
        let assignment = Assignment {
            provider: start.provider,
            session: id.clone(),
            prompt: start.prompt,
            agent: start.agent,
            options: start.options,
        };
        let (family, plugin) = (Arc::clone(self), Arc::clone(plugin));
        // A child that nobody waits for reports on itself to nobody's call.
        let call_id = caller.call_id.filter(|_| attached);
        tokio::spawn(async move {
            let _left = left;
            let caller = Caller {
                session: caller.session,
                call_id,
                child: Some(seat.clone()),
            };
            let ended = family.run(&*plugin, &assignment, &caller, &seat).await;
            // The call may be gone; the log says how it ended.
            let _ = sender.send(ended);
        });
        Ok((id, ended))
    }

    /// Runs a child to its end, whatever that is.
    async fn run(
        &self,
        plugin: &dyn Plugin,
        assignment: &Assignment,
        caller: &Caller,
        seat: &Seat,
    ) -> Result<ChildReport, DomainError> {
        let seed = seat.seed();
        let context = seed.context();
        let mut work = plugin.start(assignment, &context, caller);
        let time = seat.limits().time;
        let stopped = tokio::select! {
            biased;
            done = &mut work => Ok(done.map_err(domain_error)),
            () = seat.cancel().cancelled() => Err(cancelled()),
            () = seed.surroundings.wait(time) => {
                seat.cancel().cancel();
                let message = format!("the child reached its time limit of {} s", time.as_secs());
                Err(DomainError::new(ErrorKind::Limit, "time", message))
            }
        };
        let result = match stopped {
            Ok(result) => result,
            Err(error) => {
                if seat.is_taken() {
                    // An agent of this host ends in order: every call of it gets its result.
                    let _ = work.await;
                }
                Err(error)
            }
        };
        let closed = seat.close(&assignment.prompt, &result).await;
        let error = result.as_ref().err().map(|error| error.code.clone());
        self.board.leave(EventData::ChildEnded {
            child: assignment.session.clone(),
            error,
        });
        closed.map_err(unavailable)?;
        let session = assignment.session.clone();
        result.map(|outcome| ChildReport { session, outcome })
    }

    /// What a start asks for must be what the provider can do.
    fn check(&self, provider: &SubagentProvider, start: &ChildStart) -> Result<(), DomainError> {
        let name = &provider.name;
        let can = |wish: &str| provider.capabilities.iter().any(|known| known == wish);
        let unsupported = |what: String| {
            let message = format!("the subagent provider `{name}` takes no {what}");
            Err(DomainError::new(ErrorKind::Invalid, "unsupported", message))
        };
        if start.agent.is_some() && !can(AGENT_CAPABILITY) {
            return unsupported("agent".to_owned());
        }
        if let Some(option) = start.options.iter().find(|option| !can(&option.name)) {
            return unsupported(format!("option `{}`", option.name));
        }
        if self.place.depth >= start.limits.depth {
            let message = format!(
                "a child here would be {} deep, {} are granted",
                self.place.depth + 1,
                start.limits.depth
            );
            return Err(DomainError::new(ErrorKind::Limit, "depth", message));
        }
        Ok(())
    }

    fn take_place(
        &self,
        id: &str,
        limits: &ChildLimits,
        cancel: &Cancel,
        attached: bool,
    ) -> Result<(), DomainError> {
        let mut running = locked(&self.running);
        if running.len() >= limits.children {
            let message = format!(
                "{} children run already, no more are granted",
                running.len()
            );
            return Err(DomainError::new(ErrorKind::Limit, "children", message));
        }
        let cancel = cancel.clone();
        running.insert(id.to_owned(), Running { cancel, attached });
        Ok(())
    }

    /// A child has ended.
    fn leave(&self, id: &str) {
        locked(&self.running).remove(id);
        self.ended.send_replace(());
    }

    /// The child's session, and its place in this family.
    async fn seat(
        self: &Arc<Self>,
        seed: &Arc<Seed>,
        id: &str,
        caller: &Caller,
        start: &ChildStart,
        cancel: &Cancel,
    ) -> Result<Arc<Seat>, StoreError> {
        let header = SessionHeader {
            id: id.to_owned(),
            created: seed.surroundings.now(),
            parent: Some(self.session.clone()),
            ..seed.header.clone()
        };
        let place = Place {
            path: self.child_path(caller.call_id.as_deref().unwrap_or(id)),
            depth: self.place.depth + 1,
        };
        let controller = Controller::start(
            Arc::clone(&seed.store),
            header,
            Arc::clone(&seed.surroundings),
            Arc::clone(&seed.observer),
        );
        let controller = controller.await?;
        let (family, seed) = (Arc::clone(self), Arc::clone(seed));
        let cancel = cancel.clone();
        Ok(Seat::new(
            family,
            seed,
            controller,
            place,
            start.limits,
            cancel,
        ))
    }

    /// Where a child's answers stand in a recording: the same however long its siblings take.
    fn child_path(&self, call: &str) -> String {
        let mut started = locked(&self.started);
        let count = started.entry(call.to_owned()).or_default();
        *count += 1;
        let path = format!("{}/{call}", self.place.path);
        match *count {
            1 => path,
            count => format!("{path}.{count}"),
        }
    }

    async fn must_be_ours(&self, id: &str) -> Result<(), DomainError> {
        let header = self.seed().store.header(id).await.map_err(unavailable)?;
        let parent = header.and_then(|header| header.parent);
        if parent.as_deref() == Some(&self.session) {
            return Ok(());
        }
        let message = format!("this session has no child `{id}`");
        Err(DomainError::new(ErrorKind::NotFound, "no-child", message))
    }
}

impl Seed {
    pub(super) fn of(
        settings: &AgentSettings,
        controller: &Controller,
        registry: &Arc<Registry>,
        prompt: &Prompt,
        provider: &Arc<dyn Provider>,
        permissions: &Permissions,
    ) -> Self {
        Self {
            settings: settings.clone(),
            registry: Arc::clone(registry),
            options: prompt.options().clone(),
            provider: Arc::clone(provider),
            permissions: permissions.clone(),
            store: Arc::clone(controller.store()),
            surroundings: Arc::clone(controller.announcer().shared_surroundings()),
            observer: Arc::clone(controller.announcer().observer()),
            header: controller.header().clone(),
        }
    }

    fn context(&self) -> Context {
        let Seed {
            settings,
            surroundings,
            header,
            ..
        } = self;
        Context {
            agent: settings.agent.clone(),
            model: Some(settings.model.clone()),
            prompt_variant: Some(header.variant.clone()),
            session: Some(header.id.clone()),
            cwd: header.directory.clone(),
            now: Some(surroundings.now()),
            ..Context::default()
        }
    }
}

impl Place {
    /// A session without a parent.
    pub(super) fn main() -> Self {
        Self {
            path: MAIN.to_owned(),
            depth: 0,
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.0.leave(&self.1);
    }
}

/// A panic while it was locked left nothing half done.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
