//! A call: from the list as it is to the list as it is to be.

use raddle_sdk::tasks::{Status, Step, Task, TaskList};
use raddle_sdk::{Error, ErrorKind};
use serde::Deserialize;

/// Arguments of the tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Arguments {
    /// The whole list.
    pub tasks: Option<Vec<NewTask>>,
    /// Changes of tasks by id.
    pub update: Option<Vec<Update>>,
    /// The revision the change is about.
    pub revision: Option<u32>,
}

/// A task as the model writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NewTask {
    /// Unique in the list.
    pub id: String,
    /// What the user sees.
    pub label: String,
    /// `pending`, `in_progress`, `complete` or `blocked`.
    pub status: String,
    /// For example why it is blocked.
    pub note: Option<String>,
    /// The step of a workflow that it is.
    pub step: Option<NewStep>,
}

/// A step of a workflow, as the model writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NewStep {
    /// The workflow.
    pub skill: String,
    /// Its number there.
    pub number: u32,
}

/// What is to be different about a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Update {
    /// Which.
    pub id: String,
    /// Its new label.
    pub label: Option<String>,
    /// Its new status.
    pub status: Option<String>,
    /// Its new note; an empty one takes it away.
    pub note: Option<String>,
    /// The step of a workflow that it is.
    pub step: Option<NewStep>,
}

impl Arguments {
    /// The tasks after the call; `None` if nothing is to change.
    ///
    /// # Errors
    ///
    /// `stale`, `unknown-task`, `status` or `arguments`, each with the list as it is.
    pub fn applied(&self, list: &TaskList) -> Result<Option<Vec<Task>>, Error> {
        if let Some(revision) = self.revision
            && revision != list.revision
        {
            let message = format!("the list is at revision {}, not {revision}", list.revision);
            let stale = Error {
                kind: ErrorKind::Conflict,
                code: "stale".to_owned(),
                message,
            };
            return Err(refused(stale, list));
        }
        let tasks = match (&self.tasks, &self.update) {
            (Some(_), Some(_)) => {
                let message = "give `tasks` or `update`, not both";
                return Err(refused(Error::invalid("arguments", message), list));
            }
            (None, None) => return Ok(None),
            (Some(tasks), None) => tasks
                .iter()
                .map(|task| task.made(list))
                .collect::<Result<Vec<_>, _>>()?,
            (None, Some(updates)) => {
                let mut tasks = list.tasks.clone();
                for update in updates {
                    update.apply(&mut tasks, list)?;
                }
                tasks
            }
        };
        Ok((tasks != list.tasks).then_some(tasks))
    }
}

impl NewTask {
    fn made(&self, list: &TaskList) -> Result<Task, Error> {
        let old = list.tasks.iter().find(|task| task.id == self.id);
        Ok(Task {
            id: self.id.clone(),
            label: self.label.clone(),
            status: status(&self.status, list)?,
            note: self.note.clone().filter(|note| !note.is_empty()),
            step: match &self.step {
                Some(step) => Some(step.made()),
                None => old.and_then(|task| task.step.clone()),
            },
        })
    }
}

impl NewStep {
    fn made(&self) -> Step {
        Step {
            skill: self.skill.clone(),
            number: self.number,
        }
    }
}

impl Update {
    fn apply(&self, tasks: &mut [Task], list: &TaskList) -> Result<(), Error> {
        let Some(task) = tasks.iter_mut().find(|task| task.id == self.id) else {
            let message = format!("there is no task `{}`", self.id);
            return Err(refused(Error::not_found("unknown-task", message), list));
        };
        if let Some(label) = &self.label {
            task.label.clone_from(label);
        }
        if let Some(new) = &self.status {
            task.status = status(new, list)?;
        }
        if let Some(note) = &self.note {
            task.note = Some(note.clone()).filter(|note| !note.is_empty());
        }
        if let Some(step) = &self.step {
            task.step = Some(step.made());
        }
        Ok(())
    }
}

/// The list as the model reads it.
pub fn shown(list: &TaskList) -> String {
    let mut text = format!("revision {}", list.revision);
    if list.tasks.is_empty() {
        text.push_str("\n(no tasks)");
    }
    for task in &list.tasks {
        let status = name(task.status);
        text.push_str(&format!("\n{} [{status}] {}", task.id, task.label));
        if let Some(step) = &task.step {
            text.push_str(&format!(" ({} {})", step.skill, step.number));
        }
        if let Some(note) = &task.note {
            text.push_str(&format!(": {note}"));
        }
    }
    text
}

/// `error`, with the list as it is.
pub fn refused(error: Error, list: &TaskList) -> Error {
    Error {
        message: format!("{}; nothing changed\n{}", error.message, shown(list)),
        ..error
    }
}

fn status(written: &str, list: &TaskList) -> Result<Status, Error> {
    match written {
        "pending" => Ok(Status::Pending),
        "in_progress" => Ok(Status::InProgress),
        "complete" => Ok(Status::Complete),
        "blocked" => Ok(Status::Blocked),
        other => {
            let message = format!(
                "`{other}` is not a status: there are pending, in_progress, complete, blocked"
            );
            Err(refused(Error::invalid("status", message), list))
        }
    }
}

fn name(status: Status) -> &'static str {
    match status {
        Status::Pending => "pending",
        Status::InProgress => "in_progress",
        Status::Complete => "complete",
        Status::Blocked => "blocked",
    }
}
