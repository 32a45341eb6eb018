//! `inject`: injections into the calling session, and what became of them.

use raddle_core::plugins::{DomainError, ErrorKind};
use raddle_core::session::injection::{Actor, Injection, Origin, Receipt, Source};
use serde_json::{Map, Value};

use super::State;
use super::services::answer;
use crate::bindings::{inject, types};
use crate::contributions;

impl inject::Host for State {
    async fn send(
        &mut self,
        injection: inject::Injection,
    ) -> wasmtime::Result<Result<inject::Receipt, types::Error>> {
        let details = injection.details.as_ref().map_or(0, String::len);
        self.charge(injection.id.len() + injection.summary.len() + details)?;
        answer(self.send_injection(injection).await)
    }

    async fn find(
        &mut self,
        id: String,
    ) -> wasmtime::Result<Result<inject::Receipt, types::Error>> {
        self.charge(id.len())?;
        answer(self.session().and_then(|session| {
            let found = session.receipt(&id).map(|found| receipt(&id, &found));
            found.ok_or_else(|| {
                let message = format!("there is no injection `{id}`");
                DomainError::new(ErrorKind::NotFound, "injection", message)
            })
        }))
    }

    async fn dismiss(
        &mut self,
        id: String,
        reason: String,
    ) -> wasmtime::Result<Result<inject::Receipt, types::Error>> {
        self.charge(id.len() + reason.len())?;
        answer(self.changed_session().and_then(|session| {
            let dismissed = session.dismiss_injection(&id, &reason)?;
            Ok(receipt(&id, &dismissed))
        }))
    }
}

impl State {
    async fn send_injection(
        &mut self,
        injection: inject::Injection,
    ) -> Result<inject::Receipt, DomainError> {
        let session = self.changed_session()?;
        let injection = taken(injection, session.now())?;
        let id = injection.id.clone();
        let sent = session.send_injection(injection).await?;
        Ok(receipt(&id, &sent))
    }
}

fn taken(injection: inject::Injection, now: Option<String>) -> Result<Injection, DomainError> {
    let details = match injection
        .details
        .as_deref()
        .map(serde_json::from_str::<Value>)
    {
        None => Map::new(),
        Some(Ok(Value::Object(details))) => details,
        Some(_) => {
            let message = "`details` is not a JSON object";
            return Err(DomainError::new(ErrorKind::Invalid, "details", message));
        }
    };
    let origin = injection.origin.map(|origin| Origin {
        actor: origin.actor.map(|actor| match actor {
            inject::Actor::User => Actor::User,
            inject::Actor::Collaborator => Actor::Collaborator,
            inject::Actor::Agent => Actor::Agent,
            inject::Actor::Service => Actor::Service,
        }),
        interaction_id: origin.interaction_id,
        tool_call_id: origin.tool_call_id,
    });
    let injection = Injection {
        id: injection.id,
        kind: injection.kind,
        occurred_at: injection.occurred_at.or(now).unwrap_or_default(),
        source: match injection.source {
            inject::Source::Client => Source::Client,
            inject::Source::Server => Source::Server,
            inject::Source::Tool => Source::Tool,
            inject::Source::Workspace => Source::Workspace,
            inject::Source::BackgroundJob => Source::BackgroundJob,
        },
        delivery: injection.delivery.map(contributions::delivery),
        requires_decision: injection.requires_decision,
        summary: injection.summary,
        dedupe_key: injection.dedupe_key,
        subject: injection
            .subject
            .map(contributions::subject)
            .unwrap_or_default(),
        origin: origin.unwrap_or_default(),
        details,
    };
    Ok(injection)
}

fn receipt(id: &str, receipt: &Receipt) -> inject::Receipt {
    let (state, note) = match receipt {
        Receipt::Queued => (inject::State::Queued, String::new()),
        Receipt::Coalesced { into } => (inject::State::Coalesced, into.clone()),
        Receipt::Suppressed { because } => (inject::State::Suppressed, because.clone()),
        Receipt::Delivered { run, step } => (inject::State::Delivered, format!("{run}/{step}")),
        Receipt::Dismissed { reason } => (inject::State::Dismissed, reason.clone()),
        Receipt::Dropped { because } => (inject::State::Dropped, because.clone()),
    };
    inject::Receipt {
        id: id.to_owned(),
        state,
        note,
    }
}
