//! A child on its way: its session, until a provider runs an agent in it or answers by other means.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};

use super::ending::{unavailable, verdict};
use super::family::{Family, Place, Seed, locked};
use super::{Agent, AgentSettings, Cancel, Controller};
use crate::plugins::{
    Child, ChildLimits, ChildOutcome, ChildReport, ChildWork, DomainError, ErrorKind,
};
use crate::prompt::Prompt;
use crate::session::{EndCause, EventData, Inherited};
use crate::store::StoreError;

/// The place of a child in its parent's family.
pub(crate) struct Seat {
    family: Arc<Family>,
    seed: Arc<Seed>,
    /// Taken by the agent that runs in it.
    controller: Mutex<Option<Controller>>,
    place: Place,
    limits: ChildLimits,
    cancel: Cancel,
}

impl Seat {
    pub(super) fn new(
        family: Arc<Family>,
        seed: Arc<Seed>,
        controller: Controller,
        place: Place,
        limits: ChildLimits,
        cancel: Cancel,
    ) -> Arc<Self> {
        Arc::new(Self {
            family,
            seed,
            controller: Mutex::new(Some(controller)),
            place,
            limits,
            cancel,
        })
    }

    /// What the child is made from.
    pub(super) fn seed(&self) -> &Seed {
        &self.seed
    }

    pub(super) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    pub(super) fn limits(&self) -> &ChildLimits {
        &self.limits
    }

    /// Whether an agent of this host runs in it.
    pub(super) fn is_taken(&self) -> bool {
        locked(&self.controller).is_none()
    }

    /// Logs what a child said that was run by other means: an agent of this host logs for itself.
    pub(super) async fn close(
        &self,
        prompt: &str,
        result: &Result<ChildOutcome, DomainError>,
    ) -> Result<(), StoreError> {
        let Some(mut controller) = locked(&self.controller).take() else {
            return Ok(());
        };
        let (cause, message) = match result {
            Ok(outcome) => (EndCause::Answered, outcome.text.clone()),
            Err(error) if error.kind == ErrorKind::Cancelled => {
                (EndCause::Cancelled, String::new())
            }
            Err(_) => (EndCause::Failed, String::new()),
        };
        controller.begin_run();
        controller.begin_step();
        let text = prompt.to_owned();
        controller.record([EventData::RunStarted {}, EventData::UserMessage { text }]);
        controller.record(result.as_ref().err().map(|error| EventData::Error {
            code: error.code.clone(),
            message: error.message.clone(),
        }));
        let intent = EventData::ANSWER.to_owned();
        controller.record([
            EventData::RunEnded { cause },
            EventData::Done { message, intent },
        ]);
        controller.commit().await
    }

    async fn work(&self, work: ChildWork) -> Result<ChildReport, DomainError> {
        let (settings, prompt) = self.prompt(&work)?;
        let mut controller = locked(&self.controller).take().ok_or_else(|| {
            let message = "the child runs already: a start runs one";
            DomainError::new(ErrorKind::Conflict, "once", message)
        })?;
        let session = controller.header().id.clone();
        let seed = &self.seed;
        if work.inherit {
            let inherited = Inherited {
                from: seed.header.id.clone(),
                messages: self.family.completed_turns(),
            };
            controller.record([EventData::Inherited(Box::new(inherited))]);
        }
        let mut agent = Agent::at(
            self.place.clone(),
            settings,
            controller,
            Arc::clone(&seed.registry),
            prompt,
            &seed.provider,
            seed.permissions.clone(),
        );
        let ended = agent.run(&work.prompt, &self.cancel).await;
        let cause = ended.map_err(unavailable)?;
        verdict(cause, agent.failure())?;
        let outcome = ChildOutcome {
            text: agent.answer().to_owned(),
            details: None,
        };
        Ok(ChildReport { session, outcome })
    }

    /// What the agent that runs in the child's session is made from.
    fn prompt(&self, work: &ChildWork) -> Result<(AgentSettings, Prompt), DomainError> {
        let seed = &self.seed;
        let limits = self.limits.and(work.limits);
        let name = work.agent.as_ref().or(seed.settings.agent.as_ref());
        let entry = name.and_then(|name| seed.registry.agent(name));
        let own_model = entry.and_then(|entry| entry.agent.model.as_ref());
        let settings = AgentSettings {
            agent: name.cloned(),
            model: own_model.unwrap_or(&seed.settings.model).clone(),
            max_steps: limits.steps,
            max_tokens: limits.tokens,
            preload: Vec::new(),
            ..seed.settings.clone()
        };
        let mut options = seed.options.clone();
        if self.place.depth >= limits.depth {
            // Where there can be no children they could only fail.
            let tools = seed.registry.tools_for_children();
            let names = tools.map(|entry| entry.tool.name.clone());
            options.without.extend(names);
        }
        let prompt = Prompt::new(
            Arc::clone(&seed.registry),
            name.map(String::as_str),
            options,
        );
        let prompt = prompt.map_err(|error| {
            DomainError::new(ErrorKind::NotFound, "no-agent", error.to_string())
        })?;
        Ok((settings, prompt))
    }
}

impl Child for Seat {
    fn run(&self, work: ChildWork) -> BoxFuture<'_, Result<ChildReport, DomainError>> {
        self.work(work).boxed()
    }
}
