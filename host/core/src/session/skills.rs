//! The active skills: state of the session. Each activation is an event; the text that the model
//! was told is kept by its digest, so that it can be told again, verbatim, when the conversation no
//! longer holds it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::event::{Event, EventData};
use crate::digest::Digest;

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
    /// The call that loaded it.
    pub call_id: String,
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
}

/// The active skills of a session, in the order they became active: a fold over its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ActiveSkills(Vec<ActiveSkill>);

/// What a plugin says of a skill that it loaded.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadedSkill {
    name: String,
    #[serde(rename = "type")]
    kind: SkillKind,
    path: String,
    #[serde(default)]
    required_by: Option<String>,
    /// What the model reads of it, whole.
    pub(crate) text: String,
    #[serde(default)]
    steps: Vec<SkillStep>,
}

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

    /// Takes in the next event. A skill that is loaded again is active once, as it is now.
    pub fn apply(&mut self, event: &Event) {
        let EventData::SkillActivated(skill) = &event.data else {
            return;
        };
        let active = ActiveSkill {
            skill: (**skill).clone(),
            batch: (event.run, event.step),
        };
        let known = self
            .0
            .iter_mut()
            .find(|known| known.skill.name == skill.name);
        match known {
            Some(known) => *known = active,
            None => self.0.push(active),
        }
    }
}

impl LoadedSkill {
    /// The event of its activation.
    pub(crate) fn activated(self, call_id: &str, plugin: &str, late: bool) -> SkillActivation {
        SkillActivation {
            call_id: call_id.to_owned(),
            plugin: plugin.to_owned(),
            name: self.name,
            kind: self.kind,
            path: self.path,
            required_by: self.required_by,
            text: Digest::of(&self.text),
            steps: self.steps,
            before_task_tools: !late,
        }
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
