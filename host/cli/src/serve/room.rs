//! A session in memory: one task owns its conversation, and does what is asked of it in order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use raddle_core::agent::{Cancel, Observer as _};
use raddle_core::session::{Event, EventData};
use raddle_core::surroundings::Surroundings as _;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use super::hub::Hub;
use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::surroundings::Machine;

/// How often an idle session looks for what was left for it.
const LISTEN: Duration = Duration::from_millis(250);

/// How long a session stays in memory that nobody asks anything of.
const IDLE: Duration = Duration::from_secs(60);

/// Where a session may be in memory.
pub(crate) struct Slot {
    pub(crate) hub: Arc<Hub>,
    /// Locked while it is opened, asked something, or left.
    pub(crate) room: AsyncMutex<Option<Room>>,
}

/// A session in memory.
pub(crate) struct Room {
    orders: mpsc::Sender<Order>,
    work: Arc<Work>,
}

/// What goes on in it.
#[derive(Default)]
struct Work(Mutex<Busy>);

#[derive(Default)]
struct Busy {
    /// A message waits for its answer.
    asked: bool,
    cancel: Option<Cancel>,
}

/// A message of the user.
struct Order {
    message: String,
    cancel: Cancel,
}

impl Slot {
    pub(crate) fn new(hub: Arc<Hub>) -> Arc<Self> {
        Arc::new(Self {
            hub,
            room: AsyncMutex::default(),
        })
    }
}

impl Room {
    /// Takes a conversation in.
    pub(crate) fn open(slot: &Arc<Slot>, conversation: Conversation) -> Self {
        // One message waits at most.
        let (orders, inbox) = mpsc::channel(1);
        let work = Arc::new(Work::default());
        let host = Resident {
            slot: Arc::clone(slot),
            conversation,
            work: Arc::clone(&work),
            inbox,
        };
        tokio::spawn(host.live());
        Self { orders, work }
    }

    /// Has the session answer a message; false if it is at another one.
    pub(crate) fn say(&self, message: String) -> bool {
        let mut busy = self.work.busy();
        if busy.asked {
            return false;
        }
        let cancel = Cancel::new();
        let order = Order {
            message,
            cancel: cancel.clone(),
        };
        busy.asked = self.orders.try_send(order).is_ok();
        if busy.asked {
            busy.cancel = Some(cancel);
        }
        busy.asked
    }

    /// Whether a run is under way.
    pub(crate) fn is_running(&self) -> bool {
        self.work.busy().cancel.is_some()
    }

    /// Whether its task is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.orders.is_closed()
    }

    /// Cancels the run that is under way; says whether one was.
    pub(crate) fn cancel(&self) -> bool {
        let busy = self.work.busy();
        if let Some(cancel) = &busy.cancel {
            cancel.cancel();
        }
        busy.cancel.is_some()
    }
}

impl Work {
    /// A panic while it was locked left nothing half done.
    fn busy(&self) -> MutexGuard<'_, Busy> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task of a room.
struct Resident {
    slot: Arc<Slot>,
    conversation: Conversation,
    work: Arc<Work>,
    inbox: mpsc::Receiver<Order>,
}

impl Resident {
    async fn live(mut self) {
        let mut used = Instant::now();
        loop {
            let order = tokio::select! {
                biased;
                order = self.inbox.recv() => match order {
                    Some(order) => Some(order),
                    None => return,
                },
                () = tokio::time::sleep(LISTEN) => None,
            };
            let is_asked = order.is_some();
            if let Err(failure) = self.do_one(order).await {
                self.fail(&failure);
                // The log is what counts: it is read again by whoever asks next.
                let slot = Arc::clone(&self.slot);
                let mut room = slot.room.lock().await;
                *room = None;
                // Before somebody else can open it.
                drop(self);
                return;
            }
            if is_asked || self.conversation.is_at_work() {
                used = Instant::now();
            }
            if used.elapsed() < IDLE {
                continue;
            }
            // Whoever holds the lock is about to ask for something.
            let slot = Arc::clone(&self.slot);
            if let Ok(mut room) = slot.room.try_lock()
                && self.inbox.is_empty()
            {
                *room = None;
                drop(self);
                return;
            }
        }
    }

    async fn do_one(&mut self, order: Option<Order>) -> Result<(), Failure> {
        let Some(Order { message, cancel }) = order else {
            let cancel = Cancel::new();
            if self.conversation.listens_for().await? {
                self.work.busy().cancel = Some(cancel.clone());
                let woken = self.conversation.wake(&cancel).await;
                self.end();
                woken?;
            }
            return Ok(());
        };
        self.work.busy().cancel = Some(cancel.clone());
        let answered = self.conversation.answer(&message, &cancel).await;
        self.end();
        answered.map(drop)
    }

    /// A message that came meanwhile has its own turn next.
    fn end(&self) {
        let mut busy = self.work.busy();
        busy.asked = !self.inbox.is_empty();
        if !busy.asked {
            busy.cancel = None;
        }
    }

    /// Tells those who follow that nothing more will come.
    fn fail(&self, failure: &Failure) {
        tracing::error!(%failure, "a session failed");
        let header = self.conversation.controller().header();
        self.slot.hub.event(&Event {
            seq: 0,
            time: Machine.now(),
            session: header.id.clone(),
            run: self.conversation.controller().run(),
            step: 0,
            data: EventData::Error {
                code: "host".to_owned(),
                message: "the session cannot go on: the log of the host says why".to_owned(),
            },
            display: true,
        });
    }
}
