//! Kinds of injections, as plugins offer them.

use serde::{Deserialize, Serialize};

use super::envelope::Delivery;

/// How injections of a kind move. What it means to the model is a section of its plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kind {
    /// The tag the model sees: `artifact_update`.
    pub name: String,
    /// When its injections are delivered that do not say it themselves.
    pub delivery: Delivery,
    /// Which undelivered ones a newer one replaces.
    pub coalescing: Coalescing,
    /// Whether it never wakes an idle session.
    pub passive: bool,
    /// Whether its tag names the actor and the change.
    pub attributed: bool,
}

/// Which undelivered injections a newer one replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coalescing {
    /// None.
    KeepAll,
    /// All of the kind: each tells a whole state.
    SameKind,
    /// Those of the kind about the same subject.
    SameSubject,
}
