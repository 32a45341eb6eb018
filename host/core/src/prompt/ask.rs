//! Asking plugins for texts: only what is referred to and not known any more, and everything that
//! one plugin is asked for one lifetime in one call.

use std::borrow::Cow;
use std::sync::Arc;

use futures::future::join_all;

use super::assembly::Prompt;
use super::error::{Asked, PromptError};
use crate::plugins::{Caller, Context, Lifetime, PluginError, Question};

/// What a question is about.
#[derive(Clone, Copy)]
enum Target {
    /// The text of a section, by index.
    Section(usize),
    /// The value of a variable, by index.
    Variable(usize),
}

/// The questions for one plugin and one lifetime.
struct Call {
    owner: usize,
    lifetime: Lifetime,
    targets: Vec<Target>,
    questions: Vec<Question>,
}

impl Prompt {
    /// Asks until everything that is referred to is known. A computed text can refer to variables
    /// that no fixed text does, which takes a second round.
    pub(super) async fn ask(
        &mut self,
        context: &Context,
        caller: &Caller,
    ) -> Result<(), PromptError> {
        loop {
            let targets = self.targets();
            if targets.is_empty() {
                return Ok(());
            }
            let calls = self.calls(targets)?;
            let answers = {
                let nobody = Caller::default();
                let contexts: Vec<Cow<'_, Context>> = calls
                    .iter()
                    .map(|call| context.narrowed(call.lifetime))
                    .collect();
                let asked = calls.iter().zip(&contexts).map(|(call, context)| {
                    let caller = match call.lifetime {
                        Lifetime::Deployment => &nobody,
                        _ => caller,
                    };
                    self.registry.plugins()[call.owner].answer(&call.questions, context, caller)
                });
                join_all(asked).await
            };
            let mut result = Ok(());
            for (call, answer) in calls.into_iter().zip(answers) {
                // What the others answered is kept, so that it need not be asked again.
                result = result.and(self.take(call, answer));
            }
            result?;
        }
    }

    /// The questions about `targets`, by plugin and lifetime. Answers that another session of the deployment already got are
    /// taken on the way.
    fn calls(&mut self, mut targets: Vec<Target>) -> Result<Vec<Call>, PromptError> {
        targets.sort_by_key(|target| self.addressee(*target));
        let mut calls: Vec<Call> = Vec::new();
        for target in targets {
            let (owner, lifetime) = self.addressee(target);
            let question = self.question(target);
            if lifetime == Lifetime::Deployment
                && let Some(answer) = self.registry.deployment_answer(&question)
            {
                self.set(target, answer)?;
                continue;
            }
            match calls.last_mut() {
                Some(call) if (call.owner, call.lifetime) == (owner, lifetime) => {
                    call.targets.push(target);
                    call.questions.push(question);
                }
                _ => calls.push(Call {
                    owner,
                    lifetime,
                    targets: vec![target],
                    questions: vec![question],
                }),
            }
        }
        Ok(calls)
    }

    /// What is not known (any more) and referred to.
    fn targets(&mut self) -> Vec<Target> {
        let mut targets = Vec::new();
        for index in 0..self.sections.len() {
            if self.is_frozen(index) {
                continue;
            }
            let cell = &self.sections[index];
            if !cell.fresh {
                targets.push(Target::Section(index));
                continue;
            }
            for variable in cell
                .shown()
                .into_iter()
                .flat_map(|linked| &*linked.variables)
            {
                let value = &mut self.values[*variable];
                if !value.fresh && !value.wanted {
                    value.wanted = true;
                    targets.push(Target::Variable(*variable));
                }
            }
        }
        for target in &targets {
            if let Target::Variable(index) = target {
                self.values[*index].wanted = false;
            }
        }
        targets
    }

    fn addressee(&self, target: Target) -> (usize, Lifetime) {
        match target {
            Target::Section(index) => (self.sections[index].owner, self.sections[index].lifetime),
            Target::Variable(index) => (self.values[index].owner, self.values[index].lifetime),
        }
    }

    fn question(&self, target: Target) -> Question {
        match target {
            Target::Section(index) => {
                let cell = &self.sections[index];
                let by_name = || Question::Section(cell.name.to_string());
                cell.question.clone().unwrap_or_else(by_name)
            }
            Target::Variable(index) => {
                Question::Variable(self.registry.variables()[index].name.to_string())
            }
        }
    }

    fn take(
        &mut self,
        call: Call,
        answer: Result<Vec<Option<String>>, PluginError>,
    ) -> Result<(), PromptError> {
        let answers = answer.map_err(|error| PromptError::Plugin {
            asked: self.asked(&call.targets),
            error: Box::new(error),
        })?;
        if answers.len() != call.targets.len() {
            return Err(PromptError::Answers {
                plugin: self.registry.plugins()[call.owner].info().id.clone(),
                asked: self.asked(&call.targets),
                given: answers.len(),
            });
        }
        let mut result = Ok(());
        for ((target, question), answer) in
            call.targets.into_iter().zip(call.questions).zip(answers)
        {
            let mut answer: Option<Arc<str>> = answer.map(Into::into);
            if call.lifetime == Lifetime::Deployment {
                answer = self.registry.keep_deployment_answer(question, answer);
            }
            result = result.and(self.set(target, answer));
        }
        result
    }

    fn set(&mut self, target: Target, answer: Option<Arc<str>>) -> Result<(), PromptError> {
        match target {
            Target::Section(index) => {
                self.sections[index].answer(&self.registry, answer.as_deref(), self.now)
            }
            Target::Variable(index) => {
                self.values[index].set(answer, self.now);
                Ok(())
            }
        }
    }

    /// What was asked, for an error.
    fn asked(&self, targets: &[Target]) -> Vec<Asked> {
        let asked = |target: &Target| match *target {
            Target::Section(index) => Asked::Section {
                section: self.sections[index].name.to_string(),
                lifetime: self.sections[index].lifetime,
            },
            Target::Variable(index) => Asked::Variable {
                variable: self.registry.variables()[index].name.to_string(),
                lifetime: self.values[index].lifetime,
                sections: self
                    .sections
                    .iter()
                    .filter(|cell| {
                        let mut texts = cell.text.iter();
                        texts.any(|linked| linked.variables.contains(&index))
                    })
                    .map(|cell| cell.name.to_string())
                    .collect(),
            },
        };
        targets.iter().map(asked).collect()
    }
}
