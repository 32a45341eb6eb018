//! Compaction between steps: a plugin decides and summarizes, the host cuts and restores.

use std::sync::Arc;

use super::run::RunError;
use super::{Agent, Cancel};
use crate::message::{Message, Part};
use crate::plugins::{Plugin, PluginError, Pressure};
use crate::prompt::{Prefix, TailEntry};
use crate::session::compaction::{ATTEMPTS, Compaction, Restored, keep};
use crate::session::{EventData, ExecutionState};
use crate::store::StoreError;
use crate::surroundings::Surroundings;
use crate::wire;

/// A request of fewer bytes is not worth a tokenizer: four bytes count as one token.
const WORTH_COUNTING: usize = 64 << 10;

/// How full the requests of a session are.
#[derive(Default)]
pub(super) struct Gauge {
    /// Tokens of each message, as far as they were counted.
    messages: Vec<u64>,
    /// Tokens of a prefix.
    prefix: Option<(Arc<Prefix>, u64)>,
    /// What the service counted: of how many messages, and the tokens of the request with them.
    measured: Option<(usize, u64)>,
}

impl Agent {
    /// Compacts the idle session because somebody asks for it. Says whether something was cut.
    ///
    /// # Errors
    ///
    /// Only when the log cannot be written.
    pub async fn compact(&mut self, cancel: &Cancel) -> Result<bool, StoreError> {
        let sent = self.head.sent.clone();
        let compacted = self.relieve(sent.as_ref(), true, cancel).await?;
        self.controller.commit().await?;
        Ok(compacted)
    }

    /// Compacts where the exact request that is about to be sent asks for it.
    pub(super) async fn relieve_step(
        &mut self,
        prefix: &Arc<Prefix>,
        cancel: &Cancel,
    ) -> Result<(), RunError> {
        if self.relieve(Some(prefix), false, cancel).await? {
            // A request that lacks what was cut must not be forgotten: it would be told again.
            self.controller.commit().await?;
        }
        Ok(())
    }

    /// Compacts until the plugin that decides about it is content, there is nothing to cut, or it
    /// does not help. Says whether something was cut.
    pub(super) async fn relieve(
        &mut self,
        prefix: Option<&Arc<Prefix>>,
        asked: bool,
        cancel: &Cancel,
    ) -> Result<bool, StoreError> {
        let registry = Arc::clone(self.tools.registry());
        let Some(plugin) = registry.compaction() else {
            return Ok(false);
        };
        let mut pressure = self.pressure(prefix, asked);
        let mut decided = self.decide(plugin, &pressure).await;
        let mut compacted = false;
        loop {
            let wanted = match decided {
                Ok(Some(wanted)) => wanted,
                Ok(None) => {
                    self.controller.attempts().relieved();
                    return Ok(compacted);
                }
                Err(error) => {
                    self.compaction_failed(&error.to_string());
                    return Ok(compacted);
                }
            };
            if self.controller.state().compactions.count() >= ATTEMPTS && !asked {
                return Ok(compacted);
            }
            let Some((mut compaction, after)) =
                self.compaction(plugin, wanted, &pressure, cancel).await?
            else {
                return Ok(compacted);
            };
            decided = self.decide(plugin, &after).await;
            compaction.helped = asked || matches!(decided, Ok(None));
            self.apply(compaction);
            compacted = true;
            if asked {
                return Ok(compacted);
            }
            pressure = self.pressure(prefix, false);
            if self.controller.state().compactions.count() == ATTEMPTS {
                self.compaction_failed(&format!(
                    "the conversation was compacted {ATTEMPTS} times in a row, and the request still \
                     has {} tokens, {} of them the prompt and its tools: it is not compacted any \
                     more until it fits",
                    pressure.prompt_tokens, pressure.fixed_tokens
                ));
            }
        }
    }

    /// What the service counted for the request that was just answered.
    pub(super) fn measured(&mut self, tokens: u64) {
        let messages = self.controller.transcript().messages().len();
        self.gauge.measured = (tokens > 0).then_some((messages, tokens));
    }

    async fn decide(
        &mut self,
        plugin: &Arc<dyn Plugin>,
        pressure: &Pressure,
    ) -> Result<Option<usize>, PluginError> {
        let context = self.context();
        plugin.decide(pressure, &context, &self.caller).await
    }

    /// The cut that keeps at least `wanted` messages, with the pressure after it; none if there is
    /// nothing to cut, no summary, or no time.
    async fn compaction(
        &mut self,
        plugin: &Arc<dyn Plugin>,
        wanted: usize,
        before: &Pressure,
        cancel: &Cancel,
    ) -> Result<Option<(Compaction, Pressure)>, StoreError> {
        let messages = self.controller.transcript().messages();
        let kept = keep(messages, wanted);
        let (cut, rest) = messages.split_at(messages.len() - kept);
        if !cut
            .iter()
            .any(|message| matches!(**message, Message::Assistant(_)))
        {
            return Ok(None);
        }
        let to_summarize: Vec<Message> = cut.iter().map(|message| (**message).clone()).collect();
        let (cut, rest) = (cut.len(), rest.to_vec());
        let context = self.context();
        let summary = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(None),
            summary = plugin.summarize(&to_summarize, &context, &self.caller) => summary,
        };
        self.controller.record_changes();
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => {
                self.controller.attempts().failed();
                self.compaction_failed(&error.to_string());
                return Ok(None);
            }
        };
        let restored = self.restored(&summary, &to_summarize, &rest).await?;
        let surroundings = self.controller.announcer().surroundings();
        let conversation = restored.iter().map(|restored| &restored.message);
        let conversation = conversation.chain(rest.iter().map(|message| &**message));
        let conversation: Vec<&Message> = conversation.collect();
        let tokens = count(&conversation, surroundings);
        let after = Pressure {
            prompt_tokens: before.fixed_tokens + tokens,
            messages: restored.len() + kept,
            attempts: before.attempts + 1,
            asked: false,
            ..*before
        };
        let compaction = Compaction {
            asked: before.asked,
            cut,
            kept,
            restored,
            tokens_before: before.prompt_tokens,
            tokens_after: after.prompt_tokens,
            helped: false,
        };
        Ok(Some((compaction, after)))
    }

    /// What stands before the `rest` from now on: each thing once, and nothing that the rest still
    /// says itself.
    async fn restored(
        &mut self,
        summary: &str,
        cut: &[Message],
        rest: &[Arc<Message>],
    ) -> Result<Vec<Restored>, StoreError> {
        let ExecutionState {
            active_skills,
            tasks,
            artifacts,
            knowledge,
            hints,
            ..
        } = self.controller.state().clone();
        let entries: Vec<TailEntry> = self.controller.tail().cloned().collect();
        let stands = |text: &str| rest.iter().any(|message| says(message, text));
        let mut restored = Vec::new();
        let mut restore = |what: String, text: String| {
            if !stands(&text) {
                let message = Message::Developer { text };
                restored.push(Restored { what, message });
            }
        };
        let store = Arc::clone(self.controller.store());
        for active in active_skills.iter() {
            // The text of a preloaded skill is part of the prompt.
            if active.skill.is_preloaded() {
                continue;
            }
            if let Some(text) = store.text(active.skill.text).await? {
                restore(format!("skill:{}", active.skill.name), text);
            }
        }
        for note in knowledge {
            if let Some(text) = store.text(note.text).await? {
                restore(format!("note:{}", note.id), text);
            }
        }
        if let Some(hints) = hints {
            restore("knowledge_hints".to_owned(), hints);
        }
        for entry in entries {
            restore(format!("context:{}", entry.section), entry.text.to_string());
        }
        restore("summary".to_owned(), wire::summary(summary));
        if !artifacts.is_empty() {
            restore("artifacts".to_owned(), wire::artifacts(&artifacts));
        }
        if tasks.is_active() {
            restore("tasks".to_owned(), wire::task_list(&tasks));
        }
        let is_users = |message: &Message| matches!(message, Message::User { .. });
        if !rest.iter().any(|message| is_users(message))
            && let Some(message) = cut.iter().rev().find(|message| is_users(message))
        {
            restored.push(Restored {
                what: "message".to_owned(),
                message: message.clone(),
            });
        }
        Ok(restored)
    }

    fn apply(&mut self, compaction: Compaction) {
        let compaction = EventData::Compacted(Box::new(compaction));
        self.controller.record([compaction]);
        self.head.revision += 1;
        self.gauge.messages.clear();
        self.gauge.measured = None;
    }

    fn compaction_failed(&mut self, message: &str) {
        let event = EventData::Error {
            code: "compaction".to_owned(),
            message: message.to_owned(),
        };
        self.controller.record([event]);
    }

    fn pressure(&mut self, prefix: Option<&Arc<Prefix>>, asked: bool) -> Pressure {
        let surroundings = self.controller.announcer().surroundings();
        let messages = self.controller.transcript().messages();
        let fixed_tokens =
            prefix.map_or(0, |prefix| self.gauge.prefix_tokens(prefix, surroundings));
        let measured = self
            .gauge
            .measured
            .filter(|(count, _)| *count <= messages.len());
        let prompt_tokens = match measured {
            Some((known, measured)) => {
                let new: Vec<&Message> = messages[known..].iter().map(Arc::as_ref).collect();
                measured + count(&new, surroundings)
            }
            None => fixed_tokens + self.gauge.message_tokens(messages, surroundings),
        };
        Pressure {
            prompt_tokens,
            fixed_tokens,
            window_tokens: self.settings.window_tokens,
            messages: messages.len(),
            attempts: self.controller.state().compactions.count(),
            asked,
        }
    }
}

impl Gauge {
    fn prefix_tokens(&mut self, prefix: &Arc<Prefix>, surroundings: &dyn Surroundings) -> u64 {
        match &self.prefix {
            Some((known, tokens)) if Arc::ptr_eq(known, prefix) => *tokens,
            _ => {
                let (system, tools) = (prefix.system(), prefix.tools_json());
                let tokens = if system.len() + tools.len() < WORTH_COUNTING {
                    by_bytes(system.len() + tools.len())
                } else {
                    surroundings.tokens(system) + surroundings.tokens(tools)
                };
                self.prefix = Some((Arc::clone(prefix), tokens));
                tokens
            }
        }
    }

    fn message_tokens(
        &mut self,
        messages: &[Arc<Message>],
        surroundings: &dyn Surroundings,
    ) -> u64 {
        let all: Vec<&Message> = messages.iter().map(Arc::as_ref).collect();
        if is_small(&all) {
            return count(&all, surroundings);
        }
        self.messages.truncate(messages.len());
        let new = messages[self.messages.len()..].iter();
        let new: Vec<u64> = new.map(|message| tokens(message, surroundings)).collect();
        self.messages.extend(new);
        self.messages.iter().sum()
    }
}

/// The texts of a message.
fn texts(message: &Message) -> Vec<&str> {
    match message {
        Message::Developer { text } | Message::User { text } => vec![text],
        Message::Tool(result) => vec![&result.text],
        Message::Assistant(answer) => answer
            .parts
            .iter()
            .flat_map(|part| match part {
                Part::Text { text } => vec![text.as_str()],
                Part::Call(call) => vec![call.name.as_str(), call.arguments.as_str()],
                Part::Reasoning { item } => {
                    item["encrypted_content"].as_str().into_iter().collect()
                }
            })
            .collect(),
    }
}

/// Tokens of messages: by the tokenizer where they are worth it, else by their bytes.
fn count(messages: &[&Message], surroundings: &dyn Surroundings) -> u64 {
    if is_small(messages) {
        return by_bytes(messages.iter().map(|message| bytes(message)).sum());
    }
    let messages = messages.iter();
    messages.map(|message| tokens(message, surroundings)).sum()
}

fn is_small(messages: &[&Message]) -> bool {
    messages.iter().map(|message| bytes(message)).sum::<usize>() < WORTH_COUNTING
}

/// Tokens of so many bytes, where it is not worth counting them or nobody does.
pub(super) fn by_bytes(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX)
}

fn bytes(message: &Message) -> usize {
    texts(message).iter().map(|text| text.len()).sum()
}

fn tokens(message: &Message, surroundings: &dyn Surroundings) -> u64 {
    let texts = texts(message);
    texts.iter().map(|text| surroundings.tokens(text)).sum()
}

/// Whether a message holds a text as it is.
fn says(message: &Message, text: &str) -> bool {
    match message {
        Message::Developer { text: said } => said == text,
        Message::Tool(result) => result.text.contains(text),
        Message::User { .. } | Message::Assistant(_) => false,
    }
}
