//! `model`: requests of the plugin's own to the session's model.

use raddle_core::plugins::{DomainError, ErrorKind, ModelPrompt};

use super::State;
use super::services::answer;
use crate::bindings::{model, types};
use crate::contributions;
use crate::weight::Weight as _;

impl model::Host for State {
    async fn complete(
        &mut self,
        prompt: model::Prompt,
    ) -> wasmtime::Result<Result<model::Completion, types::Error>> {
        self.charge(prompt.system.len() + prompt.messages.weight())?;
        let completion = self.ask_model(prompt).await;
        if let Ok(completion) = &completion {
            self.charge(completion.text.len())?;
        }
        answer(completion)
    }
}

impl State {
    async fn ask_model(&mut self, prompt: model::Prompt) -> Result<model::Completion, DomainError> {
        let granted = self
            .profile
            .grants
            .model
            .map_or(0, |grant| grant.max_tokens);
        if prompt.max_tokens > granted {
            let message = format!(
                "an answer of {} tokens was asked for, {granted} are granted",
                prompt.max_tokens
            );
            return Err(DomainError::new(ErrorKind::Denied, "max-tokens", message));
        }
        let messages = prompt.messages.into_iter().map(contributions::message_in);
        let prompt = ModelPrompt {
            system: prompt.system,
            messages: messages.collect(),
            max_tokens: prompt.max_tokens,
        };
        let session = self.session()?;
        let answer = session.ask_model(&self.profile.id, prompt).await?;
        let tokens = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let usage = answer.usage.unwrap_or_default();
        Ok(model::Completion {
            text: answer.text,
            input_tokens: tokens(usage.input_tokens),
            output_tokens: tokens(usage.output_tokens),
            truncated: answer.truncated,
        })
    }
}
