//! The owner of a session's log and of everything folded from it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt as _};

use super::board::Board;
use super::twice::Twice;
use crate::prompt::TailEntry;
use crate::session::compaction::Attempts;
use crate::session::injection::{Kind, Moment, Queue};
use crate::session::skills::{ActiveSkills, ChecklistStep};
use crate::session::tasks::TaskList;
use crate::session::{EndCause, Event, EventData, ExecutionState, Generation, Transcript};
use crate::store::{Letter, SessionHeader, Store, StoreError};
use crate::surroundings::Surroundings;
use crate::wire;

/// Sees every event as it happens: the logged ones after they are durable, the others at once.
pub trait Observer: Send + Sync {
    /// Called in order, from whichever task the event comes from.
    fn event(&self, event: &Event);
}

/// Owns one session: the only writer of its log, and the keeper of what is folded from it.
///
/// An event is recorded at once, in memory, and becomes durable with the next commit: together
/// with others, and beside work that need not wait for it. Whatever acts outside the session (a
/// tool, a question to the user, the end of a run) comes after a commit.
pub struct Controller {
    store: Arc<dyn Store>,
    header: SessionHeader,
    announcer: Arc<Announcer>,
    seq: u64,
    /// Recorded and not yet on the way to the store.
    recorded: Vec<Event>,
    /// On the way to the store. Kept here, so that a commit that is dropped can be taken up again.
    writing: Option<BoxFuture<'static, Result<Vec<Event>, StoreError>>>,
    transcript: Transcript,
    queue: Arc<Mutex<Queue>>,
    board: Arc<Board>,
    state: ExecutionState,
    /// Whether the run before was ended by the end of its process.
    interrupted: bool,
    /// The last letter whose injection is recorded and not yet durable.
    taken: Option<i64>,
    generation: Option<Generation>,
    tail: BTreeMap<String, TailEntry>,
}

/// Stamps events and shows them, also from inside plugin calls.
pub(crate) struct Announcer {
    session: String,
    surroundings: Arc<dyn Surroundings>,
    observer: Arc<dyn Observer>,
    run: AtomicU32,
    step: AtomicU32,
    twice: Twice,
}

impl Controller {
    /// Starts a new session.
    pub async fn start(
        store: Arc<dyn Store>,
        header: SessionHeader,
        surroundings: Arc<dyn Surroundings>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StoreError> {
        store.create(header.clone()).await?;
        Ok(Self::new(store, header, surroundings, observer))
    }

    /// Opens a session from its log. A run that the process did not live to end is ended here:
    /// its open calls get results, so that the transcript is valid.
    pub async fn open(
        store: Arc<dyn Store>,
        session: &str,
        surroundings: Arc<dyn Surroundings>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, StoreError> {
        let header = store
            .header(session)
            .await?
            .ok_or_else(|| StoreError::Missing(session.to_owned()))?;
        let events = store.events(session, 0).await?;
        let mut controller = Self::new(store, header, surroundings, observer);
        let mut running = false;
        for event in &events {
            match event.data {
                EventData::RunStarted {} => running = true,
                EventData::RunEnded { .. } => running = false,
                _ => {}
            }
            controller.fold(event);
        }
        controller.board.restore(controller.state.tasks.clone());
        controller
            .board
            .show_skills(&controller.state.active_skills);
        controller.interrupted = running;
        if running {
            let mut ends = controller.answer_open(
                "interrupted",
                "the host ended during the call; what the call started may have gone on",
            );
            ends.push(EventData::RunEnded {
                cause: EndCause::Interrupted,
            });
            controller.record(ends);
            controller.commit().await?;
        }
        Ok(controller)
    }

    /// Chooses the prompt variant of a session that has not begun.
    pub(crate) async fn choose_variant(&mut self, variant: &str) -> Result<(), StoreError> {
        self.store.set_variant(&self.header.id, variant).await?;
        variant.clone_into(&mut self.header.variant);
        Ok(())
    }

    /// The session's header.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Where the session is kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The messages the model sees.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The injections of the session and what became of them.
    pub fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, for running calls.
    pub(crate) fn shared_queue(&self) -> &Arc<Mutex<Queue>> {
        &self.queue
    }

    /// The state of the execution.
    pub fn state(&self) -> &ExecutionState {
        &self.state
    }

    /// The task list.
    pub fn tasks(&self) -> &TaskList {
        &self.state.tasks
    }

    /// The active skills.
    pub fn skills(&self) -> &ActiveSkills {
        &self.state.active_skills
    }

    /// The count of compactions that did not help.
    pub(crate) fn attempts(&mut self) -> &mut Attempts {
        &mut self.state.compactions
    }

    /// Whether the run before was ended by the end of its process.
    pub(crate) fn was_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The task list as running calls see it.
    pub(crate) fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Records what calls have done to the session.
    pub(crate) fn record_changes(&mut self) {
        let changes = self.board.take_changes();
        self.record(changes);
    }

    /// Number of the last event.
    pub fn last(&self) -> u64 {
        self.seq
    }

    /// What the prompt was last made from.
    pub fn generation(&self) -> Option<&Generation> {
        self.generation.as_ref()
    }

    /// The tail entries in the transcript, each section's last.
    pub fn tail(&self) -> impl Iterator<Item = &TailEntry> {
        self.tail.values()
    }

    /// Number of the current run, 0 before the first.
    pub fn run(&self) -> u32 {
        self.announcer.run.load(Ordering::Relaxed)
    }

    /// Number of the current step in its run.
    pub fn step(&self) -> u32 {
        self.announcer.step.load(Ordering::Relaxed)
    }

    pub(crate) fn announcer(&self) -> &Arc<Announcer> {
        &self.announcer
    }

    pub(crate) fn begin_run(&mut self) {
        self.announcer.run.fetch_add(1, Ordering::Relaxed);
        self.announcer.step.store(0, Ordering::Relaxed);
    }

    pub(crate) fn begin_step(&mut self) {
        self.announcer.step.fetch_add(1, Ordering::Relaxed);
    }

    /// Records events: they are folded now, and durable and shown after the next [`commit`].
    ///
    /// [`commit`]: Self::commit
    pub(crate) fn record(&mut self, data: impl IntoIterator<Item = EventData>) {
        for data in data {
            let told = matters_to_checklists(&data).then(|| self.checklists());
            self.record_one(data);
            for (skill, steps) in told.map_or_else(BTreeMap::new, |told| self.changed_since(&told))
            {
                self.record_one(EventData::ChecklistChanged { skill, steps });
            }
        }
    }

    fn record_one(&mut self, data: EventData) {
        let event = self.announcer.stamp(self.seq + 1, data);
        self.fold(&event);
        self.recorded.push(event);
    }

    /// The checklists of the active skills that have one, by skill.
    fn checklists(&self) -> BTreeMap<String, Vec<ChecklistStep>> {
        let skills = self.state.active_skills.iter();
        let lists = skills.map(|active| (active.skill.name.clone(), active.checklist()));
        lists.filter(|(_, steps)| !steps.is_empty()).collect()
    }

    fn changed_since(
        &self,
        told: &BTreeMap<String, Vec<ChecklistStep>>,
    ) -> BTreeMap<String, Vec<ChecklistStep>> {
        let mut now = self.checklists();
        self.board.show_skills(&self.state.active_skills);
        now.retain(|skill, steps| told.get(skill) != Some(steps));
        now
    }

    /// Takes in what was left for the session: each injection is recorded with what it comes to.
    /// One that is known already changes nothing, so nothing is lost or doubled when the process
    /// ends between the log and the letter box.
    pub(crate) async fn take_mail(&mut self, kinds: &[Kind]) -> Result<(), StoreError> {
        for Letter {
            number,
            mut injection,
        } in self.store.mail(&self.header.id).await?
        {
            let directory = self.header.directory.as_deref();
            injection.subject = injection.subject.inside(directory);
            let faults = injection.faults(kinds);
            let events = match faults.first() {
                None => self.queue().accept(injection, kinds),
                Some(fault) => self.queue().refuse(injection, fault),
            };
            self.record(events);
            self.taken = Some(number);
        }
        Ok(())
    }

    /// Delivers what is due: it becomes part of the transcript.
    pub(crate) fn deliver(&mut self, moment: Moment, kinds: &[Kind]) {
        let due: Vec<EventData> = self
            .queue()
            .due(moment, kinds)
            .into_iter()
            .map(|injection| {
                let kind = kinds.iter().find(|kind| kind.name == injection.kind);
                EventData::InjectionDelivered {
                    id: injection.id.clone(),
                    kind: injection.kind.clone(),
                    text: wire::injection(injection, kind.is_some_and(|kind| kind.attributed)),
                }
            })
            .collect();
        self.record(due);
    }

    /// Whether everything that was recorded is durable.
    pub(crate) fn is_committed(&self) -> bool {
        self.writing.is_none() && self.recorded.is_empty()
    }

    /// Makes what was recorded durable, all or none, and shows it.
    ///
    /// # Errors
    ///
    /// The log cannot be written: nothing more can be done in this session.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        loop {
            let writing = match &mut self.writing {
                Some(writing) => writing,
                None if self.recorded.is_empty() => return Ok(()),
                none => none.insert(write(
                    Arc::clone(&self.store),
                    self.header.id.clone(),
                    std::mem::take(&mut self.recorded),
                )),
            };
            let written = writing.await;
            self.writing = None;
            for event in &written? {
                self.announcer.observer.event(event);
            }
            if self.recorded.is_empty()
                && let Some(number) = self.taken.take()
            {
                self.store.discard_mail(&self.header.id, number).await?;
            }
        }
    }

    /// Results for all calls that have none: every call is answered.
    pub(crate) fn answer_open(&self, code: &str, message: &str) -> Vec<EventData> {
        self.transcript
            .unanswered()
            .map(|call| EventData::ToolResult {
                call_id: call.id.clone(),
                text: wire::error_record(code, message),
                is_error: true,
                details: None,
                artifact: None,
            })
            .collect()
    }

    fn new(
        store: Arc<dyn Store>,
        header: SessionHeader,
        surroundings: Arc<dyn Surroundings>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let announcer = Arc::new(Announcer {
            session: header.id.clone(),
            surroundings,
            observer,
            run: AtomicU32::new(0),
            step: AtomicU32::new(0),
            twice: Twice::default(),
        });
        Self {
            store,
            header,
            announcer,
            seq: 0,
            recorded: Vec::new(),
            writing: None,
            transcript: Transcript::default(),
            queue: Arc::default(),
            board: Arc::default(),
            state: ExecutionState::default(),
            interrupted: false,
            taken: None,
            generation: None,
            tail: BTreeMap::new(),
        }
    }

    fn fold(&mut self, event: &Event) {
        self.seq = event.seq;
        self.announcer.run.store(event.run, Ordering::Relaxed);
        self.announcer.step.store(event.step, Ordering::Relaxed);
        match &event.data {
            EventData::Generation(generation) => self.generation = Some(generation.clone()),
            EventData::Context {
                section,
                plugin,
                text,
            } => {
                let entry = TailEntry::new(section.as_str(), plugin.as_str(), text.as_str());
                self.tail.insert(section.clone(), entry);
            }
            _ => {}
        }
        self.queue().apply(event);
        self.state.apply(event);
        self.transcript.apply(event);
    }
}

/// Whether an event may change what became of a step.
fn matters_to_checklists(data: &EventData) -> bool {
    match data {
        EventData::SkillActivated(_) | EventData::TasksChanged(_) => true,
        EventData::Yield { deviations, .. } => !deviations.is_empty(),
        _ => false,
    }
}

fn write(
    store: Arc<dyn Store>,
    session: String,
    events: Vec<Event>,
) -> BoxFuture<'static, Result<Vec<Event>, StoreError>> {
    async move {
        store.append(&session, &events).await?;
        Ok(events)
    }
    .boxed()
}

impl Announcer {
    /// Shows an event that is not logged.
    pub(crate) fn show(&self, data: EventData) {
        self.observer.event(&self.stamp(0, data));
    }

    /// What was shown of the answer whose calls are served.
    pub(crate) fn twice(&self) -> &Twice {
        &self.twice
    }

    pub(crate) fn surroundings(&self) -> &dyn Surroundings {
        &*self.surroundings
    }

    pub(crate) fn shared_surroundings(&self) -> &Arc<dyn Surroundings> {
        &self.surroundings
    }

    pub(crate) fn observer(&self) -> &Arc<dyn Observer> {
        &self.observer
    }

    /// Run and step that go on.
    pub(crate) fn place(&self) -> (u32, u32) {
        let run = self.run.load(Ordering::Relaxed);
        (run, self.step.load(Ordering::Relaxed))
    }

    fn stamp(&self, seq: u64, data: EventData) -> Event {
        Event {
            seq,
            time: self.surroundings.now(),
            session: self.session.clone(),
            run: self.run.load(Ordering::Relaxed),
            step: self.step.load(Ordering::Relaxed),
            display: data.is_displayed() && !self.twice.is_seen(&data),
            data,
        }
    }
}
