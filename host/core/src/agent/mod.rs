//! The agent: one session that can run.

mod arguments;
mod board;
mod cancel;
mod child;
mod compact;
mod controller;
mod ending;
mod family;
mod generation;
mod permission;
mod requirement;
mod run;
mod services;
mod step;
mod tools;
mod twice;
mod watch;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use cancel::Cancel;
pub use controller::{Controller, Observer};
pub use generation::Newest;
pub use permission::{Action, Answer, Asker, BadPattern, Decision, Permissions, Question, Rule};
pub use requirement::Requirement;

use crate::plugins::{Caller, Moment, SessionServices};
use crate::prompt::Prompt;
use crate::provider::{Conversation, Provider};
use crate::registry::Registry;
use crate::session::EndCause;
use crate::store::StoreError;
use family::{Family, Place, Seed};
use run::RunError;
use services::Services;
use tools::ToolRunner;

/// A session that can run: its log, its prompt, its link to the model, and the tools.
pub struct Agent {
    settings: AgentSettings,
    controller: Controller,
    prompt: Prompt,
    conversation: Box<dyn Conversation>,
    tools: ToolRunner,
    caller: Caller,
    family: Arc<Family>,
    provider: Arc<dyn Provider>,
    newest: Option<Arc<dyn Newest>>,
    head: step::Head,
    gauge: compact::Gauge,
    lookout: watch::Lookout,
}

/// What the deployment fixes about every request.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Name of the active agent; none has no persona.
    pub agent: Option<String>,
    /// The provider kind, for the log.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// Further members of the request body.
    pub options: Map<String, Value>,
    /// Most steps of one run; absent is no limit.
    pub max_steps: Option<u32>,
    /// Most tokens of one run, of all its requests and answers together; absent is no limit.
    pub max_tokens: Option<u64>,
    /// Tokens that the model can take, where that is known.
    pub window_tokens: Option<u64>,
    /// Names of the skills that the session's prompt variant preloads.
    pub preload: Vec<String>,
    /// Skills that a request must not be worked on without.
    pub requirements: Vec<Requirement>,
}

impl Agent {
    /// An agent on an opened session.
    pub fn new(
        settings: AgentSettings,
        controller: Controller,
        registry: Arc<Registry>,
        prompt: Prompt,
        provider: &Arc<dyn Provider>,
        permissions: Permissions,
    ) -> Self {
        let place = Place::main();
        Self::at(
            place,
            settings,
            controller,
            registry,
            prompt,
            provider,
            permissions,
        )
    }

    /// An agent that stands somewhere among the sessions that it comes from.
    pub(crate) fn at(
        place: Place,
        settings: AgentSettings,
        controller: Controller,
        registry: Arc<Registry>,
        mut prompt: Prompt,
        provider: &Arc<dyn Provider>,
        permissions: Permissions,
    ) -> Self {
        prompt.load_tools(&controller.state().loaded_tools);
        prompt.restore(controller.tail().cloned());
        let seed = Seed::of(
            &settings,
            &controller,
            &registry,
            &prompt,
            provider,
            &permissions,
        );
        let family = Family::new(seed, place, Arc::clone(controller.board()));
        let services = Services::of(&controller, Arc::clone(provider), &settings, &family);
        let caller = Caller {
            session: Some(Arc::new(services)),
            call_id: None,
            child: None,
        };
        Self {
            family,
            provider: Arc::clone(provider),
            newest: None,
            conversation: provider.conversation(),
            tools: ToolRunner::new(registry, permissions),
            head: step::Head::default(),
            gauge: compact::Gauge::default(),
            lookout: watch::Lookout::default(),
            settings,
            controller,
            prompt,
            caller,
        }
    }

    /// The session's log and what is folded from it.
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// The session as its plugins see it.
    pub fn session(&self) -> Option<&Arc<dyn SessionServices>> {
        self.caller.session.as_ref()
    }

    /// What the last run ended with: the agent's last words to whoever started it.
    pub fn answer(&self) -> &str {
        &self.head.answer
    }

    /// What went wrong in the last run, if something did.
    pub fn failure(&self) -> Option<&str> {
        self.head.failure.as_deref()
    }

    /// Whether children work in the background.
    pub fn is_at_work(&self) -> bool {
        self.family.has_detached()
    }

    /// Goes on as long as children work in the background: each that ends is followed up.
    ///
    /// # Errors
    ///
    /// Only when the log cannot be written.
    pub async fn settle(&mut self, cancel: &Cancel) -> Result<(), StoreError> {
        while self.family.has_detached() {
            tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                () = self.family.one_ends() => {}
            }
            self.follow_up(EndCause::Answered, cancel).await?;
        }
        Ok(())
    }

    /// Chooses the prompt variant and the skills it preloads, before the first run.
    ///
    /// # Errors
    ///
    /// Only when the session cannot be written.
    pub async fn choose_variant(
        &mut self,
        name: &str,
        preload: Vec<String>,
    ) -> Result<(), StoreError> {
        self.settings.preload = preload;
        self.controller.choose_variant(name).await
    }

    /// Runs until the model has answered `message` and asks for nothing more; then what waited for
    /// that gets a run of its own. Everything that happens is an event; a failure of the prompt
    /// or the model ends the run, not the agent.
    ///
    /// # Errors
    ///
    /// Only when the log cannot be written: then nothing more can be done in this session.
    pub async fn run(&mut self, message: &str, cancel: &Cancel) -> Result<EndCause, StoreError> {
        let cause = self.run_once(Some(message), cancel).await?;
        self.follow_up(cause, cancel).await
    }

    /// Takes in what was left for the idle session, and says whether that is worth a run.
    ///
    /// # Errors
    ///
    /// Only when the log cannot be written.
    pub async fn listen(&mut self) -> Result<bool, StoreError> {
        self.observe(Moment::Idle).await;
        self.take_mail().await?;
        self.controller.commit().await?;
        let kinds = self.tools.registry().injection_kinds();
        Ok(self.controller.queue().wakes(self.has_active_task(), kinds))
    }

    /// Runs for what was left, without a message.
    ///
    /// # Errors
    ///
    /// Only when the log cannot be written.
    pub async fn wake(&mut self, cancel: &Cancel) -> Result<EndCause, StoreError> {
        let cause = self.run_once(None, cancel).await?;
        self.follow_up(cause, cancel).await
    }

    /// After a run that came to its end: runs for what waited for that, or steered too late. After
    /// a message that the user is to act on, what waited for the end waits for the user.
    async fn follow_up(
        &mut self,
        mut cause: EndCause,
        cancel: &Cancel,
    ) -> Result<EndCause, StoreError> {
        while matches!(cause, EndCause::Answered | EndCause::Yielded) {
            let wakes = self.listen().await?;
            let kinds = self.tools.registry().injection_kinds();
            let follows =
                cause == EndCause::Answered && self.controller.queue().has_follow_up(kinds);
            if !wakes && !follows {
                break;
            }
            cause = self.run_once(None, cancel).await?;
        }
        Ok(cause)
    }

    async fn run_once(
        &mut self,
        message: Option<&str>,
        cancel: &Cancel,
    ) -> Result<EndCause, StoreError> {
        self.begin(message);
        let cause = match self.steps(cancel).await {
            Ok(cause) => cause,
            Err(RunError::Store(error)) => return Err(error),
            Err(error) => {
                self.fail(&error);
                EndCause::Failed
            }
        };
        self.end(cause).await?;
        Ok(cause)
    }
}

impl Drop for Agent {
    /// Without its parent a child has nobody to tell what it found.
    fn drop(&mut self) {
        self.family.cancel_all();
    }
}
