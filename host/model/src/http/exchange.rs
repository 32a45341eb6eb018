//! One request with all its attempts, as a stream.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use raddle_core::provider::{Partial, ProviderError, StreamEvent};

use super::attempt::{Attempt, Step};
use super::service::Service;
use crate::answer::CallIds;
use crate::encoder::Form;
use crate::failure::Failure;

/// A request being answered.
pub(super) struct Exchange<F: Form> {
    service: Arc<Service>,
    form: Arc<F>,
    body: Bytes,
    ids: CallIds,
    /// How many attempts were begun.
    attempts: u32,
    /// Text that was handed out: from then on nothing is tried again.
    handed_out: Partial,
    state: State<F>,
}

enum State<F: Form> {
    /// To be sent, after a wait.
    Pending(Duration),
    Reading(Box<Attempt<F::Answer>>),
    Ended,
}

impl<F: Form> Exchange<F> {
    pub(super) fn new(service: Arc<Service>, form: Arc<F>, body: Bytes, ids: CallIds) -> Self {
        Self {
            service,
            form,
            body,
            ids,
            attempts: 0,
            handed_out: Partial::default(),
            state: State::Pending(Duration::ZERO),
        }
    }

    pub(super) fn stream(self) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        stream::unfold(self, async |mut exchange| {
            let event = exchange.next().await?;
            Some((event, exchange))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<StreamEvent, ProviderError>> {
        loop {
            match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return None,
                State::Pending(wait) => {
                    if !wait.is_zero() {
                        tokio::time::sleep(wait).await;
                    }
                    self.attempts += 1;
                    let answer = self.form.answer();
                    match Attempt::open(&self.service, self.body.clone(), answer).await {
                        Ok(attempt) => self.state = State::Reading(Box::new(attempt)),
                        Err(failure) => return Some(self.failed(failure)),
                    }
                }
                State::Reading(attempt) => match attempt.step(&self.ids).await {
                    Ok(Step::Text(text, attempt)) => {
                        self.handed_out.push(&text);
                        self.state = State::Reading(attempt);
                        return Some(Ok(StreamEvent::Text(text)));
                    }
                    Ok(Step::Done(completion)) => return Some(Ok(StreamEvent::Done(completion))),
                    Err(failure) => return Some(self.failed(failure)),
                },
            }
        }
    }

    fn failed(&mut self, mut failure: Failure) -> Result<StreamEvent, ProviderError> {
        let wait = if self.handed_out.is_empty() {
            self.service.wait(&mut failure, self.attempts)
        } else {
            None
        };
        let mut error = failure.error;
        self.service.redact(&mut error);
        if let Some(wait) = wait {
            tracing::debug!(attempt = self.attempts, ?wait, reason = %error, "request failed");
            self.state = State::Pending(wait);
            return Ok(StreamEvent::Retry {
                wait,
                reason: error.message,
            });
        }
        if self.attempts > 1 {
            error
                .message
                .push_str(&format!(" (after {} attempts)", self.attempts));
        }
        error.partial_text = std::mem::take(&mut self.handed_out).into_text();
        Err(error)
    }
}
