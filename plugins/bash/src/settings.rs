//! The plugin's settings.

use serde::Deserialize;

/// Settings, with their defaults. The times end before a plugin's own default time limit of 30
/// seconds does, so that a command that takes too long still has a result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Name of the tool.
    pub tool: String,
    /// The shell: a granted program that takes `-c` and a command line.
    pub program: String,
    /// Seconds after which a command is ended that asks for no other time.
    pub timeout_seconds: u32,
    /// The most seconds a command may ask for.
    pub longest_timeout_seconds: u32,
    /// Bytes of output that the model sees of one command.
    pub output_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tool: "bash".to_owned(),
            program: "bash".to_owned(),
            timeout_seconds: 25,
            longest_timeout_seconds: 25,
            output_bytes: 32 * 1024,
        }
    }
}
