//! What a session's requests are made from: the plugins of one generation.

use std::sync::Arc;

use super::family::Seed;
use super::tools::ToolRunner;
use super::{Agent, AgentSettings, Permissions};
use crate::plugins::{Context, FilterTarget, FilteredRequest, PluginError};
use crate::prompt::{Prefix, Prompt, cache_breaks};
use crate::registry::Registry;
use crate::session::{EventData, Generation, LoadedPlugin};
use crate::store::StoreError;

/// The newest generation there is, for sessions that still run on an older one.
pub trait Newest: Send + Sync {
    /// What its plugins own.
    fn registry(&self) -> Arc<Registry>;
}

impl Agent {
    /// Looks at the newest generation before each request: a tool whose subagent provider is gone
    /// there goes at once.
    pub fn follow(&mut self, newest: Arc<dyn Newest>) {
        self.newest = Some(newest);
    }

    /// Goes on with another generation, from the next run on: other plugins, other words. Calls that
    /// run, and children, go on with the code that they began with.
    pub fn adopt(
        &mut self,
        settings: AgentSettings,
        registry: Arc<Registry>,
        mut prompt: Prompt,
        permissions: Permissions,
    ) {
        prompt.load_tools(&self.controller.state().loaded_tools);
        prompt.restore(self.controller.tail().cloned());
        self.family.adopt(Seed::of(
            &settings,
            &self.controller,
            &registry,
            &prompt,
            &self.provider,
            &permissions,
        ));
        self.tools = ToolRunner::new(registry, permissions);
        self.settings = settings;
        self.prompt = prompt;
    }

    /// Takes the tools back whose provider is gone: they could only fail.
    pub(super) fn withdraw_orphans(&mut self) {
        let Some(newest) = &self.newest else { return };
        let (ours, newest) = (self.tools.registry(), newest.registry());
        if Arc::ptr_eq(ours, &newest) {
            return;
        }
        let tools = ours.tools_for_children();
        let gone = tools.filter(|entry| newest.tool(&entry.tool.name).is_none());
        let gone = gone.map(|entry| entry.tool.name.clone()).collect();
        self.prompt.withdraw_tools(gone);
    }

    /// Lets the filters change model and options of the next request; says whether these are those
    /// of the last one.
    pub(super) async fn filter_request(&mut self, context: &Context) -> Result<bool, PluginError> {
        let mut request = FilteredRequest {
            model: self.settings.model.clone(),
            options: self.settings.options.clone(),
        };
        let registry = Arc::clone(self.tools.registry());
        for (name, plugin) in registry.filters(FilterTarget::Request) {
            let edits = plugin.edit_request(name, &request, context, &self.caller);
            for edit in edits.await? {
                request.apply(edit);
            }
        }
        let is_same = request == self.head.request;
        self.head.request = request;
        Ok(is_same)
    }

    /// The generation event when the prefix is not that of the last request, after the cache
    /// break that this is unless the session is new.
    pub(super) async fn changed_prefix(
        &mut self,
        prefix: &Arc<Prefix>,
        is_same_request: bool,
    ) -> Result<Vec<EventData>, StoreError> {
        let sent = self.head.sent.replace(Arc::clone(prefix));
        let is_same = sent.as_ref().is_some_and(|sent| Arc::ptr_eq(sent, prefix));
        if is_same && is_same_request {
            return Ok(Vec::new());
        }
        let generation = self.generation(prefix);
        let before = self.controller.generation();
        if before == Some(&generation) {
            return Ok(Vec::new());
        }
        self.head.revision += 1;
        let store = self.controller.store();
        let sent = match (sent, before) {
            // What this process sent itself knows whose words it was made of.
            (Some(sent), _) => Some(sent),
            (None, Some(before)) => {
                let system = store.text(before.system).await?.unwrap_or_default();
                let tools = store.text(before.tools).await?.unwrap_or_default();
                let tools = serde_json::from_str(&tools).unwrap_or_default();
                Some(Arc::new(Prefix::logged(system, tools)))
            }
            (None, None) => None,
        };
        let mut events: Vec<EventData> = sent
            .iter()
            .flat_map(|sent| cache_breaks(sent, prefix))
            .map(EventData::CacheBreak)
            .collect();
        store.put_text(prefix.system()).await?;
        store.put_text(prefix.tools_json()).await?;
        events.push(EventData::Generation(generation));
        Ok(events)
    }

    fn generation(&self, prefix: &Prefix) -> Generation {
        let plugins = self.tools.registry().plugins().iter();
        Generation {
            plugins: plugins
                .map(|plugin| LoadedPlugin {
                    id: plugin.info().id.clone(),
                    digest: plugin.info().digest,
                })
                .collect(),
            agent: self.settings.agent.clone(),
            provider: self.settings.provider.clone(),
            model: self.head.request.model.clone(),
            options: self.head.request.options.clone(),
            injection_kinds: self.tools.registry().injection_kinds().to_vec(),
            system: prefix.system_digest(),
            tools: prefix.tools_digest(),
        }
    }
}
