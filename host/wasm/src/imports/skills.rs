//! `skills-host`: the active skills of the calling session.

use raddle_core::session::skills::{ActiveSkill, ChecklistStep, SkillKind, StepState};

use super::State;
use crate::bindings::skills_host;

impl skills_host::Host for State {
    fn list_active(&mut self) -> wasmtime::Result<Vec<skills_host::ActiveSkill>> {
        let Some(session) = &self.caller.session else {
            return Ok(Vec::new());
        };
        let active: Vec<_> = session.active_skills().iter().map(active_skill).collect();
        let texts = active.iter().map(|skill| {
            let steps = skill.steps.iter().map(|step| step.text.len());
            skill.name.len() + skill.path.len() + steps.sum::<usize>()
        });
        self.charge(texts.sum())?;
        Ok(active)
    }
}

fn active_skill(active: &ActiveSkill) -> skills_host::ActiveSkill {
    skills_host::ActiveSkill {
        name: active.skill.name.clone(),
        workflow: active.skill.kind == SkillKind::Workflow,
        path: active.skill.path.clone(),
        steps: active.checklist().into_iter().map(step).collect(),
    }
}

fn step(ChecklistStep { step, state }: ChecklistStep) -> skills_host::Step {
    skills_host::Step {
        number: step.number,
        text: step.text,
        optional: step.optional,
        state: match state {
            StepState::Open => skills_host::StepState::Open,
            StepState::Complete => skills_host::StepState::Complete,
            StepState::Blocked { .. } => skills_host::StepState::Blocked,
        },
    }
}
