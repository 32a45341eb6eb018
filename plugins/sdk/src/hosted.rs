//! Subagent providers whose children run in this host: what they all have in common.

use serde::Deserialize;

use crate::sessions::{self, Work};
use crate::subagents::{Assignment, Outcome, Provider};
use crate::types::Error;

/// What a deployment says about such a provider.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Hosted {
    /// Name of the provider.
    pub provider: Option<String>,
    /// Name of the agent that children are, where the caller names none.
    pub agent: Option<String>,
}

impl Hosted {
    /// The schema of these settings.
    pub const SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "provider": { "type": "string", "pattern": "^[a-z][a-z0-9_.-]*$" },
    "agent": { "type": "string", "minLength": 1 }
  }
}"#;

    /// The provider, called `name` unless the deployment says otherwise. A child can be another agent.
    pub fn provider(&self, name: &str, inherits_parent_context: bool) -> Provider {
        Provider {
            name: self.provider.clone().unwrap_or_else(|| name.to_owned()),
            inherits_parent_context,
            capabilities: vec!["agent".to_owned()],
        }
    }

    /// How a child runs.
    pub fn work(self, assignment: Assignment, inherit: bool) -> Work {
        Work {
            prompt: assignment.prompt,
            agent: assignment.agent.or(self.agent),
            inherit,
        }
    }

    /// Runs a child until it has ended.
    ///
    /// # Errors
    ///
    /// What the child failed with.
    pub fn start(self, assignment: Assignment, inherit: bool) -> Result<Outcome, Error> {
        let report = sessions::run(&self.work(assignment, inherit))?;
        Ok(Outcome {
            text: report.text,
            details: report.details,
        })
    }
}
