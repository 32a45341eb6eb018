//! The events of one session, for whoever follows it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_core::agent::Observer;
use raddle_core::session::{Event, EventData};
use raddle_core::store::{Store, StoreError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use super::metrics::Metrics;

/// Events that wait for a follower. One that falls further behind reads them from the log.
const WAITING: usize = 256;

/// Tells the events of a session on as they happen. It outlives the runs.
pub(crate) struct Hub {
    session: String,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
}

struct State {
    sender: broadcast::Sender<Told>,
    /// The answer that streams, so far.
    partial: String,
    /// The last event of the log.
    last: u64,
}

/// An event on its way to a follower.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) event: Arc<Event>,
    /// For a piece of an answer, where in it the piece stands, in bytes. 0 begins an answer anew.
    pub(crate) at: Option<usize>,
}

/// Follows a session from some event on: each event once, in order.
pub(crate) struct Feed {
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    receiver: broadcast::Receiver<Told>,
    /// Ends the feed when the host does.
    closing: watch::Receiver<bool>,
    /// Events of the log that come first.
    backlog: VecDeque<Event>,
    /// What was said of the answer that streamed when the feed began, after the event of that number.
    partial: Option<(u64, String)>,
    /// The last event that was given.
    last: u64,
}

impl Hub {
    pub(crate) fn new(session: &str, metrics: Arc<Metrics>) -> Arc<Self> {
        let (sender, _) = broadcast::channel(WAITING);
        Arc::new(Self {
            session: session.to_owned(),
            metrics,
            state: Mutex::new(State {
                sender,
                partial: String::new(),
                last: 0,
            }),
        })
    }

    /// The last event that is known here.
    pub(crate) fn last(&self) -> u64 {
        self.state().last
    }

    /// The log has events up to `last` when the session is taken into memory.
    pub(crate) fn begin_at(&self, last: u64) {
        let mut state = self.state();
        state.last = state.last.max(last);
        state.partial.clear();
    }

    /// How many follow the session.
    pub(crate) fn followers(&self) -> usize {
        self.state().sender.receiver_count()
    }

    /// Follows from the event after `after`.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) async fn follow(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        after: u64,
        closing: watch::Receiver<bool>,
    ) -> Result<Feed, StoreError> {
        let (partial, receiver) = self.listen();
        let mut feed = Feed {
            hub: Arc::clone(self),
            store: Arc::clone(store),
            receiver,
            closing,
            backlog: VecDeque::new(),
            partial,
            last: after,
        };
        feed.catch_up().await?;
        Ok(feed)
    }

    /// What is said of the answer that streams, and everything from now on.
    fn listen(&self) -> (Option<(u64, String)>, broadcast::Receiver<Told>) {
        let state = self.state();
        let partial = (!state.partial.is_empty()).then(|| (state.last, state.partial.clone()));
        (partial, state.sender.subscribe())
    }

    /// A panic while it was locked left nothing half done.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Hub {
    fn event(&self, event: &Event) {
        // Children have hubs of their own, if anybody follows them.
        if event.session != self.session {
            return;
        }
        let mut state = self.state();
        let mut at = None;
        match &event.data {
            EventData::TextDelta { text } => {
                at = Some(state.partial.len());
                state.partial.push_str(text);
            }
            EventData::AssistantMessage { .. } => state.partial.clear(),
            EventData::RunStarted {} => {
                self.metrics.running.inc();
            }
            EventData::RunEnded { cause } => {
                state.partial.clear();
                self.metrics.end_run(*cause);
            }
            _ => {}
        }
        state.last = state.last.max(event.seq);
        if state.sender.receiver_count() > 0 {
            let event = Arc::new(event.clone());
            // Without a receiver nobody misses it.
            let _ = state.sender.send(Told { event, at });
        }
    }
}

impl Feed {
    /// The next event; none when the host ends.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub(crate) async fn next(&mut self) -> Result<Option<Told>, StoreError> {
        loop {
            if let Some(told) = self.next_of_backlog() {
                return Ok(Some(told));
            }
            let told = tokio::select! {
                biased;
                told = self.receiver.recv() => told,
                _ = self.closing.wait_for(|closing| *closing) => return Ok(None),
            };
            match told {
                Ok(told) if told.event.seq == 0 => return Ok(Some(told)),
                Ok(told) if told.event.seq > self.last => {
                    self.last = told.event.seq;
                    return Ok(Some(told));
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => {
                    (self.partial, self.receiver) = self.hub.listen();
                    self.catch_up().await?;
                }
                Err(RecvError::Closed) => return Ok(None),
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), StoreError> {
        let entries = self.store.entries(&self.hub.session, self.last).await?;
        self.backlog = entries.into_iter().flatten().collect();
        Ok(())
    }

    /// What was logged before, with the answer that streamed then in its place.
    fn next_of_backlog(&mut self) -> Option<Told> {
        let next = self.backlog.front().map(|event| event.seq);
        if let Some((after, text)) = self
            .partial
            .take_if(|(after, _)| next.is_none_or(|seq| seq > *after))
        {
            // The answer may have come to its end since: then it is in the log, whole.
            let is_over = self.backlog.iter().any(|event| {
                event.seq > after && matches!(event.data, EventData::AssistantMessage { .. })
            });
            if !is_over {
                return Some(self.piece(text));
            }
        }
        let event = self.backlog.pop_front()?;
        self.last = event.seq;
        Some(Told {
            event: Arc::new(event),
            at: None,
        })
    }

    fn piece(&self, text: String) -> Told {
        let event = Event {
            seq: 0,
            time: String::new(),
            session: self.hub.session.clone(),
            run: 0,
            step: 0,
            data: EventData::TextDelta { text },
            display: true,
        };
        Told {
            event: Arc::new(event),
            at: Some(0),
        }
    }
}
