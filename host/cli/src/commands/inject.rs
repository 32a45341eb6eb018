//! `raddle session inject`: leaves an injection for a session, whoever runs it.

use std::io::Read as _;
use std::sync::Arc;

use anyhow::Context as _;

use raddle_core::session::EventData;
use raddle_core::session::injection::{Injection, InjectionFault, Queue, Receipt};
use raddle_core::store::Store;
use raddle_core::surroundings::Surroundings as _;
use serde_json::{Map, Value};

use crate::arguments::InjectArguments;
use crate::failure::Failure;
use crate::sessions::{find, new_id};
use crate::surroundings::Machine;
use crate::terminal::print;

/// Checks the injection as the session would, leaves it, and prints its receipt.
pub(super) async fn run(
    store: &Arc<dyn Store>,
    arguments: &InjectArguments,
) -> Result<(), Failure> {
    let session = find(&**store, &arguments.id).await?.header.id;
    let injection = injection(arguments)?;
    let receipt = leave(store, &session, &injection).await?;
    print(&format!("{} {receipt}\n", injection.id))
}

/// Checks an injection as the session would, and leaves it, unless it is there already.
///
/// # Errors
///
/// Everything that is wrong with it.
pub(crate) async fn leave(
    store: &Arc<dyn Store>,
    session: &str,
    injection: &Injection,
) -> Result<Receipt, Failure> {
    let mut queue = Queue::default();
    let mut kinds = None;
    for event in store.entries(session, 0).await?.into_iter().flatten() {
        queue.apply(&event);
        if let EventData::Generation(generation) = event.data {
            kinds = Some(generation.injection_kinds);
        }
    }
    // A session that has not run yet has said nothing about its kinds: it decides itself.
    let is_known = |fault: &InjectionFault| {
        kinds.is_some() || !matches!(fault, InjectionFault::UnknownKind { .. })
    };
    let faults = injection.faults(kinds.as_deref().unwrap_or_default());
    let faults = faults.iter().filter(|fault| is_known(fault));
    let faults: Vec<String> = faults.map(ToString::to_string).collect();
    if !faults.is_empty() {
        return Err(Failure::bad(faults.join("\n")));
    }
    let receipt = queue.receipt(&injection.id).unwrap_or(&Receipt::Queued);
    if *receipt == Receipt::Queued {
        store.post(session, injection).await?;
    }
    Ok(receipt.clone())
}

fn injection(arguments: &InjectArguments) -> Result<Injection, Failure> {
    let no_injection =
        |error: serde_json::Error| Failure::Misuse(format!("this is no injection: {error}"));
    match (&arguments.kind, &arguments.summary) {
        (Some(kind), Some(summary)) => {
            serde_json::from_value(envelope(arguments, kind, summary)?).map_err(no_injection)
        }
        _ => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.context("the injection cannot be read from stdin")?;
            serde_json::from_str(&text).map_err(no_injection)
        }
    }
}

/// The JSON of the seed's `RuntimeInjection`, from flags.
fn envelope(
    arguments: &InjectArguments,
    kind: &String,
    summary: &String,
) -> Result<Value, Failure> {
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
    set("kind", Some(kind));
    set("summary", Some(summary));
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
    Ok(Value::Object(envelope))
}
