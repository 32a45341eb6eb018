//! The loop.

use super::{Agent, Cancel};
use crate::message::{Finish, ToolCall};
use crate::plugins::PluginError;
use crate::prompt::PromptError;
use crate::provider::ProviderError;
use crate::session::EndCause;
use crate::store::StoreError;

/// How often in a row an answer may be cut by the output limit before the run ends.
const CUTS: u32 = 2;

/// Why a run failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum RunError {
    /// The prompt could not be assembled.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The model could not be asked.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// A plugin could not say what is told with a run.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The log could not be written: nothing more can be done in this session.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Agent {
    /// One run: from a user's message to the end of the model's work.
    pub(crate) async fn steps(&mut self, cancel: &Cancel) -> Result<EndCause, RunError> {
        let mut cuts = 0;
        loop {
            if self.is_over_step_limit() {
                return Ok(EndCause::StepLimit);
            }
            if self.is_over_token_limit() {
                return Ok(EndCause::TokenLimit);
            }
            let assembly = self.assemble().await?; // sections, variables, tools
            self.relieve_step(&assembly.prefix, cancel).await?; // compaction lives here
            let answer = self.ask(&assembly, cancel).await?; // events as they come
            if answer.finish == Finish::Cancelled {
                return Ok(EndCause::Cancelled);
            }
            let calls: Vec<ToolCall> = answer.calls().cloned().collect();
            if answer.is_cut() {
                cuts += 1;
                self.refuse_calls_of_cut_answer();
                if calls.is_empty() || cuts == CUTS {
                    return Ok(EndCause::Cut);
                }
                continue;
            }
            cuts = 0;
            if calls.is_empty() {
                return Ok(EndCause::Answered);
            }
            let terminated = self.serve(&calls, &assembly, cancel).await?; // results in call order
            if cancel.is_cancelled() {
                return Ok(EndCause::Cancelled);
            }
            if terminated {
                return Ok(EndCause::Yielded);
            }
        }
    }
}
