//! Entering a component: a fresh instance for each call, watched until it ends.

use std::sync::Arc;

use raddle_core::plugins::{Caller, Fault, LimitKind, PluginError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::time::timeout_at;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::types;
use crate::conduct::Conduct;
use crate::deadline::Deadline;
use crate::engine::MAX_INSTANCES;
use crate::exports::{Exports, place};
use crate::fault::{self, Place};
use crate::imports::{Profile, Purpose, State};
use crate::last_words::LastWords;
use crate::weight::Weight;

/// Resources (streams, requests, …) that a guest may hold at once.
const MAX_HANDLES: usize = 10_000;

/// A component that can be entered.
pub(crate) struct Enterable {
    pub(crate) profile: Arc<Profile>,
    pub(crate) component: InstancePre<State>,
    pub(crate) exports: Exports,
    /// One permit for each instance that may exist.
    pub(crate) instances: Arc<Semaphore>,
    pub(crate) conduct: Conduct,
}

/// One instance, from its start to its end. Dropping it, at any time, ends all it does.
pub(crate) struct Visit<'a> {
    pub(crate) watch: Watch<'a>,
    pub(crate) store: Store<State>,
    instance: Instance,
    _permit: SemaphorePermit<'a>,
    _place: OwnedSemaphorePermit,
}

/// Turns what goes wrong in a visit into errors, and ends it at its deadline.
pub(crate) struct Watch<'a> {
    profile: &'a Profile,
    conduct: &'a Conduct,
    last_words: LastWords,
    deadline: Deadline,
}

impl Enterable {
    /// The plugin's own schema for its settings, if it has one.
    pub(crate) async fn describe_settings(&self) -> Result<Option<String>, PluginError> {
        let Some(indices) = &self.exports.settings else {
            return Ok(None);
        };
        let mut visit = self.enter(Purpose::Text, Caller::default()).await?;
        let guest = visit.guest(place::SETTINGS_DESCRIBE, |store, instance| {
            indices.load(store, instance)
        })?;
        let call = guest.call_describe(&mut visit.store);
        visit
            .watch
            .run(place::SETTINGS_DESCRIBE, call)
            .await
            .map(Some)
    }

    /// A fresh instance, its start functions run.
    pub(crate) async fn enter(
        &self,
        purpose: Purpose,
        caller: Caller,
    ) -> Result<Visit<'_>, PluginError> {
        let profile = &self.profile;
        let watch = Watch {
            profile,
            conduct: &self.conduct,
            last_words: LastWords::default(),
            deadline: Deadline::after(profile.limits.timeout),
        };
        let place = self.conduct.enter(&watch.deadline).await;
        let place = place.map_err(|fault| Place::START.error(&profile.id, fault))?;
        let permit = timeout_at(watch.deadline.next_look(), self.instances.acquire()).await;
        let Ok(Ok(permit)) = permit else {
            let running = MAX_INSTANCES as usize;
            return Err(Place::START.error(&profile.id, Fault::Busy { running }));
        };
        let state = State::new(
            profile.clone(),
            purpose,
            caller,
            watch.deadline.clone(),
            watch.last_words.clone(),
        );
        let mut store = Store::new(self.component.engine(), state);
        store.limiter(|state| &mut state.meter);
        store.set_hostcall_fuel(profile.limits.host_calls.max(profile.limits.output));
        store.set_max_component_handles(MAX_HANDLES);
        let (deadline, limits) = (watch.deadline.clone(), profile.limits);
        store.epoch_deadline_callback(move |_| {
            if !deadline.has_passed() {
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
            _place: place,
        })
    }
}

impl Visit<'_> {
    /// The functions of an interface, ready to be called.
    pub(crate) fn guest<T>(
        &mut self,
        place: Place,
        load: impl FnOnce(&mut Store<State>, &Instance) -> wasmtime::Result<T>,
    ) -> Result<T, PluginError> {
        load(&mut self.store, &self.instance).map_err(|error| self.watch.error(place, &error))
    }
}

impl Watch<'_> {
    /// Waits for a call of a function that answers with a value or a domain error.
    pub(crate) async fn ask<T: Weight>(
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
        self.conduct.well(place);
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
        self.conduct.well(place);
        Ok(value)
    }

    async fn bounded<T>(
        &self,
        place: Place,
        work: impl Future<Output = wasmtime::Result<T>>,
    ) -> Result<T, PluginError> {
        let mut work = std::pin::pin!(work);
        loop {
            match timeout_at(self.deadline.next_look(), &mut work).await {
                Ok(done) => return done.map_err(|error| self.error(place, &error)),
                Err(_) if self.deadline.has_passed() => {
                    let breach = self.profile.limits.breach(LimitKind::Time);
                    return Err(self.fault(place, breach.into()));
                }
                Err(_) => {}
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

    pub(crate) fn fault(&self, place: Place, fault: Fault) -> PluginError {
        if !matches!(fault, Fault::Domain(_)) {
            self.conduct.strike(place);
        }
        place.error(&self.profile.id, fault)
    }
}
