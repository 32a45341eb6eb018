//! Looking for what happened outside the conversation, and what is told with a run: notes, and
//! skills that are active from the beginning.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;

use super::Agent;
use super::run::RunError;
use crate::message::Message;
use crate::plugins::{EndedCall, Moment, Occasion, RuntimeFault};
use crate::session::EventData;
use crate::session::skills::{ActiveSkill, SkillActivation};
use crate::wire;

/// How many of the last messages say what a run is about.
const RECENT: usize = 6;

/// What watchers have not been told yet.
#[derive(Default)]
pub(super) struct Lookout {
    /// Whether they looked before.
    looked: bool,
    calls: Vec<EndedCall>,
    faults: Vec<RuntimeFault>,
    /// Watchers whose failure was told.
    failed: BTreeSet<String>,
    /// Plugins whose quarantine was told.
    quarantined: BTreeSet<String>,
}

impl Agent {
    /// Lets the watchers look. What they find is left in the letter box.
    pub(super) async fn observe(&mut self, moment: Moment) {
        let registry = Arc::clone(self.tools.registry());
        for plugin in registry.plugins().iter().filter(|one| one.is_quarantined()) {
            let id = &plugin.info().id;
            if self.lookout.quarantined.insert(id.clone()) {
                let plugin = id.clone();
                self.controller
                    .record([EventData::PluginQuarantined { plugin }]);
                let message = format!("plugin `{id}` kept failing and is not called any more");
                let id = format!("quarantined-{id}-{}", self.controller.run());
                self.lookout.fault(id, "quarantined", &message);
            }
        }
        let watchers: Vec<_> = registry.watchers().collect();
        let first = !std::mem::replace(&mut self.lookout.looked, true);
        if first && self.controller.was_interrupted() {
            let id = format!("interrupted-{}", self.controller.run());
            self.lookout
                .fault(id, "interrupted", "the host ended during a run");
        }
        let occasion = Occasion {
            moment,
            first,
            calls: std::mem::take(&mut self.lookout.calls),
            faults: std::mem::take(&mut self.lookout.faults),
        };
        if watchers.is_empty() {
            return;
        }
        let context = self.context();
        let looks = watchers
            .iter()
            .map(|plugin| plugin.observe(&occasion, &context, &self.caller));
        for (plugin, looked) in watchers.iter().zip(join_all(looks).await) {
            let Err(error) = looked else { continue };
            tracing::warn!(%error, "a watcher failed");
            // Once: it may fail at every step.
            if self.lookout.failed.insert(plugin.info().id.clone()) {
                let id = format!("watcher-{}-{}", plugin.info().id, self.controller.run());
                self.lookout.fault(id, "plugin", &error.to_string());
            }
        }
    }

    /// Pointers to notes that may matter for a run that begins with `message`.
    pub(super) async fn hint(&mut self, message: Option<&EventData>) -> Result<(), RunError> {
        let registry = Arc::clone(self.tools.registry());
        let (Some(plugin), Some(EventData::UserMessage { text })) = (registry.knowledge(), message)
        else {
            return Ok(());
        };
        let words = |message: &Message| match message {
            Message::User { text } => Some(text.clone()),
            Message::Assistant(answer) => Some(answer.text()),
            _ => None,
        };
        let messages = self.controller.transcript().messages().iter().rev();
        let mut recent = vec![text.clone()];
        recent.extend(
            messages
                .filter_map(|message| words(message))
                .take(RECENT - 1),
        );
        recent.reverse();
        let hinted = plugin.hint(&recent, &self.context(), &self.caller).await?;
        let hinted = hinted.map(|text| EventData::NotesHinted {
            plugin: plugin.info().id.clone(),
            text: wire::knowledge_hints(&text),
        });
        self.controller.record(hinted);
        Ok(())
    }

    /// Makes the skills active that the session's prompt variant preloads, once.
    pub(super) async fn preload(&mut self) -> Result<(), RunError> {
        let is_preloaded = |active: &ActiveSkill| active.skill.is_preloaded();
        if self.settings.preload.is_empty() || self.controller.skills().iter().any(is_preloaded) {
            return Ok(());
        }
        let registry = Arc::clone(self.tools.registry());
        let context = self.context();
        for plugin in registry.plugins() {
            let owns = |name: &&String| {
                let owner = registry.skill_owner(name);
                owner.is_some_and(|owner| owner.info().id == plugin.info().id)
            };
            let names: Vec<String> = self.settings.preload.iter().filter(owns).cloned().collect();
            if names.is_empty() {
                continue;
            }
            for loaded in plugin.load_skills(&names, &context, &self.caller).await? {
                self.controller.store().put_text(&loaded.text).await?;
                let activation = SkillActivation::preloaded(loaded, &plugin.info().id);
                let event = EventData::SkillActivated(Box::new(activation));
                self.controller.record([event]);
            }
        }
        Ok(())
    }
}

impl Lookout {
    pub(super) fn ended(&mut self, call: EndedCall) {
        self.calls.push(call);
    }

    pub(super) fn fault(&mut self, id: String, code: &str, message: &str) {
        self.faults.push(RuntimeFault {
            id,
            code: code.to_owned(),
            message: message.to_owned(),
        });
    }
}
