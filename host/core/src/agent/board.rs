//! What running calls do to the session: they see the task list and change it at once, and the log
//! gets each change with the result of the call that made it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::session::EventData;
use crate::session::skills::ActiveSkills;
use crate::session::tasks::{Task, TaskFault, TaskList};

/// The board of one session, shared by all calls of a batch.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    list: TaskList,
    /// As of the last event.
    skills: ActiveSkills,
    /// Not in the log yet, oldest first.
    changes: Vec<EventData>,
}

impl Board {
    /// The list as it is now.
    pub(crate) fn list(&self) -> TaskList {
        self.state().list.clone()
    }

    /// Changes the list, if nobody else did since `revision`.
    pub(crate) fn replace(&self, revision: u32, tasks: Vec<Task>) -> Result<TaskList, TaskFault> {
        let mut state = self.state();
        let list = state.list.replaced(revision, tasks)?;
        state.list = list.clone();
        state.changes.push(EventData::TasksChanged(list.clone()));
        Ok(list)
    }

    /// Leaves an event for the log.
    pub(crate) fn leave(&self, event: EventData) {
        self.state().changes.push(event);
    }

    /// What the log is to be told.
    pub(crate) fn take_changes(&self) -> Vec<EventData> {
        std::mem::take(&mut self.state().changes)
    }

    /// The active skills.
    pub(crate) fn skills(&self) -> ActiveSkills {
        self.state().skills.clone()
    }

    /// What the log says of skills.
    pub(crate) fn show_skills(&self, skills: &ActiveSkills) {
        self.state().skills.clone_from(skills);
    }

    /// What the log says.
    pub(crate) fn restore(&self, list: TaskList) {
        self.state().list = list;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
