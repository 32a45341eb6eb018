//! What a session does for the plugins that run in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use futures::future::{BoxFuture, FutureExt as _};
use serde_json::{Map, Value};

use super::AgentSettings;
use super::board::Board;
use super::controller::{Announcer, Controller};
use super::family::Family;
use crate::message::Message;
use crate::plugins::{
    Caller, ChildReport, ChildStart, ChildState, DomainError, ErrorKind, Held, ModelAnswer,
    ModelPrompt, Progress, SessionServices,
};
use crate::provider::{Completion, Provider, Request, RequestKey, StreamEvent};
use crate::session::EventData;
use crate::session::injection::{Injection, Queue, Receipt};
use crate::session::skills::ActiveSkills;
use crate::session::tasks::{Task, TaskFault, TaskList};
use crate::store::{Store, StoreError};

/// The calling session behind the imports.
pub(crate) struct Services {
    session: String,
    directory: Option<PathBuf>,
    store: Arc<dyn Store>,
    announcer: Arc<Announcer>,
    board: Arc<Board>,
    queue: Arc<Mutex<Queue>>,
    held: Held,
    provider: Arc<dyn Provider>,
    model: String,
    options: Map<String, Value>,
    family: Arc<Family>,
}

impl Services {
    pub(crate) fn of(
        controller: &Controller,
        provider: Arc<dyn Provider>,
        settings: &AgentSettings,
        family: &Arc<Family>,
    ) -> Self {
        Self {
            family: Arc::clone(family),
            provider,
            model: settings.model.clone(),
            options: settings.options.clone(),
            session: controller.header().id.clone(),
            directory: controller.header().directory.as_ref().map(PathBuf::from),
            store: Arc::clone(controller.store()),
            announcer: Arc::clone(controller.announcer()),
            board: Arc::clone(controller.board()),
            queue: Arc::clone(controller.shared_queue()),
            held: Held::default(),
        }
    }
}

impl SessionServices for Services {
    fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    fn held(&self) -> &Held {
        &self.held
    }

    fn get_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, DomainError>> {
        let read = self.store.get_state(&self.session, plugin, key);
        read.map(|result| result.map_err(unavailable)).boxed()
    }

    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), DomainError>> {
        let write = self.store.set_state(&self.session, plugin, key, value);
        write.map(|result| result.map_err(unavailable)).boxed()
    }

    fn swap_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, DomainError>> {
        let swap = self
            .store
            .swap_state(&self.session, plugin, key, expected, value);
        swap.map(|result| result.map_err(unavailable)).boxed()
    }

    fn list_state<'a>(
        &'a self,
        plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, DomainError>> {
        let list = self.store.list_state(&self.session, plugin, prefix);
        list.map(|result| result.map_err(unavailable)).boxed()
    }

    fn tasks(&self) -> TaskList {
        self.board.list()
    }

    fn replace_tasks(&self, revision: u32, tasks: Vec<Task>) -> Result<TaskList, DomainError> {
        self.board
            .replace(revision, tasks)
            .map_err(|fault| refusal(&fault))
    }

    fn active_skills(&self) -> ActiveSkills {
        self.board.skills()
    }

    fn ask_model<'a>(
        &'a self,
        plugin: &'a str,
        prompt: ModelPrompt,
    ) -> BoxFuture<'a, Result<ModelAnswer, DomainError>> {
        self.complete(plugin, prompt).boxed()
    }

    fn now(&self) -> Option<String> {
        Some(self.announcer.surroundings().now())
    }

    fn send_injection(&self, injection: Injection) -> BoxFuture<'_, Result<Receipt, DomainError>> {
        let send = async move {
            if let Some(receipt) = self.receipt(&injection.id) {
                return Ok(receipt);
            }
            let posted = self.store.post(&self.session, &injection).await;
            posted.map_err(unavailable)?;
            Ok(Receipt::Queued)
        };
        send.boxed()
    }

    fn receipt(&self, id: &str) -> Option<Receipt> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.receipt(id).cloned()
    }

    fn dismiss_injection(&self, id: &str, reason: &str) -> Result<Receipt, DomainError> {
        match self.receipt(id) {
            Some(Receipt::Delivered { .. }) => {
                let (id, reason) = (id.to_owned(), reason.to_owned());
                self.board.leave(EventData::InjectionDismissed {
                    id,
                    reason: reason.clone(),
                });
                Ok(Receipt::Dismissed { reason })
            }
            Some(receipt) => {
                let message = format!("`{id}` is {receipt}: only what was delivered is dismissed");
                Err(DomainError::new(
                    ErrorKind::Conflict,
                    "not-delivered",
                    message,
                ))
            }
            None => {
                let message = format!("there is no update `{id}`");
                Err(DomainError::new(
                    ErrorKind::NotFound,
                    "unknown-update",
                    message,
                ))
            }
        }
    }

    fn delegate(
        &self,
        caller: Caller,
        start: ChildStart,
    ) -> BoxFuture<'_, Result<ChildReport, DomainError>> {
        self.family.delegate(caller, start).boxed()
    }

    fn detach(
        &self,
        caller: Caller,
        start: ChildStart,
    ) -> BoxFuture<'_, Result<String, DomainError>> {
        self.family.detach(caller, start).boxed()
    }

    fn child_state<'a>(
        &'a self,
        session: &'a str,
    ) -> BoxFuture<'a, Result<ChildState, DomainError>> {
        self.family.state_of(session).boxed()
    }

    fn cancel_child<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, DomainError>> {
        self.family.cancel(session).boxed()
    }

    fn progress(&self, plugin: &str, call_id: Option<&str>, progress: Progress) {
        let text = match progress {
            Progress::Report {
                message,
                percent: Some(percent),
            } => format!("{message} ({percent} %)"),
            Progress::Report { message, .. } => message,
            Progress::Output(text) | Progress::Say(text) => text,
            Progress::Emit { event, payload } => format!("{event} {payload}"),
        };
        self.announcer.show(EventData::ToolProgress {
            call_id: call_id.map(str::to_owned),
            plugin: plugin.to_owned(),
            text,
        });
    }
}

impl Services {
    async fn complete(
        &self,
        plugin: &str,
        prompt: ModelPrompt,
    ) -> Result<ModelAnswer, DomainError> {
        let messages: Vec<Arc<Message>> = prompt.messages.into_iter().map(Arc::new).collect();
        let mut conversation = self.provider.conversation();
        let body = conversation.encode(&Request {
            model: &self.model,
            system: &prompt.system,
            tools: &[],
            messages: &messages,
            revision: 0,
            // Not the session's own: it would only push its prefix out of the cache.
            cache_key: "",
            options: &self.options,
            max_tokens: Some(prompt.max_tokens),
        });
        let request = body.digest;
        let (run, step) = self.announcer.place();
        let key = RequestKey {
            path: plugin.to_owned(),
            run,
            step,
        };
        let mut stream = conversation.send(body, &key);
        while let Some(event) = stream.next().await {
            match event {
                Ok(StreamEvent::Done(Completion { message, usage, .. })) => {
                    self.board.leave(EventData::ModelAsked {
                        plugin: plugin.to_owned(),
                        request,
                        usage,
                    });
                    return Ok(ModelAnswer {
                        text: message.text(),
                        usage,
                        truncated: message.is_cut(),
                    });
                }
                Ok(StreamEvent::Text(_) | StreamEvent::Retry { .. }) => {}
                Err(error) => {
                    return Err(DomainError::new(
                        ErrorKind::Unavailable,
                        error.kind.code(),
                        error.message,
                    ));
                }
            }
        }
        let message = "the answer ended without being finished";
        Err(DomainError::new(
            ErrorKind::Unavailable,
            "malformed",
            message,
        ))
    }
}

fn refusal(fault: &TaskFault) -> DomainError {
    let (kind, code) = match fault {
        TaskFault::Stale { .. } => (ErrorKind::Conflict, "stale"),
        TaskFault::InProgress(_) => (ErrorKind::Invalid, "in-progress"),
        TaskFault::Duplicate(_) => (ErrorKind::Invalid, "duplicate"),
        TaskFault::Empty(_) => (ErrorKind::Invalid, "empty"),
    };
    DomainError::new(kind, code, fault.to_string())
}

fn unavailable(error: StoreError) -> DomainError {
    DomainError::new(ErrorKind::Unavailable, "store", error.to_string())
}
