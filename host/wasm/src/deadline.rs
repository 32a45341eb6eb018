//! When a plugin's time is over.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often a clock that stands still is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// The deadline of one visit. It moves away while another session works for the plugin: that has
/// a limit of its own.
#[derive(Debug, Clone)]
pub(crate) struct Deadline(Arc<Mutex<Clock>>);

#[derive(Debug)]
struct Clock {
    end: Instant,
    held_since: Option<Instant>,
}

/// The plugin's time stands still while this lives.
pub(crate) struct Held(Deadline);

impl Deadline {
    pub(crate) fn after(time: Duration) -> Self {
        Self(Arc::new(Mutex::new(Clock {
            end: Instant::now() + time,
            held_since: None,
        })))
    }

    /// Whether it is over.
    pub(crate) fn has_passed(&self) -> bool {
        let clock = self.clock();
        clock.held_since.is_none() && Instant::now() >= clock.end
    }

    /// When to look again.
    pub(crate) fn next_look(&self) -> Instant {
        let clock = self.clock();
        match clock.held_since {
            Some(_) => Instant::now() + GLANCE,
            None => clock.end,
        }
    }

    /// Stops the clock.
    pub(crate) fn hold(&self) -> Held {
        self.clock().held_since = Some(Instant::now());
        Held(self.clone())
    }

    /// A panic while it was locked left nothing half done.
    fn clock(&self) -> MutexGuard<'_, Clock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut clock = self.0.clock();
        if let Some(since) = clock.held_since.take() {
            clock.end += since.elapsed();
        }
    }
}
