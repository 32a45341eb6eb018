//! What is counted, for Prometheus.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use raddle_core::session::EndCause;

/// The counts of a host.
#[derive(Default)]
pub(crate) struct Metrics {
    /// Requests, by status.
    pub(crate) requests: Family<Status, Counter>,
    /// Runs that ended, by cause.
    pub(crate) runs: Family<Cause, Counter>,
    /// Runs under way.
    pub(crate) running: Gauge,
    /// Sessions in memory.
    pub(crate) sessions: Gauge,
    /// Followers of sessions.
    pub(crate) followers: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Status {
    pub(crate) status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Cause {
    pub(crate) cause: String,
}

impl Metrics {
    /// A run ended.
    pub(crate) fn end_run(&self, cause: EndCause) {
        self.running.dec();
        let cause = format!("{cause:?}").to_lowercase();
        self.runs.get_or_create(&Cause { cause }).inc();
    }

    /// All of them, as text.
    pub(crate) fn text(&self) -> String {
        let mut registry = Registry::with_prefix("raddle");
        registry.register("requests", "Requests, by status", self.requests.clone());
        registry.register("runs", "Runs that ended, by cause", self.runs.clone());
        registry.register("runs_running", "Runs under way", self.running.clone());
        registry.register("sessions", "Sessions in memory", self.sessions.clone());
        registry.register("followers", "Followers of sessions", self.followers.clone());
        let mut text = String::new();
        match encode(&mut text, &registry) {
            Ok(()) => text,
            // Writing to a string does not fail.
            Err(_) => String::new(),
        }
    }
}
