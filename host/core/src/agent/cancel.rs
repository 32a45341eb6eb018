//! Cancelling a run.

use std::sync::Arc;

use tokio::sync::watch;

/// A switch that cancels a run, shared by whoever may throw it. Each run has its own.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    /// Not cancelled.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Cancels; at once, and for good.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    /// Is done when it is cancelled.
    pub async fn cancelled(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}
