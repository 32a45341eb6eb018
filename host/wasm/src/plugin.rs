//! A loaded plugin: what core asks of it, put to a fresh instance each time.

use std::path::PathBuf;

use futures::future::BoxFuture;
use raddle_core::message::Message;
use raddle_core::plugins::{
    AssemblyEdit, Assignment, Caller, ChildOutcome, Context, Environment, Fault, FilteredAssembly,
    FilteredRequest, Invocation, LoadedSkill, Occasion, Offer, Outcome, Plugin, PluginError,
    PluginInfo, Pressure, Question, RequestEdit,
};

use crate::bindings::types;
use crate::contributions;
use crate::exports::place;
use crate::fault::Place;
use crate::imports::Purpose;
use crate::visit::{Enterable, Visit};

/// A plugin whose component and settings were found good.
pub(crate) struct LoadedPlugin {
    pub(crate) info: PluginInfo,
    pub(crate) component: Enterable,
    /// The files its settings declare, as they were when it was loaded.
    pub(crate) files: Vec<types::File>,
    /// The component's file, and what its settings name.
    pub(crate) sources: Vec<PathBuf>,
}

impl Plugin for LoadedPlugin {
    fn info(&self) -> &PluginInfo {
        &self.info
    }

    fn is_quarantined(&self) -> bool {
        self.component.conduct.is_quarantined()
    }

    fn sources(&self) -> &[PathBuf] {
        &self.sources
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

    fn observe<'a>(
        &'a self,
        occasion: &'a Occasion,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        Box::pin(self.observe(occasion, context, caller))
    }

    fn decide<'a>(
        &'a self,
        pressure: &'a Pressure,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Option<usize>, PluginError>> {
        Box::pin(self.decide(pressure, context, caller))
    }

    fn summarize<'a>(
        &'a self,
        messages: &'a [Message],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<String, PluginError>> {
        Box::pin(self.summarize(messages, context, caller))
    }

    fn load_skills<'a>(
        &'a self,
        names: &'a [String],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<LoadedSkill>, PluginError>> {
        Box::pin(self.load_skills(names, context, caller))
    }

    fn hint<'a>(
        &'a self,
        recent: &'a [String],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        Box::pin(self.hint(recent, context, caller))
    }

    fn edit_assembly<'a>(
        &'a self,
        name: &'a str,
        assembly: &'a FilteredAssembly,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<AssemblyEdit>, PluginError>> {
        Box::pin(self.edit_assembly(name, assembly, context, caller))
    }

    fn edit_request<'a>(
        &'a self,
        name: &'a str,
        request: &'a FilteredRequest,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<RequestEdit>, PluginError>> {
        Box::pin(self.edit_request(name, request, context, caller))
    }

    fn start<'a>(
        &'a self,
        assignment: &'a Assignment,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<ChildOutcome, PluginError>> {
        Box::pin(self.start(assignment, context, caller))
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
            let guest = visit.guest(place::SECTIONS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let sections = visit.watch.ask(place::SECTIONS_OFFER, call).await?;
            offer.sections = sections.into_iter().map(contributions::section).collect();
        }
        if let Some(indices) = &exports.variables {
            let guest = visit.guest(place::VARIABLES_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let variables = visit.watch.ask(place::VARIABLES_OFFER, call).await?;
            offer.variables = variables.into_iter().map(contributions::variable).collect();
        }
        if let Some(indices) = &exports.tools {
            let guest = visit.guest(place::TOOLS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let tools = visit.watch.ask(place::TOOLS_OFFER, call).await?;
            offer.tools = tools
                .into_iter()
                .map(contributions::tool)
                .collect::<Result<_, _>>()
                .map_err(|fault| visit.watch.fault(place::TOOLS_OFFER, fault))?;
        }
        if let Some(indices) = &exports.agents {
            let guest = visit.guest(place::AGENTS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let agents = visit.watch.ask(place::AGENTS_OFFER, call).await?;
            offer.agents = agents.into_iter().map(contributions::agent).collect();
        }
        if let Some(indices) = &exports.injections {
            let guest =
                visit.guest(place::INJECTIONS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let kinds = visit.watch.ask(place::INJECTIONS_OFFER, call).await?;
            let kinds = kinds.into_iter().map(contributions::injection_kind);
            offer.injections = kinds.collect();
        }
        if let Some(indices) = &exports.skills {
            let guest = visit.guest(place::SKILLS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let skills = visit.watch.ask(place::SKILLS_OFFER, call).await?;
            offer.skills = skills.into_iter().map(contributions::skill).collect();
        }
        if let Some(indices) = &exports.subagents {
            let guest = visit.guest(place::SUBAGENTS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let providers = visit.watch.ask(place::SUBAGENTS_OFFER, call).await?;
            let providers = providers.into_iter().map(contributions::provider);
            offer.providers = providers.collect();
        }
        if let Some(indices) = &exports.filters {
            let guest = visit.guest(place::FILTERS_OFFER, |store, at| indices.load(store, at))?;
            let call = guest.call_offer(&mut visit.store, &environment);
            let filters = visit.watch.ask(place::FILTERS_OFFER, call).await?;
            offer.filters = filters.into_iter().map(contributions::filter).collect();
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
                let indices = self.exported(place::SECTIONS_RENDER, exports.sections.as_ref())?;
                let guest =
                    visit.guest(place::SECTIONS_RENDER, |store, at| indices.load(store, at))?;
                let call = guest.call_render(&mut visit.store, name, context);
                visit.watch.ask(place::SECTIONS_RENDER, call).await
            }
            Question::Variable(name) => {
                let indices =
                    self.exported(place::VARIABLES_RESOLVE, exports.variables.as_ref())?;
                let guest = visit.guest(place::VARIABLES_RESOLVE, |store, at| {
                    indices.load(store, at)
                })?;
                let call = guest.call_resolve(&mut visit.store, name, context);
                visit.watch.ask(place::VARIABLES_RESOLVE, call).await
            }
            Question::Agent(name) => {
                let indices = self.exported(place::AGENTS_LOAD, exports.agents.as_ref())?;
                let guest = visit.guest(place::AGENTS_LOAD, |store, at| indices.load(store, at))?;
                let call = guest.call_load(&mut visit.store, name, context);
                visit.watch.ask(place::AGENTS_LOAD, call).await.map(Some)
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
        let indices = self.exported(place::TOOLS_CALL, exports.tools.as_ref())?;
        let invocation = contributions::invocation(invocation);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place::TOOLS_CALL, |store, at| indices.load(store, at))?;
        let call = guest.call_call(&mut visit.store, &invocation, &context);
        let outcome = visit.watch.ask(place::TOOLS_CALL, call).await?;
        contributions::outcome(outcome).map_err(|fault| visit.watch.fault(place::TOOLS_CALL, fault))
    }

    async fn observe(
        &self,
        occasion: &Occasion,
        context: &Context,
        caller: &Caller,
    ) -> Result<(), PluginError> {
        let exports = &self.component.exports;
        let indices = self.exported(place::WATCHERS_OBSERVE, exports.watchers.as_ref())?;
        let occasion = contributions::occasion(occasion);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place::WATCHERS_OBSERVE, |store, at| indices.load(store, at))?;
        let call = guest.call_observe(&mut visit.store, &occasion, &context);
        visit.watch.ask(place::WATCHERS_OBSERVE, call).await
    }

    async fn decide(
        &self,
        pressure: &Pressure,
        context: &Context,
        caller: &Caller,
    ) -> Result<Option<usize>, PluginError> {
        let exports = &self.component.exports;
        let indices = self.exported(place::COMPACTION_DECIDE, exports.compaction.as_ref())?;
        let pressure = contributions::pressure(pressure);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place::COMPACTION_DECIDE, |store, at| {
            indices.load(store, at)
        })?;
        let call = guest.call_decide(&mut visit.store, pressure, &context);
        let keep = visit.watch.ask(place::COMPACTION_DECIDE, call).await?;
        Ok(keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX)))
    }

    async fn summarize(
        &self,
        messages: &[Message],
        context: &Context,
        caller: &Caller,
    ) -> Result<String, PluginError> {
        let exports = &self.component.exports;
        let indices = self.exported(place::COMPACTION_SUMMARIZE, exports.compaction.as_ref())?;
        let messages: Vec<types::Message> = messages.iter().map(contributions::message).collect();
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place::COMPACTION_SUMMARIZE, |store, at| {
            indices.load(store, at)
        })?;
        let call = guest.call_summarize(&mut visit.store, &messages, &context);
        visit.watch.ask(place::COMPACTION_SUMMARIZE, call).await
    }

    async fn load_skills(
        &self,
        names: &[String],
        context: &Context,
        caller: &Caller,
    ) -> Result<Vec<LoadedSkill>, PluginError> {
        let exports = &self.component.exports;
        let indices = self.exported(place::SKILLS_LOAD, exports.skills.as_ref())?;
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place::SKILLS_LOAD, |store, at| indices.load(store, at))?;
        let call = guest.call_load(&mut visit.store, names, &context);
        let loaded = visit.watch.ask(place::SKILLS_LOAD, call).await?;
        Ok(loaded
            .into_iter()
            .map(contributions::loaded_skill)
            .collect())
    }

    async fn hint(
        &self,
        recent: &[String],
        context: &Context,
        caller: &Caller,
    ) -> Result<Option<String>, PluginError> {
        let exports = &self.component.exports;
        let indices = self.exported(place::KNOWLEDGE_HINT, exports.knowledge.as_ref())?;
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place::KNOWLEDGE_HINT, |store, at| indices.load(store, at))?;
        let call = guest.call_hint(&mut visit.store, recent, &context);
        visit.watch.ask(place::KNOWLEDGE_HINT, call).await
    }

    async fn start(
        &self,
        assignment: &Assignment,
        context: &Context,
        caller: &Caller,
    ) -> Result<ChildOutcome, PluginError> {
        let place = place::SUBAGENTS_START;
        let indices = self.exported(place, self.component.exports.subagents.as_ref())?;
        let assignment = contributions::assignment(assignment);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Act, caller.clone()).await?;
        let guest = visit.guest(place, |store, at| indices.load(store, at))?;
        let call = guest.call_start(&mut visit.store, &assignment, &context);
        let outcome = visit.watch.ask(place, call).await?;
        contributions::child_outcome(outcome).map_err(|fault| visit.watch.fault(place, fault))
    }

    async fn edit_assembly(
        &self,
        name: &str,
        assembly: &FilteredAssembly,
        context: &Context,
        caller: &Caller,
    ) -> Result<Vec<AssemblyEdit>, PluginError> {
        let place = place::FILTERS_EDIT_ASSEMBLY;
        let indices = self.exported(place, self.component.exports.filters.as_ref())?;
        let assembly = contributions::assembly(assembly);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Text, caller.clone()).await?;
        let guest = visit.guest(place, |store, at| indices.load(store, at))?;
        let call = guest.call_edit_assembly(&mut visit.store, name, &assembly, &context);
        let edits = visit.watch.ask(place, call).await?;
        Ok(edits
            .into_iter()
            .map(contributions::assembly_edit)
            .collect())
    }

    async fn edit_request(
        &self,
        name: &str,
        request: &FilteredRequest,
        context: &Context,
        caller: &Caller,
    ) -> Result<Vec<RequestEdit>, PluginError> {
        let place = place::FILTERS_EDIT_REQUEST;
        let indices = self.exported(place, self.component.exports.filters.as_ref())?;
        let request = contributions::request(request);
        let context = contributions::context(context);
        let mut visit = self.component.enter(Purpose::Text, caller.clone()).await?;
        let guest = visit.guest(place, |store, at| indices.load(store, at))?;
        let call = guest.call_edit_request(&mut visit.store, name, &request, &context);
        let edits = visit.watch.ask(place, call).await?;
        let edits = edits.into_iter().map(contributions::request_edit);
        let edits: Result<_, _> = edits.collect();
        edits.map_err(|fault| visit.watch.fault(place, fault))
    }

    fn exported<'a, T>(&self, place: Place, indices: Option<&'a T>) -> Result<&'a T, PluginError> {
        indices.ok_or_else(|| {
            let message = format!("does not export {}", place.interface);
            place.error(&self.info.id, Fault::Load { message })
        })
    }
}
