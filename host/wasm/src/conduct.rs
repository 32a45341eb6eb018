//! How a plugin behaves: how many of its calls run and wait, and whether it keeps failing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use raddle_core::plugins::Fault;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout_at;

use crate::deadline::Deadline;
use crate::fault::Place;
use crate::limits::Limits;

/// For each call of a plugin that may run, so many may wait.
const WAITING_PER_RUNNING: usize = 16;

/// The conduct of one loaded plugin, in all sessions.
#[derive(Debug)]
pub(crate) struct Conduct {
    strikes_allowed: u32,
    /// Failures in a row, by function.
    strikes: Mutex<BTreeMap<(&'static str, &'static str), u32>>,
    has_strikes: AtomicBool,
    quarantined: AtomicBool,
    running: Arc<Semaphore>,
    running_allowed: usize,
    waiting: AtomicUsize,
}

/// Somebody who waits; counted as long as it lives.
struct Waiting<'a>(&'a AtomicUsize);

impl Conduct {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            strikes_allowed: limits.strikes,
            strikes: Mutex::default(),
            has_strikes: AtomicBool::new(false),
            quarantined: AtomicBool::new(false),
            running: Arc::new(Semaphore::new(limits.concurrency)),
            running_allowed: limits.concurrency,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Whether it is called no more.
    pub(crate) fn is_quarantined(&self) -> bool {
        self.quarantined.load(Ordering::Relaxed)
    }

    /// A place among the calls that run. Waits for one, but neither for ever nor in a queue without
    /// end.
    pub(crate) async fn enter(&self, deadline: &Deadline) -> Result<OwnedSemaphorePermit, Fault> {
        if self.is_quarantined() {
            return Err(Fault::Quarantined {
                strikes: self.strikes_allowed,
            });
        }
        if let Ok(permit) = Arc::clone(&self.running).try_acquire_owned() {
            return Ok(permit);
        }
        let busy = Fault::Busy {
            running: self.running_allowed,
        };
        let waiting = Waiting(&self.waiting);
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        if before >= self.running_allowed.saturating_mul(WAITING_PER_RUNNING) {
            return Err(busy);
        }
        let permit = Arc::clone(&self.running).acquire_owned();
        let permit = timeout_at(deadline.next_look(), permit).await;
        drop(waiting);
        match permit {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(busy),
        }
    }

    /// A function did what it is for, or answered why not.
    pub(crate) fn well(&self, place: Place) {
        if self.has_strikes.load(Ordering::Relaxed) {
            let mut strikes = self.strikes.lock().unwrap_or_else(PoisonError::into_inner);
            strikes.remove(&place.name());
            self.has_strikes
                .store(!strikes.is_empty(), Ordering::Relaxed);
        }
    }

    /// A function trapped, went over a limit or broke the contract.
    pub(crate) fn strike(&self, place: Place) {
        let mut strikes = self.strikes.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_strikes.store(true, Ordering::Relaxed);
        let count = strikes.entry(place.name()).or_default();
        *count += 1;
        if *count >= self.strikes_allowed {
            self.quarantined.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
