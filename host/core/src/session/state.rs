//! What a session knows beside its conversation: a fold over its events.

use std::collections::BTreeSet;

use super::compaction::Attempts;
use super::event::{Event, EventData};
use super::injection::Subject;
use super::skills::ActiveSkills;
use super::tasks::TaskList;
use crate::digest::Digest;

/// How many artifacts are remembered.
const ARTIFACTS: usize = 20;

/// State of the execution, which compaction and restarts do not touch. The injections that wait are
/// the [queue](super::injection::Queue)'s.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionState {
    /// The active skills.
    pub active_skills: ActiveSkills,
    /// The task list.
    pub tasks: TaskList,
    /// What was changed or shown last, the newest at the end.
    pub artifacts: Vec<Subject>,
    /// The notes that were read, in that order.
    pub knowledge: Vec<ActiveNote>,
    /// Namespaces of tools that were loaded.
    pub loaded_tools: BTreeSet<String>,
    /// The last pointers to notes, as the model was told them.
    pub hints: Option<String>,
    /// Compactions that did not help.
    pub compactions: Attempts,
}

/// A note that was read and not discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveNote {
    /// Its id.
    pub id: String,
    /// The state it was read in.
    pub revision: String,
    /// Digest of what the model reads of it.
    pub text: Digest,
}

impl ExecutionState {
    /// Takes in the next event.
    pub fn apply(&mut self, event: &Event) {
        if let EventData::TasksChanged(list) = &event.data
            && !self.tasks.apply(list)
        {
            return;
        }
        match &event.data {
            EventData::ToolResult {
                artifact: Some(subject),
                ..
            } => self.saw(subject),
            EventData::InjectionQueued(injection) => {
                // It is known to have changed; which state it is in now is the injection's to tell.
                let known = self
                    .artifacts
                    .iter_mut()
                    .find(|known| is_same(known, &injection.subject));
                if let Some(known) = known
                    && injection.subject.revision.is_some()
                {
                    known.revision.clone_from(&injection.subject.revision);
                }
            }
            EventData::NoteRead { id, revision, text } => {
                self.knowledge.retain(|note| note.id != *id);
                self.knowledge.push(ActiveNote {
                    id: id.clone(),
                    revision: revision.clone(),
                    text: *text,
                });
            }
            EventData::ToolsLoaded { namespace } => {
                self.loaded_tools.insert(namespace.clone());
            }
            EventData::NotesHinted { text, .. } => self.hints = Some(text.clone()),
            EventData::NoteDiscarded { id } => self.knowledge.retain(|note| note.id != *id),
            _ => {}
        }
        self.active_skills.apply(event);
        self.compactions.apply(event);
    }

    fn saw(&mut self, subject: &Subject) {
        self.artifacts.retain(|known| !is_same(known, subject));
        self.artifacts.push(subject.clone());
        if self.artifacts.len() > ARTIFACTS {
            self.artifacts.remove(0);
        }
    }
}

/// Whether both are about the same thing.
fn is_same(one: &Subject, other: &Subject) -> bool {
    match (&one.path, &other.path) {
        (Some(one), Some(other)) => one == other,
        _ => one.reference.is_some() && one.reference == other.reference,
    }
}
