//! The model services Raddle can talk to, behind [`raddle_core::provider::Provider`]: OpenAI's
//! Responses API, the Chat Completions API as compatible servers really speak it, and recordings.
//!
//! A request's body comes from an encoder that only ever adds to what it has already encoded, so
//! that a session's requests are byte prefixes of each other and step 10,000
//! costs what step 100 does. An answer is read as a stream that is retried while nothing was
//! handed out; whatever arrives becomes text as it comes and one whole
//! [`Completion`](raddle_core::provider::Completion), or one typed error.

mod answer;
mod chat;
mod encoder;
mod failure;
mod http;
mod replay;
mod responses;
mod settings;
mod sse;
mod surrogates;

use std::sync::Arc;

use raddle_core::provider::Provider;

pub use encoder::RESERVED_OPTIONS;
pub use http::{check_base_url, check_header};
pub use replay::{Recording, RecordingError};
pub use settings::{ProviderKind, ProviderSettings, Secret, SettingsError};

/// Makes a provider. Nothing is connected, and no certificate is read, before the first request.
pub fn provider(settings: ProviderSettings) -> Result<Arc<dyn Provider>, SettingsError> {
    match settings.kind.clone() {
        ProviderKind::OpenaiResponses => http::provider(&settings, responses::Responses),
        ProviderKind::OpenaiChat => {
            let developer_role = settings
                .developer_role
                .unwrap_or_else(|| http::is_openai(settings.base_url.as_deref()));
            http::provider(&settings, chat::Chat { developer_role })
        }
        ProviderKind::Replay(recording) => Ok(Arc::new(replay::Replay::new(recording))),
    }
}
