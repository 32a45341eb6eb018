//! `tasks`: the session's task list.

use raddle_core::plugins::DomainError;
use raddle_core::session::tasks::{Task, TaskList, TaskStatus, TaskStep};

use super::State;
use super::services::answer;
use crate::bindings::{tasks, types};

impl tasks::Host for State {
    fn read(&mut self) -> wasmtime::Result<Result<tasks::TaskList, types::Error>> {
        let list = self.session().map(|session| session.tasks());
        self.list(list)
    }

    fn replace(
        &mut self,
        revision: u32,
        tasks: Vec<tasks::Task>,
    ) -> wasmtime::Result<Result<tasks::TaskList, types::Error>> {
        let tasks: Vec<Task> = tasks.into_iter().map(task).collect();
        self.charge(tasks.iter().map(weight).sum())?;
        let list = self.changed_session();
        self.list(list.and_then(|session| session.replace_tasks(revision, tasks)))
    }
}

impl State {
    fn list(
        &mut self,
        list: Result<TaskList, DomainError>,
    ) -> wasmtime::Result<Result<tasks::TaskList, types::Error>> {
        if let Ok(list) = &list {
            self.charge(list.tasks.iter().map(weight).sum())?;
        }
        answer(list.map(|list| tasks::TaskList {
            revision: list.revision,
            tasks: list.tasks.into_iter().map(task_out).collect(),
        }))
    }
}

/// Bytes of text, and a little for the task itself.
fn weight(task: &Task) -> usize {
    let note = task.note.as_ref().map_or(0, String::len);
    let step = task.step.as_ref().map_or(0, |step| step.skill.len());
    size_of::<Task>() + task.id.len() + task.label.len() + note + step
}

fn task(task: tasks::Task) -> Task {
    Task {
        id: task.id,
        label: task.label,
        status: match task.status {
            tasks::Status::Pending => TaskStatus::Pending,
            tasks::Status::InProgress => TaskStatus::InProgress,
            tasks::Status::Complete => TaskStatus::Complete,
            tasks::Status::Blocked => TaskStatus::Blocked,
        },
        note: task.note,
        step: task.step.map(|step| TaskStep {
            skill: step.skill,
            number: step.number,
        }),
    }
}

fn task_out(task: Task) -> tasks::Task {
    tasks::Task {
        id: task.id,
        label: task.label,
        status: match task.status {
            TaskStatus::Pending => tasks::Status::Pending,
            TaskStatus::InProgress => tasks::Status::InProgress,
            TaskStatus::Complete => tasks::Status::Complete,
            TaskStatus::Blocked => tasks::Status::Blocked,
        },
        note: task.note,
        step: task.step.map(|step| tasks::Step {
            skill: step.skill,
            number: step.number,
        }),
    }
}
