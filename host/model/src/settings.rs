//! What a provider is made from.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::replay::Recording;

/// Everything a provider needs to know. It has no `Debug`, because it holds secrets.
///
/// ```
/// use raddle_model::{ProviderKind, ProviderSettings, Secret};
///
/// let mut settings = ProviderSettings::new(ProviderKind::OpenaiChat, || 0.5);
/// settings.base_url = Some("http://127.0.0.1:8080/v1".to_owned());
/// settings.api_key = Some(Secret::new("key"));
/// let provider = raddle_model::provider(settings)?;
/// # Ok::<(), raddle_model::SettingsError>(())
/// ```
#[derive(Clone)]
pub struct ProviderSettings {
    /// Which protocol is spoken.
    pub kind: ProviderKind,
    /// Where the service is, up to and including its version (`https://api.openai.com/v1`, which
    /// is the default). A query is kept, for services that want one.
    pub base_url: Option<String>,
    /// Sent as `Authorization: Bearer …`; nothing is sent without one.
    pub api_key: Option<Secret>,
    /// Further request headers. They replace those of the same name, `authorization` included,
    /// and their values are kept as secret as the key.
    pub headers: Vec<(String, String)>,
    /// Whether `openai-chat` sends trusted text with the `developer` role. Without one it is a
    /// user message, and reserved tags in other text are neutralised. By
    /// default only OpenAI's own service is taken to know the role; `openai-responses` always
    /// has it.
    pub developer_role: Option<bool>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long nothing at all may arrive, headers included, before the request is given up.
    pub idle_timeout: Duration,
    /// How often a request is sent at most, the first time included.
    pub max_attempts: u32,
    /// What the wait before the second attempt is at most; it doubles with every further one.
    pub backoff: Duration,
    /// The longest wait between two attempts. A service that asks for a longer one ends the
    /// request with an error that names the wait.
    pub max_wait: Duration,
    /// A random number from 0 up to 1, asked for each wait, so that sessions that failed together
    /// do not come back together.
    pub jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// The time of day, to read a `Retry-After` that is a date.
    pub now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

/// A provider's protocol.
#[derive(Clone)]
pub enum ProviderKind {
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// The Chat Completions API, as OpenAI and compatible servers speak it.
    OpenaiChat,
    /// No service at all: answers come from a recording.
    Replay(Arc<Recording>),
}

/// A text that is never shown: it has neither `Debug` nor `Display`.
#[derive(Clone)]
pub struct Secret(String);

/// Settings no provider can be made from. Values that may be secret are not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The base URL is not one.
    #[error("base URL `{url}`: {reason}")]
    BaseUrl {
        /// The URL, without credentials and query.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The key cannot stand in a header.
    #[error("the API key holds characters that no header can carry (a line break, for one)")]
    ApiKey,
    /// A header cannot be sent.
    #[error("header `{name}`: {reason}")]
    Header {
        /// The header's name, as given.
        name: String,
        /// What is wrong with its name or value.
        reason: &'static str,
    },
    /// No attempt is allowed.
    #[error("max_attempts is 0: a request has to be sent at least once")]
    NoAttempts,
}

impl ProviderSettings {
    /// Settings with every default: no key, five minutes of silence, four attempts, waits of
    /// half a second doubling up to a minute. `jitter` gives a random number from 0 up to 1.
    pub fn new(kind: ProviderKind, jitter: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self {
            kind,
            base_url: None,
            api_key: None,
            headers: Vec::new(),
            developer_role: None,
            connect_timeout: Duration::from_secs(20),
            idle_timeout: Duration::from_secs(300),
            max_attempts: 4,
            backoff: Duration::from_millis(500),
            max_wait: Duration::from_secs(60),
            jitter: Arc::new(jitter),
            now: Arc::new(SystemTime::now),
        }
    }
}

impl Secret {
    /// Keeps `text` from being shown.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}
