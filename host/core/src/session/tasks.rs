//! The task list: state of the session, not of the conversation. Every change is an event with
//! the whole list; the one with the highest revision is the list.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The tasks of a session, with the number of changes so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskList {
    /// Goes up by one with each change; a change names the revision it was made from.
    pub revision: u32,
    /// The tasks, in the order they are shown.
    pub tasks: Vec<Task>,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Unique in its list.
    pub id: String,
    /// What the user sees.
    pub label: String,
    /// How far it is.
    pub status: TaskStatus,
    /// For example why it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The step of a workflow's checklist that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<TaskStep>,
}

/// How far a task is. At most one of a list is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    Pending,
    /// Worked on now.
    InProgress,
    /// Done.
    Complete,
    /// It cannot go on.
    Blocked,
}

impl TaskStatus {
    /// The word for it: `in_progress`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Complete => "complete",
            Self::Blocked => "blocked",
        }
    }
}

/// A step of a workflow's checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStep {
    /// The workflow.
    pub skill: String,
    /// The step's number in it, from 1.
    pub number: u32,
}

/// Why a list is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskFault {
    /// Somebody else changed the list.
    #[error("the list is at revision {current}, not {given}")]
    Stale {
        /// The list's revision.
        current: u32,
        /// The revision the change was made from.
        given: u32,
    },
    /// More than one task is in progress.
    #[error("only one task can be in_progress, these are: {}", .0.join(", "))]
    InProgress(Vec<String>),
    /// Two tasks have the same id.
    #[error("two tasks have the id {0}")]
    Duplicate(String),
    /// A task has no id or no label.
    #[error("task {0} has no id or no label")]
    Empty(usize),
}

impl TaskList {
    /// The list after a change made from `revision`.
    ///
    /// # Errors
    ///
    /// The list has changed since, or the tasks do not make a list.
    pub fn replaced(&self, revision: u32, tasks: Vec<Task>) -> Result<Self, TaskFault> {
        if revision != self.revision {
            return Err(TaskFault::Stale {
                current: self.revision,
                given: revision,
            });
        }
        if let Some(empty) = tasks.iter().position(Task::is_empty) {
            return Err(TaskFault::Empty(empty + 1));
        }
        let mut ids = BTreeSet::new();
        if let Some(task) = tasks.iter().find(|task| !ids.insert(&task.id)) {
            return Err(TaskFault::Duplicate(task.id.clone()));
        }
        let in_progress: Vec<String> = in_progress(&tasks).map(|task| task.id.clone()).collect();
        if in_progress.len() > 1 {
            return Err(TaskFault::InProgress(in_progress));
        }
        Ok(Self {
            revision: revision.saturating_add(1),
            tasks,
        })
    }

    /// Takes in a list of the log. An older one than this, later in a log that two have written, is
    /// no news. Says whether it was.
    pub fn apply(&mut self, logged: &Self) -> bool {
        let is_news = logged.revision >= self.revision;
        if is_news {
            *self = logged.clone().repaired();
        }
        is_news
    }

    /// The list as it may stand in a session: of tasks with the same id the first, of those in
    /// progress the first, none without an id or a label. A log that was written by hand or by
    /// another release is repaired by it.
    #[must_use]
    pub fn repaired(mut self) -> Self {
        let mut ids = BTreeSet::new();
        self.tasks
            .retain(|task| !task.is_empty() && ids.insert(task.id.clone()));
        let mut is_taken = false;
        for task in &mut self.tasks {
            if task.status == TaskStatus::InProgress && std::mem::replace(&mut is_taken, true) {
                task.status = TaskStatus::Pending;
            }
        }
        self
    }

    /// Whether anything is left to do.
    pub fn is_active(&self) -> bool {
        self.tasks
            .iter()
            .any(|task| task.status != TaskStatus::Complete)
    }
}

impl Task {
    fn is_empty(&self) -> bool {
        self.id.trim().is_empty() || self.label.trim().is_empty()
    }
}

fn in_progress(tasks: &[Task]) -> impl Iterator<Item = &Task> {
    tasks
        .iter()
        .filter(|task| task.status == TaskStatus::InProgress)
}
