//! A loaded plugin: a pre-instantiated component that is entered afresh for every call.

use std::sync::Arc;

use futures::future::BoxFuture;
use raddle_core::plugins::{
    Caller, Context, Environment, Fault, Invocation, LimitKind, Offer, Outcome, Plugin,
    PluginError, PluginInfo, Question,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::{agents, injections, sections, settings, tools, types, variables};
use crate::contributions;
use crate::fault::{self, Place};
use crate::imports::{Profile, Purpose, State};
use crate::last_words::LastWords;
use crate::weight::Weight;

const SECTIONS_OFFER: Place = Place::new("sections", "offer");
const SECTIONS_RENDER: Place = Place::new("sections", "render");
const VARIABLES_OFFER: Place = Place::new("variables", "offer");
const VARIABLES_RESOLVE: Place = Place::new("variables", "resolve");
const TOOLS_OFFER: Place = Place::new("tools", "offer");
const TOOLS_CALL: Place = Place::new("tools", "call");
const AGENTS_OFFER: Place = Place::new("agents", "offer");
const AGENTS_LOAD: Place = Place::new("agents", "load");
const INJECTIONS_OFFER: Place = Place::new("injections", "offer");
const SETTINGS_DESCRIBE: Place = Place::new("settings", "describe");

/// Resources (streams, requests, …) that a guest may hold at once.
const MAX_HANDLES: usize = 10_000;

/// A plugin whose component and settings were found good.
pub(crate) struct LoadedPlugin {
    pub(crate) info: PluginInfo,
    pub(crate) component: Enterable,
    /// The files its settings declare, as they were when it was loaded.
    pub(crate) files: Vec<types::File>,
}

/// A component that can be entered.
pub(crate) struct Enterable {
    pub(crate) profile: Arc<Profile>,
    pub(crate) component: InstancePre<State>,
    pub(crate) exports: Exports,
    /// One permit for each instance that may exist.
    pub(crate) instances: Arc<Semaphore>,
}

/// Where the exports of the contract's interfaces are, for those that the component has.
pub(crate) struct Exports {
    sections: Option<sections::GuestIndices>,
    variables: Option<variables::GuestIndices>,
    tools: Option<tools::GuestIndices>,
    agents: Option<agents::GuestIndices>,
    injections: Option<injections::GuestIndices>,
    settings: Option<settings::GuestIndices>,
}

/// One instance, from its start to its end. Dropping it, at any time, ends all it does.
struct Visit<'a> {
    watch: Watch<'a>,
    store: Store<State>,
    instance: Instance,
    _permit: SemaphorePermit<'a>,
}

/// Turns what goes wrong in a visit into errors, and ends it at its deadline.
struct Watch<'a> {
    profile: &'a Profile,
    last_words: LastWords,
    deadline: Instant,
}

impl Exports {
    /// Finds the interfaces in `names`, whose functions were checked before.
    pub(crate) fn find(component: &InstancePre<State>, names: &[String]) -> wasmtime::Result<Self> {
        let has = |name| names.iter().any(|found| found == name);
        Ok(Self {
            sections: has("sections")
                .then(|| sections::GuestIndices::new(component))
                .transpose()?,
            variables: has("variables")
                .then(|| variables::GuestIndices::new(component))
                .transpose()?,
            tools: has("tools")
                .then(|| tools::GuestIndices::new(component))
                .transpose()?,
            agents: has("agents")
                .then(|| agents::GuestIndices::new(component))
                .transpose()?,
            injections: has("injections")
                .then(|| injections::GuestIndices::new(component))
                .transpose()?,
            settings: has("settings")
                .then(|| settings::GuestIndices::new(component))
                .transpose()?,
        })
    }
}

impl Enterable {
    /// The plugin's own schema for its settings, if it has one.
    pub(crate) async fn describe_settings(&self) -> Result<Option<String>, PluginError> {
        let Some(indices) = &self.exports.settings else {
            return Ok(None);
        };
        let mut visit = self.enter(Purpose::Text, Caller::default()).await?;
        let guest = visit.guest(SETTINGS_DESCRIBE, |store, instance| {
            indices.load(store, instance)
        })?;
        let call = guest.call_describe(&mut visit.store);
        visit.watch.run(SETTINGS_DESCRIBE, call).await.map(Some)
    }

    /// A fresh instance, its start functions run.
    async fn enter(&self, purpose: Purpose, caller: Caller) -> Result<Visit<'_>, PluginError> {
        let profile = &self.profile;
        let permit = self.instances.acquire().await.map_err(|error| {
            let message = error.to_string();
            Place::START.error(&profile.id, Fault::Load { message })
        })?;
        let watch = Watch {
            profile,
            last_words: LastWords::default(),
            deadline: Instant::now() + profile.limits.timeout,
        };
        let state = State::new(profile.clone(), purpose, caller, watch.last_words.clone());
        let mut store = Store::new(self.component.engine(), state);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(profile.limits.host_calls.max(profile.limits.output));
        store.set_max_component_handles(MAX_HANDLES);
        let (deadline, limits) = (watch.deadline, profile.limits);
        store.epoch_deadline_callback(move |_| {
            if Instant::now() < deadline {
                // Other tasks run, and a caller that has gone ends this here.
                Ok(UpdateDeadline::Yield(1))
            } else {
                Err(limits.breach(LimitKind::Time).into())
            }
        });
        store.set_epoch_deadline(1);
        let start = self.component.instantiate_async(&mut store);
        let instance = watch.bounded(Place::START, start).await?;
        Ok(Visit {
            watch,
            store,
            instance,
            _permit: permit,
        })
    }
}

impl Visit<'_> {
    /// The functions of an interface, ready to be called.
    fn guest<T>(
        &mut self,
        place: Place,
        load: impl FnOnce(&mut Store<State>, &Instance) -> wasmtime::Result<T>,
    ) -> Result<T, PluginError> {
        load(&mut self.store, &self.instance).map_err(|error| self.watch.error(place, &error))
    }
}

impl Watch<'_> {
    /// Waits for a call of a function that answers with a value or a domain error.
    async fn ask<T: Weight>(
        &self,
        place: Place,
        call: impl Future<Output = wasmtime::Result<Result<T, types::Error>>>,
    ) -> Result<T, PluginError> {
        let answer = self.bounded(place, call).await?;
        let weight = match &answer {
            Ok(value) => value.weight(),
            Err(error) => error.weight(),
        };
        self.check_output(place, weight)?;
        answer.map_err(|error| self.fault(place, Fault::Domain(error.into())))
    }

    /// Waits for a call of a function that always answers with a value.
    async fn run<T: Weight>(
        &self,
        place: Place,
        call: impl Future<Output = wasmtime::Result<T>>,
    ) -> Result<T, PluginError> {
        let value = self.bounded(place, call).await?;
        self.check_output(place, value.weight())?;
        Ok(value)
    }

    async fn bounded<T>(
        &self,
        place: Place,
        work: impl Future<Output = wasmtime::Result<T>>,
    ) -> Result<T, PluginError> {
        match timeout_at(self.deadline, work).await {
            Ok(done) => done.map_err(|error| self.error(place, &error)),
            Err(_) => {
                let breach = self.profile.limits.breach(LimitKind::Time);
                Err(self.fault(place, breach.into()))
            }
        }
    }

    fn check_output(&self, place: Place, weight: usize) -> Result<(), PluginError> {
        if weight <= self.profile.limits.output {
            return Ok(());
        }
        let breach = self.profile.limits.breach(LimitKind::Output);
        Err(self.fault(place, breach.into()))
    }

    fn error(&self, place: Place, error: &wasmtime::Error) -> PluginError {
        let last_words = self.last_words.text();
        let fault = fault::classify(place, error, &self.profile.limits, &last_words);
        self.fault(place, fault)
    }

    fn fault(&self, place: Place, fault: Fault) -> PluginError {
        place.error(&self.profile.id, fault)
    }
}

impl Plugin for LoadedPlugin {
    fn info(&self) -> &PluginInfo {
        &self.info
    }

    fn offer<'a>(
        &'a self,
        environment: &'a Environment,
    ) -> BoxFuture<'a, Result<Offer, PluginError>> {
        Box::pin(self.offer(environment))
    }

    fn answer<'a>(
        &'a self,
        questions: &'a [Question],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, PluginError>> {
        Box::pin(self.answer(questions, context, caller))
    }

    fn call<'a>(
        &'a self,
        invocation: &'a Invocation,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, PluginError>> {
        Box::pin(self.call(invocation, context, caller))
    }
}

impl LoadedPlugin {
    async fn offer(&self, environment: &Environment) -> Result<Offer, PluginError> {
        let mut offer = Offer::default();
        let exports = &self.component.exports;
        if exports.contribute_nothing() {
            return Ok(offer);
        }
        let environment = contributions::environment(environment, &self.files);
        let mut visit = self
            .component
            .enter(Purpose::Text, Caller::default())
            .await?;
        if let Some(indices) = &exports.sections {
            let guest = visit.guest(SECTIONS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let sections = visit.watch.ask(SECTIONS_OFFER, call).await?;
            offer.sections = sections.into_iter().map(contributions::section).collect();
        }
        if let Some(indices) = &exports.variables {
            let guest = visit.guest(VARIABLES_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let variables = visit.watch.ask(VARIABLES_OFFER, call).await?;
            offer.variables = variables.into_iter().map(contributions::variable).collect();
        }
        if let Some(indices) = &exports.tools {
            let guest = visit.guest(TOOLS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let tools = visit.watch.ask(TOOLS_OFFER, call).await?;
            offer.tools = tools
                .into_iter()
                .map(contributions::tool)
                .collect::<Result<_, _>>()
                .map_err(|fault| visit.watch.fault(TOOLS_OFFER, fault))?;
        }
        if let Some(indices) = &exports.agents {
            let guest = visit.guest(AGENTS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let agents = visit.watch.ask(AGENTS_OFFER, call).await?;
            offer.agents = agents.into_iter().map(contributions::agent).collect();
        }
        if let Some(indices) = &exports.injections {
            let guest = visit.guest(INJECTIONS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let kinds = visit.watch.ask(INJECTIONS_OFFER, call).await?;
            let kinds = kinds.into_iter().map(contributions::injection_kind);
            offer.injections = kinds.collect();
        }
        Ok(offer)
    }

    async fn answer(
        &self,
        questions: &[Question],
        context: &Context,
        caller: &Caller,
    ) -> Result<Vec<Option<String>>, PluginError> {
        if questions.is_empty() {
            return Ok(Vec::new());
        }
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Text, caller.clone()).await?;
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            answers.push(self.answer_one(&mut visit, question, &context).await?);
        }
        Ok(answers)
    }

    async fn answer_one(
        &self,
        visit: &mut Visit<'_>,
        question: &Question,
        context: &types::Context,
    ) -> Result<Option<String>, PluginError> {
        let exports = &self.component.exports;
        match question {
            Question::Section(name) => {
                let indices = self.exported(SECTIONS_RENDER, exports.sections.as_ref())?;
                let guest = visit.guest(SECTIONS_RENDER, |store, at| indices.load(store, at))?;
                let call = guest.call_render(&mut visit.store, name, context);
                visit.watch.ask(SECTIONS_RENDER, call).await
            }
            Question::Variable(name) => {
                let indices = self.exported(VARIABLES_RESOLVE, exports.variables.as_ref())?;
                let guest = visit.guest(VARIABLES_RESOLVE, |store, at| indices.load(store, at))?;
                let call = guest.call_resolve(&mut visit.store, name, context);
                visit.watch.ask(VARIABLES_RESOLVE, call).await
            }
            Question::Agent(name) => {
                let indices = self.exported(AGENTS_LOAD, exports.agents.as_ref())?;
                let guest = visit.guest(AGENTS_LOAD, |store, at| indices.load(store, at))?;
                let call = guest.call_load(&mut visit.store, name, context);
                visit.watch.ask(AGENTS_LOAD, call).await.map(Some)
            }
        }
    }

    async fn call(
        &self,
        invocation: &Invocation,
        context: &Context,
        caller: &Caller,
    ) -> Result<Outcome, PluginError> {
        let exports = &self.component.exports;
        let indices = self.exported(TOOLS_CALL, exports.tools.as_ref())?;
        let invocation = contributions::invocation(invocation);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(TOOLS_CALL, |store, at| indices.load(store, at))?;
        let call = guest.call_call(&mut visit.store, &invocation, &context);
        let outcome = visit.watch.ask(TOOLS_CALL, call).await?;
        contributions::outcome(outcome).map_err(|fault| visit.watch.fault(TOOLS_CALL, fault))
    }

    fn exported<'a, T>(&self, place: Place, indices: Option<&'a T>) -> Result<&'a T, PluginError> {
        indices.ok_or_else(|| {
            let message = format!("does not export {}", place.interface);
            place.error(&self.info.id, Fault::Load { message })
        })
    }
}

impl Exports {
    fn contribute_nothing(&self) -> bool {
        self.sections.is_none()
            && self.variables.is_none()
            && self.tools.is_none()
            && self.agents.is_none()
            && self.injections.is_none()
    }
}
