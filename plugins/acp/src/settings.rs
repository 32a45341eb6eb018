//! What a deployment says about an agent.

use std::collections::BTreeMap;

use raddle_sdk::Fact;
use serde::Deserialize;

/// How an agent is started, and what it may do.
#[derive(Debug, Clone, Deserialize)]
pub struct Settings {
    /// Name of the provider.
    #[serde(default = "provider")]
    pub provider: String,
    /// The agent's program, as the grant names it.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Variables that are set for it; the grant must name them.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Kinds of what it does that are permitted when it asks; it decides by itself when to ask.
    #[serde(default = "harmless")]
    pub permit: Vec<String>,
}

impl Settings {
    /// The variables that are set for the program.
    pub fn variables(&self) -> Vec<Fact> {
        let variables = self.environment.iter();
        variables
            .map(|(name, value)| Fact::new(name, value.clone()))
            .collect()
    }
}

fn provider() -> String {
    "acp".to_owned()
}

fn harmless() -> Vec<String> {
    ["read", "search", "think"].map(str::to_owned).to_vec()
}
