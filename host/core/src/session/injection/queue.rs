//! The queue: a fold over the log that says what waits, what is due, and what a new injection
//! comes to.

use std::collections::{BTreeMap, BTreeSet};

use super::envelope::{Actor, Delivery, Injection, InjectionFault, Subject};
use super::kind::{Coalescing, Kind};
use super::receipt::Receipt;
use crate::session::{Event, EventData};

/// Every injection of a session with what became of it.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    entries: BTreeMap<String, Entry>,
    /// Calls of the session: what their results tell need not be told again.
    calls: BTreeSet<String>,
    /// What the model was last told about each thing, the newest last.
    told: Vec<Told>,
}

#[derive(Debug, Clone)]
struct Entry {
    injection: Injection,
    state: Receipt,
}

/// A state of something that the model knows.
#[derive(Debug, Clone)]
struct Told {
    subject: Subject,
    /// The injection or the call that told it.
    by: String,
}

/// A place in the loop where injections can be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the first request of a run.
    RunStart,
    /// Before a later request of it.
    Step,
}

impl Queue {
    /// What a new injection comes to: itself and the receipts it causes, for the log. Nothing if
    /// its id is known. It must be without [faults](Injection::faults).
    pub fn accept(&self, injection: Injection, kinds: &[Kind]) -> Vec<EventData> {
        if self.entries.contains_key(&injection.id) {
            return Vec::new();
        }
        let coalescing = coalescing(&injection, kinds);
        let replaced: Vec<&Injection> = self
            .waiting()
            .filter(|other| coalescing.is_some_and(|rule| replaces(rule, &injection, other)))
            .filter(|other| !other.requires_decision)
            .collect();
        // Of two that tell of the same state, the one that says more is told.
        let twin = replaced.iter().find(|other| {
            coalescing == Some(Coalescing::SameSubject) && is_twin(&injection, other)
        });
        let says_less = twin.filter(|twin| injection.details.len() <= twin.details.len());
        let state = self
            .known_from(&injection)
            .or_else(|| Some(says_less?.id.clone()))
            .map(|because| Receipt::Suppressed { because })
            .or_else(|| {
                let newer = replaced
                    .iter()
                    .filter(|other| twin.is_none_or(|twin| twin.id != other.id))
                    .find(|other| injection.order(other).is_lt())?;
                let into = newer.id.clone();
                Some(Receipt::Coalesced { into })
            })
            .or_else(|| {
                let newer = self.delivered().find(|other| {
                    coalescing.is_some_and(|rule| replaces(rule, &injection, other))
                        && injection.is_older_than(other)
                })?;
                let because = format!("older than {}", newer.id);
                Some(Receipt::Dropped { because })
            })
            .unwrap_or(Receipt::Queued);
        let id = injection.id.clone();
        let fate = match state {
            Receipt::Suppressed { because } => {
                vec![EventData::InjectionSuppressed { id, because }]
            }
            Receipt::Coalesced { into } => vec![EventData::InjectionCoalesced { id, into }],
            Receipt::Dropped { because } => vec![EventData::InjectionDropped { id, because }],
            _ => replaced
                .iter()
                .map(|other| EventData::InjectionCoalesced {
                    id: other.id.clone(),
                    into: id.clone(),
                })
                .collect(),
        };
        let queued = EventData::InjectionQueued(Box::new(injection));
        std::iter::once(queued).chain(fate).collect()
    }

    /// The events of an injection that cannot be taken.
    pub fn refuse(&self, injection: Injection, fault: &InjectionFault) -> Vec<EventData> {
        if self.entries.contains_key(&injection.id) {
            return Vec::new();
        }
        let dropped = EventData::InjectionDropped {
            id: injection.id.clone(),
            because: fault.to_string(),
        };
        vec![EventData::InjectionQueued(Box::new(injection)), dropped]
    }

    /// What is to be delivered now, in order: when it happened, then its id.
    pub fn due(&self, moment: Moment, kinds: &[Kind]) -> Vec<&Injection> {
        let mut due: Vec<&Injection> = self
            .waiting()
            .filter(|injection| match moment {
                Moment::RunStart => true,
                Moment::Step => delivery(injection, kinds) == Delivery::Steer,
            })
            .collect();
        due.sort_by(|a, b| a.order(b));
        due
    }

    /// Whether something waits for the end of the run that ends now.
    pub fn has_follow_up(&self, kinds: &[Kind]) -> bool {
        self.waiting()
            .any(|injection| delivery(injection, kinds) == Delivery::FollowUp)
    }

    /// Whether something is worth a run of its own in an idle session: it steers, a decision is
    /// needed, and there is a task to decide it for.
    pub fn wakes(&self, has_active_task: bool, kinds: &[Kind]) -> bool {
        has_active_task
            && self.waiting().any(|injection| {
                let passive = kind(injection, kinds).is_none_or(|kind| kind.passive);
                injection.requires_decision
                    && !passive
                    && delivery(injection, kinds) == Delivery::Steer
            })
    }

    /// What became of an injection.
    pub fn receipt(&self, id: &str) -> Option<&Receipt> {
        self.entries.get(id).map(|entry| &entry.state)
    }

    /// What waits to be delivered, by id.
    pub fn waiting(&self) -> impl Iterator<Item = &Injection> {
        let waiting = |entry: &&Entry| entry.state == Receipt::Queued;
        self.entries
            .values()
            .filter(waiting)
            .map(|entry| &entry.injection)
    }

    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        match &event.data {
            EventData::InjectionQueued(injection) => {
                let entry = Entry {
                    injection: (**injection).clone(),
                    state: Receipt::Queued,
                };
                self.entries.entry(injection.id.clone()).or_insert(entry);
            }
            EventData::InjectionCoalesced { id, into } => {
                let into = into.clone();
                self.settle(id, Receipt::Coalesced { into });
            }
            EventData::InjectionSuppressed { id, because } => {
                let because = because.clone();
                self.settle(id, Receipt::Suppressed { because });
            }
            EventData::InjectionDropped { id, because } => {
                let because = because.clone();
                self.settle(id, Receipt::Dropped { because });
            }
            EventData::InjectionDismissed { id, reason } => {
                let reason = reason.clone();
                self.settle(id, Receipt::Dismissed { reason });
            }
            EventData::InjectionDelivered { id, .. } => {
                let (run, step) = (event.run, event.step);
                if let Some(subject) = self.settle(id, Receipt::Delivered { run, step }) {
                    self.tell(subject, id.clone());
                }
            }
            EventData::ToolCall { call, .. } => {
                self.calls.insert(call.id.clone());
            }
            EventData::ToolResult {
                call_id,
                artifact: Some(subject),
                ..
            } => self.tell(subject.clone(), call_id.clone()),
            _ => {}
        }
    }

    /// What became of an injection; gives what it is about, if it is known.
    fn settle(&mut self, id: &str, state: Receipt) -> Option<Subject> {
        let entry = self.entries.get_mut(id)?;
        entry.state = state;
        Some(entry.injection.subject.clone())
    }

    fn tell(&mut self, subject: Subject, by: String) {
        if subject.is_empty() {
            return;
        }
        self.told
            .retain(|told| !told.subject.is_same_thing(&subject));
        self.told.push(Told { subject, by });
    }

    /// Where the model has this from already: the call that did it, what last told the same
    /// state of the same thing, or an injection with the same key.
    fn known_from(&self, injection: &Injection) -> Option<String> {
        let origin = &injection.origin;
        if let Some(call) = &origin.tool_call_id
            && origin.actor == Some(Actor::Agent)
            && self.calls.contains(call)
        {
            return Some(call.clone());
        }
        if let Some(key) = &injection.dedupe_key {
            let same = self.entries.values().find(|entry| {
                let counts = matches!(entry.state, Receipt::Queued | Receipt::Delivered { .. });
                counts && entry.injection.dedupe_key.as_ref() == Some(key)
            });
            if let Some(entry) = same {
                return Some(entry.injection.id.clone());
            }
        }
        let told = self.told.iter().find(|told| {
            injection.subject.revision.is_some()
                && told.subject.revision == injection.subject.revision
                && told.subject.is_same_thing(&injection.subject)
        })?;
        (!injection.requires_decision).then(|| told.by.clone())
    }

    fn delivered(&self) -> impl Iterator<Item = &Injection> {
        let delivered = |entry: &&Entry| matches!(entry.state, Receipt::Delivered { .. });
        self.entries
            .values()
            .filter(delivered)
            .map(|entry| &entry.injection)
    }
}

fn kind<'a>(injection: &Injection, kinds: &'a [Kind]) -> Option<&'a Kind> {
    kinds.iter().find(|kind| kind.name == injection.kind)
}

/// Of a kind that nobody offers any more: with the next user message.
fn delivery(injection: &Injection, kinds: &[Kind]) -> Delivery {
    injection
        .delivery
        .or_else(|| kind(injection, kinds).map(|kind| kind.delivery))
        .unwrap_or(Delivery::NextTurn)
}

/// What may take part in coalescing, and how: never what needs a decision of its own.
fn coalescing(injection: &Injection, kinds: &[Kind]) -> Option<Coalescing> {
    if injection.requires_decision {
        return None;
    }
    kind(injection, kinds).map(|kind| kind.coalescing)
}

/// Whether both tell of the same state, which is known, of the same thing.
fn is_twin(one: &Injection, other: &Injection) -> bool {
    one.subject.revision.is_some()
        && one.subject.revision == other.subject.revision
        && one.subject.is_same_thing(&other.subject)
}

/// Whether, of two injections, the newer one takes the older one's place.
fn replaces(rule: Coalescing, one: &Injection, other: &Injection) -> bool {
    one.kind == other.kind
        && match rule {
            Coalescing::KeepAll => false,
            Coalescing::SameKind => true,
            Coalescing::SameSubject => one.subject.is_same_thing(&other.subject),
        }
}
