//! The plugin's settings.

use serde::Deserialize;

/// Settings, with their defaults.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Name of the tool.
    pub tool: String,
    /// Seconds after which a fetch, redirects included, is given up.
    pub timeout_seconds: u32,
    /// Bytes that are taken of one page.
    pub page_bytes: u32,
    /// Bytes of text that the model sees in one result.
    pub output_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tool: "fetch".to_owned(),
            timeout_seconds: 20,
            page_bytes: 4 * 1024 * 1024,
            output_bytes: 32 * 1024,
        }
    }
}
