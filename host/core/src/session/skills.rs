//! The active skills: state of the session. Each activation is an event; the text that the model
//! was told is kept by its digest, so that it can be told again, verbatim, when the conversation no
//! longer holds it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::event::{Event, EventData};
use super::tasks::{Task, TaskStatus};
use crate::digest::Digest;
use crate::plugins::LoadedSkill;

/// What a skill is for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkillKind {
    /// An ordered procedure, followed strictly.
    Workflow,
    /// Material to look things up in.
    Reference,
}

/// A step of a skill's checklist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillStep {
    /// Its number, from 1.
    pub number: u32,
    /// What it asks for.
    pub text: String,
    /// Whether it may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A skill became active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillActivation {
    /// The call that loaded it; absent if it was preloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The plugin that knows it.
    pub plugin: String,
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: SkillKind,
    /// Where it comes from.
    pub path: String,
    /// The skill it came along with, where it was not asked for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_by: Option<String>,
    /// Digest of what the model reads of it.
    pub text: Digest,
    /// Its checklist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<SkillStep>,
    /// Whether it was loaded before the first tool call of its run that works on the task. One
    /// that was not is a selection error: the task was begun without it.
    pub before_task_tools: bool,
}

/// An active skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveSkill {
    /// What is known of it, as of the last time it was loaded.
    pub skill: SkillActivation,
    /// Run and step of the batch that loaded it last.
    pub batch: (u32, u32),
    /// What became of its steps, by number; a step that is not there is open.
    states: BTreeMap<u32, StepState>,
}

/// A step of an active skill's checklist, with what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChecklistStep {
    /// The step.
    #[serde(flatten)]
    pub step: SkillStep,
    /// What became of it.
    #[serde(flatten)]
    pub state: StepState,
}

/// What became of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum StepState {
    /// Nothing yet.
    #[default]
    Open,
    /// A task that is this step is complete.
    Complete,
    /// A task that is this step is blocked, or the agent gave a reason for not following it.
    Blocked {
        /// The reason, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// The active skills of a session, in the order they became active: a fold over its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActiveSkills(Vec<ActiveSkill>);

/// Which calls of a run load skills too late.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    /// Whether the task was begun.
    begun: bool,
    late: BTreeSet<String>,
}

impl ActiveSkills {
    /// The skills, in the order they became active.
    pub fn iter(&self) -> impl Iterator<Item = &ActiveSkill> {
        self.0.iter()
    }

    /// The active skill of this name.
    pub fn get(&self, name: &str) -> Option<&ActiveSkill> {
        self.0.iter().find(|active| active.skill.name == name)
    }

    /// Takes in the next event. A skill that is loaded again is active once, as it is now; in
    /// another run it is followed from its first step again.
    pub fn apply(&mut self, event: &Event) {
        match &event.data {
            EventData::SkillActivated(skill) => self.activate(skill, (event.run, event.step)),
            EventData::TasksChanged(list) => {
                for task in &list.tasks {
                    if let Some(step) = &task.step {
                        self.tell(&step.skill, step.number, state_of(task));
                    }
                }
            }
            EventData::Yield { deviations, .. } => {
                for deviation in deviations {
                    if let Some((skill, number)) = self.step_of(&deviation.step) {
                        let reason = Some(deviation.reason.clone());
                        self.tell(&skill, number, StepState::Blocked { reason });
                    }
                }
            }
            _ => {}
        }
    }

    fn activate(&mut self, skill: &SkillActivation, batch: (u32, u32)) {
        let known = self
            .0
            .iter_mut()
            .find(|known| known.skill.name == skill.name);
        let states = match &known {
            Some(known) if known.batch.0 == batch.0 => known.states.clone(),
            _ => BTreeMap::new(),
        };
        // What stands in the prompt goes on to stand there, also if it is loaded as well.
        let is_preloaded = known
            .as_ref()
            .is_some_and(|known| known.skill.is_preloaded());
        let call_id = skill.call_id.clone().filter(|_| !is_preloaded);
        let active = ActiveSkill {
            skill: SkillActivation {
                call_id,
                ..skill.clone()
            },
            batch,
            states,
        };
        match known {
            Some(known) => *known = active,
            None => self.0.push(active),
        }
    }

    fn tell(&mut self, skill: &str, number: u32, state: StepState) {
        let known = self.0.iter_mut().find(|known| known.skill.name == skill);
        if let Some(known) = known
            && known.skill.steps.iter().any(|step| step.number == number)
        {
            known.states.insert(number, state);
        }
    }

    /// The step that somebody means: by its number, with the skill's name where several active
    /// skills have a checklist, or by the words it begins with.
    fn step_of(&self, written: &str) -> Option<(String, u32)> {
        let lists = || {
            self.0
                .iter()
                .filter(|active| !active.skill.steps.is_empty())
        };
        let named = lists().find(|active| written.contains(active.skill.name.as_str()));
        let active = named.or_else(|| lists().next().filter(|_| lists().count() == 1))?;
        let rest = written.replace(active.skill.name.as_str(), " ");
        let number = rest
            .split(|c: char| !c.is_ascii_digit())
            .find_map(|digits| digits.parse().ok());
        let words = written.trim().to_lowercase();
        let by_words = || {
            let mut steps = active.skill.steps.iter();
            let step = steps.find(|step| {
                let text = step.text.to_lowercase();
                !words.is_empty() && (text.starts_with(&words) || words.starts_with(&text))
            });
            step.map(|step| step.number)
        };
        Some((active.skill.name.clone(), number.or_else(by_words)?))
    }
}

impl ActiveSkill {
    /// Its checklist.
    pub fn checklist(&self) -> Vec<ChecklistStep> {
        let steps = self.skill.steps.iter().map(|step| ChecklistStep {
            step: step.clone(),
            state: self.states.get(&step.number).cloned().unwrap_or_default(),
        });
        steps.collect()
    }
}

impl std::fmt::Display for ChecklistStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SkillStep {
            number,
            text,
            optional,
        } = &self.step;
        let mark = match &self.state {
            StepState::Open => "○",
            StepState::Complete => "✓",
            StepState::Blocked { .. } => "✗",
        };
        let optional = if *optional { " (optional)" } else { "" };
        write!(formatter, "{mark} {number}. {text}{optional}")?;
        match &self.state {
            StepState::Blocked {
                reason: Some(reason),
            } => write!(formatter, " ({reason})"),
            _ => Ok(()),
        }
    }
}

fn state_of(task: &Task) -> StepState {
    match task.status {
        TaskStatus::Complete => StepState::Complete,
        TaskStatus::Blocked => StepState::Blocked {
            reason: task.note.clone(),
        },
        TaskStatus::Pending | TaskStatus::InProgress => StepState::Open,
    }
}

impl SkillActivation {
    /// The activation of a skill that a call loaded.
    pub(crate) fn by_call(loaded: LoadedSkill, call_id: &str, plugin: &str, late: bool) -> Self {
        Self {
            call_id: Some(call_id.to_owned()),
            before_task_tools: !late,
            ..Self::preloaded(loaded, plugin)
        }
    }

    /// The activation of a skill that stands in the prompt from the beginning.
    pub(crate) fn preloaded(loaded: LoadedSkill, plugin: &str) -> Self {
        Self {
            call_id: None,
            plugin: plugin.to_owned(),
            name: loaded.name,
            kind: loaded.kind,
            path: loaded.path,
            required_by: loaded.required_by,
            text: Digest::of(&loaded.text),
            steps: loaded.steps,
            before_task_tools: true,
        }
    }

    /// Whether its text stands in the prompt's prefix.
    pub fn is_preloaded(&self) -> bool {
        self.call_id.is_none()
    }
}

impl Selection {
    /// Takes in the next call of the run, in the order the model made them.
    pub(crate) fn call(&mut self, id: &str, is_task: bool) {
        if is_task {
            self.begun = true;
        } else if self.begun {
            self.late.insert(id.to_owned());
        }
    }

    /// Whether a call came after the task was begun.
    pub(crate) fn is_late(&self, id: &str) -> bool {
        self.late.contains(id)
    }
}
