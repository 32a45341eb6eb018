//! The parts of one step: assemble, ask, serve.

use std::path::Path;
use std::sync::Arc;

use futures::StreamExt as _;
use futures::future::join;

use super::compact::by_bytes;
use super::run::RunError;
use super::tools::{Batch, Finished, Known};
use super::{Agent, Cancel, Controller};
use crate::digest::Digest;
use crate::message::{AssistantMessage, Finish, ToolCall};
use crate::plugins::{self, Context, EndedCall, Fact, FilteredRequest};
use crate::prompt::{Assembly, Prefix};
use crate::provider::{
    Completion, Partial, ProviderError, ProviderErrorKind, Request, RequestKey, StreamEvent,
};
use crate::session::injection::Moment;
use crate::session::skills::{Selection, SkillActivation};
use crate::session::{EndCause, EventData};
use crate::store::StoreError;

/// The part of the requests that stays: what it is made from, and what opens the run.
#[derive(Default)]
pub(super) struct Head {
    /// The user's message, logged with the first step: what is told with it stands before it.
    message: Option<EventData>,
    /// What the last request was made from.
    pub(super) sent: Option<Arc<Prefix>>,
    /// Counts changes of the above, and of messages that were sent before.
    pub(super) revision: u64,
    /// What the run ended with, where a tool said it, and what it was about.
    said: Option<(String, Option<String>)>,
    /// What the last run ended with.
    pub(super) answer: String,
    /// What went wrong in it.
    pub(super) failure: Option<String>,
    /// Tokens of the run's requests and answers.
    tokens: u64,
    /// Model and options of the next request, as filters made them.
    pub(super) request: FilteredRequest,
    /// Whether the model has answered in the run.
    answered: bool,
    /// Facts of the run: read once, when it begins.
    facts: Vec<Fact>,
    /// Whether the run loads its skills in time.
    selection: Selection,
    /// The skills that the run's message requires.
    required: Vec<String>,
}

impl Agent {
    /// Begins a run: what opens it is logged with its first step.
    pub(super) fn begin(&mut self, message: Option<&str>) {
        self.controller.begin_run();
        self.head.said = None;
        self.head.answered = false;
        self.head.failure = None;
        self.head.tokens = 0;
        self.family
            .remember(self.controller.transcript().messages());
        self.head.selection = Selection::default();
        let requirements = self.settings.requirements.iter();
        self.head.required = requirements
            .filter(|requirement| message.is_some_and(|message| requirement.matches(message)))
            .map(|requirement| requirement.skill.clone())
            .collect();
        self.head.message = message.map(|message| {
            let text = message.to_owned();
            EventData::UserMessage { text }
        });
        let surroundings = self.controller.announcer().surroundings();
        let directory = self.controller.header().directory.as_deref();
        let branch = directory.and_then(|directory| surroundings.branch(Path::new(directory)));
        let fact = |name: &str, value| Fact {
            name: name.to_owned(),
            value,
        };
        let platform = fact("platform", surroundings.platform());
        let preload = self.settings.preload.join(" ");
        let preload = (!preload.is_empty()).then(|| fact("preload", preload));
        self.head.facts = branch
            .map(|branch| fact("git-branch", branch))
            .into_iter()
            .chain([platform])
            .chain(preload)
            .collect();
    }

    pub(super) fn is_over_step_limit(&self) -> bool {
        let limit = self.settings.max_steps;
        limit.is_some_and(|limit| self.controller.step() >= limit)
    }

    pub(super) fn is_over_token_limit(&self) -> bool {
        let limit = self.settings.max_tokens;
        limit.is_some_and(|limit| self.head.tokens >= limit)
    }

    /// The exact prompt of the next request. What is new of it is recorded, together with what
    /// opens the run.
    pub(super) async fn assemble(&mut self) -> Result<Assembly, RunError> {
        self.controller.begin_step();
        let mut moment = Moment::Step;
        if self.controller.step() == 1 {
            moment = Moment::RunStart;
            self.controller.record([EventData::RunStarted {}]);
        }
        self.observe(plugins::Moment::Step).await;
        self.controller.record_changes();
        let context = self.context();
        self.take_mail().await?;
        self.withdraw_orphans();
        self.prompt
            .load_tools(&self.controller.state().loaded_tools);
        let assembled = self.prompt.assemble(&context, &self.caller).await;
        let message = self.head.message.take();
        let assembly = match assembled {
            Ok(assembly) => assembly,
            Err(error) => {
                self.controller.record(message);
                return Err(error.into());
            }
        };
        let is_same = self.filter_request(&context).await?;
        let mut news = self.changed_prefix(&assembly.prefix, is_same).await?;
        news.extend(assembly.tail.iter().map(|entry| EventData::Context {
            section: entry.section.to_string(),
            plugin: entry.plugin.to_string(),
            text: entry.text.to_string(),
        }));
        self.controller.record(news);
        let kinds = self.tools.registry().injection_kinds();
        self.controller.deliver(moment, kinds);
        if moment == Moment::RunStart {
            let told = match self.preload().await {
                Ok(()) => self.hint(message.as_ref()).await,
                Err(error) => Err(error),
            };
            self.controller.record(message);
            told?;
        }
        Ok(assembly)
    }

    /// Takes in what was left for the session.
    pub(super) async fn take_mail(&mut self) -> Result<(), StoreError> {
        let kinds = self.tools.registry().injection_kinds();
        self.controller.take_mail(kinds).await
    }

    /// Whether there is a task to decide something for.
    pub(super) fn has_active_task(&self) -> bool {
        self.controller.tasks().is_active()
    }

    /// Sends the request and takes the answer in: events as they come, the whole answer recorded
    /// together with the calls it makes. A cancelled or broken answer keeps what was said.
    ///
    /// What was recorded so far is made durable while the request is under way, and shown before
    /// the first piece of the answer.
    pub(super) async fn ask(
        &mut self,
        assembly: &Assembly,
        cancel: &Cancel,
    ) -> Result<AssistantMessage, RunError> {
        let body = self.conversation.encode(&Request {
            model: &self.head.request.model,
            system: assembly.system(),
            tools: assembly.tools(),
            messages: self.controller.transcript().messages(),
            revision: self.head.revision,
            cache_key: &self.controller.header().id,
            options: &self.head.request.options,
            max_tokens: None,
        });
        let (digest, sent_bytes) = (body.digest, body.bytes.len());
        let key = RequestKey {
            path: self.family.path().to_owned(),
            run: self.controller.run(),
            step: self.controller.step(),
        };
        let mut stream = self.conversation.send(body, &key);
        let mut said = Partial::default();
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    let message = said.into_answer(Finish::Cancelled);
                    self.record_answer(message.clone(), digest, None);
                    return Ok(message);
                }
                (event, committed) = join(stream.next(), commit_later(&mut self.controller)) => {
                    committed?;
                    event
                }
            };
            match event {
                Some(Ok(StreamEvent::Text(text))) => {
                    said.push(&text);
                    self.show(EventData::TextDelta { text });
                }
                Some(Ok(StreamEvent::Retry { wait, reason })) => self.show(EventData::Retry {
                    wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                    reason,
                }),
                Some(Ok(StreamEvent::Done(Completion { message, usage, .. }))) => {
                    // A limit holds also where the service does not count.
                    self.head.tokens += match &usage {
                        Some(usage) => usage.total(),
                        None => by_bytes(sent_bytes + message.text().len()),
                    };
                    let usage = usage.map(EventData::Usage);
                    self.record_answer(message.clone(), digest, usage);
                    return Ok(message);
                }
                Some(Err(error)) => {
                    self.record_answer(said.into_answer(Finish::Broken), digest, None);
                    return Err(error.into());
                }
                None => {
                    return Err(RunError::Provider(ProviderError::new(
                        ProviderErrorKind::Malformed,
                        "the answer ended without being finished",
                    )));
                }
            }
        }
    }

    /// Runs the calls of an answer. Every call gets a result, also when the run is cancelled.
    /// Says whether every result asks for the run to end.
    pub(super) async fn serve(
        &mut self,
        calls: &[ToolCall],
        assembly: &Assembly,
        cancel: &Cancel,
    ) -> Result<bool, RunError> {
        let mut prepared = Vec::with_capacity(calls.len());
        let missing = self.missing_skills();
        for call in calls {
            let shown = assembly.tools().iter().any(|tool| tool.name == call.name);
            let mut checked = self.tools.check(call, shown);
            if self.tools.is_of_task(call) {
                checked.hold(&missing);
            }
            if checked.is_question() {
                self.controller.commit().await?;
            }
            let (call, decision) = tokio::select! {
                biased;
                () = cancel.cancelled() => break,
                decided = self.tools.decide(checked) => decided,
            };
            prepared.push(call);
            self.controller.record(decision);
        }
        self.controller.commit().await?;
        let mut terminated = !prepared.is_empty();
        let mut said = None;
        if prepared.len() == calls.len() {
            let mut batch = Batch::start(prepared, &self.context(), &self.caller);
            loop {
                let finished = tokio::select! {
                    biased;
                    finished = batch.next() => finished,
                    () = cancel.cancelled() => break,
                };
                let Some(finished) = finished else { break };
                if let Some(EventData::Yield {
                    message, intent, ..
                }) = &finished.said
                    && finished.terminate
                {
                    said = Some((message.clone(), intent.clone()));
                }
                terminated &= finished.terminate;
                self.controller.record_changes();
                self.look_at(&finished, calls);
                self.controller.record(finished.said);
                let known = self.known_from(&finished.result, finished.facts, &finished.plugin);
                let known = known.await?;
                self.controller.record(known);
                self.controller.record([finished.result]);
                if !batch.is_done() {
                    self.controller.commit().await?;
                }
            }
            batch.cancel().await;
            self.family.settled().await;
            self.controller.record_changes();
        }
        let (code, message) = if cancel.is_cancelled() {
            ("cancelled", "the user cancelled the run")
        } else {
            ("failed", "the call ended without a result")
        };
        let unanswered = self.controller.answer_open(code, message);
        terminated &= unanswered.is_empty();
        self.controller.record(unanswered);
        self.head.said = said.filter(|_| terminated);
        Ok(terminated)
    }

    /// The events of what a call made known: skills and notes. What the model reads of them is kept
    /// first.
    async fn known_from(
        &mut self,
        result: &EventData,
        facts: Vec<Known>,
        plugin: &str,
    ) -> Result<Vec<EventData>, StoreError> {
        let EventData::ToolResult { call_id, .. } = result else {
            return Ok(Vec::new());
        };
        let late = self.head.selection.is_late(call_id);
        let mut events = Vec::with_capacity(facts.len());
        for known in facts {
            let store = self.controller.store();
            events.push(match known {
                Known::Skill(skill) => {
                    store.put_text(&skill.text).await?;
                    let activation = SkillActivation::by_call(skill, call_id, plugin, late);
                    EventData::SkillActivated(Box::new(activation))
                }
                Known::Note { id, revision, text } => {
                    store.put_text(&text).await?;
                    let text = Digest::of(&text);
                    EventData::NoteRead { id, revision, text }
                }
                Known::Discarded(id) => EventData::NoteDiscarded { id },
                Known::Tools(namespace) => EventData::ToolsLoaded { namespace },
            });
        }
        Ok(events)
    }

    /// The skills that the run's message requires and that are not active.
    fn missing_skills(&self) -> Vec<String> {
        let skills = self.controller.skills();
        let required = self.head.required.iter();
        let missing = required.filter(|name| skills.get(name).is_none());
        missing.cloned().collect()
    }

    /// Keeps what watchers are told of a call.
    fn look_at(&mut self, finished: &Finished, calls: &[ToolCall]) {
        let EventData::ToolResult {
            call_id, artifact, ..
        } = &finished.result
        else {
            return;
        };
        if let Some(fault) = &finished.fault {
            let id = format!("call-{call_id}");
            self.lookout.fault(id, "plugin", fault);
        }
        if let Some(call) = calls.iter().find(|call| call.id == *call_id) {
            let entry = self.tools.registry().tool(&call.name);
            let kind = entry.and_then(|entry| entry.tool.hint("kind"));
            let name = entry.map_or(&call.name, |entry| &entry.tool.name).clone();
            self.lookout.ended(EndedCall {
                id: call_id.clone(),
                name,
                kind: kind.unwrap_or_default().to_owned(),
                artifact: artifact.clone(),
            });
        }
    }

    /// Answers the calls of an answer that was cut: half a call must never run.
    pub(super) fn refuse_calls_of_cut_answer(&mut self) {
        let refusals = self.controller.answer_open(
            "cut",
            "the answer was cut by the output limit: no call of it ran",
        );
        self.controller.record(refusals);
    }

    pub(super) fn fail(&mut self, error: &RunError) {
        let code = match error {
            RunError::Prompt(_) => "prompt",
            RunError::Provider(error) => error.kind.code(),
            RunError::Plugin(_) => "plugin",
            RunError::Store(_) => "store",
        };
        let event = EventData::Error {
            code: code.to_owned(),
            message: error.to_string(),
        };
        self.head.failure = Some(error.to_string());
        self.controller.record([event]);
    }

    pub(super) async fn end(&mut self, cause: EndCause) -> Result<(), StoreError> {
        let answer = self.controller.transcript().last_answer();
        let answer = answer.filter(|_| self.head.answered);
        let said = self
            .head
            .said
            .take()
            .or(answer.map(|answer| (answer, None)));
        let (message, intent) = said.unwrap_or_default();
        let intent = intent.filter(|intent| self.may_say(intent));
        self.head.answer.clone_from(&message);
        self.controller.record([
            EventData::RunEnded { cause },
            EventData::Done {
                message,
                intent: intent.unwrap_or_else(|| EventData::ANSWER.to_owned()),
            },
        ]);
        self.controller.commit().await
    }

    /// Whether the active agent may say that an answer was about this.
    fn may_say(&self, intent: &str) -> bool {
        let active = self.settings.agent.as_deref();
        let entry = active.and_then(|name| self.tools.registry().agent(name));
        let intents = entry.map(|entry| entry.agent.intents.as_slice());
        intents.is_none_or(|intents| intents.is_empty() || intents.iter().any(|one| one == intent))
    }

    /// The context of the current step, with everything in it; what is asked for a longer
    /// lifetime sees less of it.
    pub(super) fn context(&self) -> Context {
        let header = self.controller.header();
        Context {
            agent: self.settings.agent.clone(),
            model: Some(self.settings.model.clone()),
            prompt_variant: Some(header.variant.clone()),
            session: Some(header.id.clone()),
            cwd: header.directory.clone(),
            turn: Some(self.controller.run()),
            step: Some(self.controller.step()),
            now: Some(self.controller.announcer().surroundings().now()),
            facts: self.head.facts.clone(),
        }
    }

    fn record_answer(
        &mut self,
        message: AssistantMessage,
        request: Digest,
        usage: Option<EventData>,
    ) {
        if message.parts.is_empty() {
            self.controller.record(usage);
            return;
        }
        if !message.is_cut() {
            for call in message.calls() {
                let is_task = self.tools.is_of_task(call);
                self.head.selection.call(&call.id, is_task);
            }
        }
        let quiet = message.calls().filter(|call| self.tools.shows_itself(call));
        let quiet = quiet.map(|call| call.id.clone()).collect();
        self.controller.announcer().twice().keep_quiet(quiet);
        self.head.answered = true;
        let calls: Vec<EventData> = message
            .calls()
            .map(|call| self.tools.call_event(call))
            .collect();
        let tokens = match &usage {
            Some(EventData::Usage(usage)) => usage.total(),
            _ => 0,
        };
        let answer = EventData::AssistantMessage { message, request };
        let events = std::iter::once(answer).chain(usage).chain(calls);
        self.controller.record(events);
        self.measured(tokens);
    }

    fn show(&self, event: EventData) {
        self.controller.announcer().show(event);
    }
}

/// Commits when the request is on its way: the log has time, the model service has not.
async fn commit_later(controller: &mut Controller) -> Result<(), StoreError> {
    if controller.is_committed() {
        return Ok(());
    }
    tokio::task::yield_now().await;
    controller.commit().await
}
