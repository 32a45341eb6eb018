//! `raddle session inject`: leaves an injection for a session, whoever runs it.

use std::sync::Arc;

use raddle_core::session::EventData;
use raddle_core::session::injection::{Injection, InjectionFault, Kind};
use raddle_core::store::Store;
use raddle_core::surroundings::Surroundings as _;
use serde_json::{Map, Value};

use crate::arguments::InjectArguments;
use crate::conversation::{find, new_id};
use crate::failure::Failure;
use crate::surroundings::Machine;
use crate::terminal::print;

/// Checks the injection as the session would, and leaves it.
pub(super) async fn run(
    store: &Arc<dyn Store>,
    arguments: &InjectArguments,
) -> Result<(), Failure> {
    let session = find(&**store, &arguments.id).await?.header.id;
    let injection = injection(arguments)?;
    let kinds = kinds(&**store, &session).await?;
    // A session that has not run yet has said nothing about its kinds: it decides itself.
    let is_known = |fault: &InjectionFault| {
        kinds.is_some() || !matches!(fault, InjectionFault::UnknownKind { .. })
    };
    let faults = injection.faults(kinds.as_deref().unwrap_or_default());
    let faults: Vec<String> = faults
        .iter()
        .filter(|fault| is_known(fault))
        .map(ToString::to_string)
        .collect();
    if !faults.is_empty() {
        return Err(Failure::bad(faults.join("\n")));
    }
    store.post(&session, &injection).await?;
    print(&format!("{} is left for session {session}\n", injection.id))
}

/// The kinds the session takes, as it last said.
async fn kinds(store: &dyn Store, session: &str) -> Result<Option<Vec<Kind>>, Failure> {
    let entries = store.entries(session, 0).await?;
    let newest = entries
        .into_iter()
        .rev()
        .flatten()
        .find_map(|event| match event.data {
            EventData::Generation(generation) => Some(generation.injection_kinds),
            _ => None,
        });
    Ok(newest)
}

fn injection(arguments: &InjectArguments) -> Result<Injection, Failure> {
    let mut envelope = Map::new();
    let id = match &arguments.event_id {
        Some(id) => id.clone(),
        None => format!("evt_{}", new_id()?),
    };
    let at = arguments.at.clone().unwrap_or_else(|| Machine.now());
    let mut set = |name: &str, value: Option<&String>| {
        if let Some(value) = value {
            envelope.insert(name.to_owned(), value.clone().into());
        }
    };
    set("id", Some(&id));
    set("kind", Some(&arguments.kind));
    set("summary", Some(&arguments.summary));
    set("occurredAt", Some(&at));
    set("source", Some(&arguments.source));
    set("delivery", arguments.delivery.as_ref());
    set("dedupeKey", arguments.dedupe_key.as_ref());
    envelope.insert(
        "requiresDecision".to_owned(),
        arguments.requires_decision.into(),
    );
    let object = |members: [(&str, &Option<String>); 3]| -> Value {
        let members = members
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into())));
        Value::Object(members.collect())
    };
    envelope.insert(
        "subject".to_owned(),
        object([
            ("ref", &arguments.reference),
            ("path", &arguments.path),
            ("revision", &arguments.revision),
        ]),
    );
    envelope.insert(
        "origin".to_owned(),
        object([
            ("actor", &arguments.actor),
            ("interactionId", &arguments.interaction),
            ("toolCallId", &arguments.tool_call),
        ]),
    );
    if let Some(details) = &arguments.details {
        let details: Value = serde_json::from_str(details)
            .map_err(|error| Failure::Misuse(format!("--details is not JSON: {error}")))?;
        envelope.insert("details".to_owned(), details);
    }
    serde_json::from_value(Value::Object(envelope))
        .map_err(|error| Failure::Misuse(format!("this is no injection: {error}")))
}
