//! Requests over HTTP: the service, its connections, and the attempts of one request.

mod attempt;
mod exchange;
mod retry;
mod service;

use std::sync::Arc;

use futures::stream::BoxStream;
use raddle_core::provider::{
    Body, Conversation, Provider, ProviderError, Request, RequestKey, StreamEvent,
};

use crate::answer::CallIds;
use crate::encoder::{Encoder, Form};
use crate::settings::{ProviderSettings, SettingsError};
use exchange::Exchange;
use service::Service;

pub(crate) use service::is_openai;
pub use service::{check_base_url, check_header};

/// A provider that speaks `form` over HTTP.
pub(crate) fn provider<F: Form>(
    settings: &ProviderSettings,
    form: F,
) -> Result<Arc<dyn Provider>, SettingsError> {
    let service = Arc::new(Service::new(settings, F::PATH)?);
    let form = Arc::new(form);
    Ok(Arc::new(HttpProvider { service, form }))
}

struct HttpProvider<F> {
    service: Arc<Service>,
    form: Arc<F>,
}

struct HttpConversation<F> {
    service: Arc<Service>,
    form: Arc<F>,
    encoder: Encoder<F>,
}

impl<F: Form> Provider for HttpProvider<F> {
    fn conversation(&self) -> Box<dyn Conversation> {
        Box::new(HttpConversation {
            service: Arc::clone(&self.service),
            form: Arc::clone(&self.form),
            encoder: Encoder::new(Arc::clone(&self.form)),
        })
    }
}

impl<F: Form> Conversation for HttpConversation<F> {
    fn encode(&mut self, request: &Request<'_>) -> Body {
        self.encoder.encode(request)
    }

    fn send(
        &mut self,
        body: Body,
        key: &RequestKey,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let ids = CallIds::new(self.encoder.call_ids(), key.clone());
        Exchange::new(
            Arc::clone(&self.service),
            Arc::clone(&self.form),
            body.bytes,
            ids,
        )
        .stream()
    }
}
