//! `raddle session`: the log, read.

use std::fmt::Write as _;
use std::sync::Arc;

use raddle_core::agent::Observer as _;
use raddle_core::session::{Event, EventData, verify};
use raddle_core::store::{SessionSummary, Store};

use super::Place;
use crate::arguments::SessionCommand;
use crate::config::Config;
use crate::conversation::find;
use crate::deployment;
use crate::failure::Failure;
use crate::model;
use crate::report::{Finding, counted};
use crate::terminal::{Screen, print, print_json, shortened};

/// Reads what the command asks for.
pub(super) async fn run(command: &SessionCommand, place: &Place) -> Result<(), Failure> {
    let config = place.deployment_if_any()?;
    let store = deployment::store(config.as_ref())?;
    match command {
        SessionCommand::List(arguments) => list(&*store, arguments.json).await,
        SessionCommand::Show { id } => show(&*store, id).await,
        SessionCommand::Export { id } => export(&*store, id).await,
        SessionCommand::Replay { id } => replay(&*store, id).await,
        SessionCommand::Verify { id } => verify_requests(&store, id, config.as_ref()).await,
    }
}

async fn list(store: &dyn Store, json: bool) -> Result<(), Failure> {
    let sessions = store.sessions().await.map_err(anyhow::Error::from)?;
    if json {
        return print_json(&sessions);
    }
    let mut text = String::new();
    for session in &sessions {
        let title = session.title.as_deref().unwrap_or("(nothing said yet)");
        let created = session.header.created.get(..16).unwrap_or_default();
        let _ = writeln!(
            text,
            "{}  {}  {:>6} events  {}",
            session.header.id,
            created.replace('T', " "),
            session.events,
            shortened(title, 60)
        );
    }
    print(&text)
}

/// What every event was, one line each.
async fn show(store: &dyn Store, id: &str) -> Result<(), Failure> {
    let (session, events) = read(store, id).await?;
    let header = &session.header;
    let mut text = format!("session {}, started {}\n", header.id, header.created);
    if let Some(directory) = &header.directory {
        let _ = writeln!(text, "directory {directory}");
    }
    if let Some(deployment) = &header.deployment {
        let _ = writeln!(text, "deployment {deployment}");
    }
    text.push('\n');
    for event in &events {
        let place = format!("{}/{}", event.run, event.step);
        let time = event.time.get(11..19).unwrap_or_default();
        let (kind, summary) = summary(event);
        let line = format!("{:>5}  {time}  {place:<6} {kind:<20} {summary}", event.seq);
        let _ = writeln!(text, "{}", line.trim_end());
    }
    print(&text)
}

async fn export(store: &dyn Store, id: &str) -> Result<(), Failure> {
    let (_, events) = read(store, id).await?;
    let mut text = String::new();
    for event in &events {
        text.push_str(&serde_json::to_string(event).map_err(anyhow::Error::from)?);
        text.push('\n');
    }
    print(&text)
}

async fn replay(store: &dyn Store, id: &str) -> Result<(), Failure> {
    let (_, events) = read(store, id).await?;
    let screen = Screen::playback();
    for event in &events {
        screen.event(event);
    }
    Ok(())
}

/// Rebuilds every request with the encoder of the provider that it went to.
async fn verify_requests(
    store: &Arc<dyn Store>,
    id: &str,
    config: Option<&Config>,
) -> Result<(), Failure> {
    let (session, events) = read(&**store, id).await?;
    let kind = events.iter().find_map(|event| match &event.data {
        EventData::Generation(generation) => Some(generation.provider.as_str()),
        _ => None,
    });
    let Some(kind) = kind else {
        return print("0 requests were sent\n");
    };
    let encoder = model::encoder(kind, config.and_then(|config| config.model.as_ref()))?;
    let found = verify(&**store, &*encoder, &session.header.id)
        .await
        .map_err(anyhow::Error::from)?;
    if found.mismatches.is_empty() {
        return print(&format!(
            "{} rebuilt, byte for byte as sent\n",
            counted(found.requests, "request")
        ));
    }
    let findings = found.mismatches.iter().map(|mismatch| {
        let reason = &mismatch.reason;
        Finding::new(format!("event {}: {reason}", mismatch.seq))
    });
    Err(Failure::Bad(findings.collect()))
}

async fn read(store: &dyn Store, id: &str) -> Result<(SessionSummary, Vec<Event>), Failure> {
    let session = find(store, id).await?;
    let events = store
        .events(&session.header.id, 0)
        .await
        .map_err(anyhow::Error::from)?;
    Ok((session, events))
}

/// The type of an event, and what is most worth knowing of it.
fn summary(event: &Event) -> (String, String) {
    let value = serde_json::to_value(&event.data).unwrap_or_default();
    let kind = value["type"].as_str().unwrap_or_default().to_owned();
    let text = match &event.data {
        EventData::UserMessage { text } | EventData::Context { text, .. } => text.clone(),
        EventData::AssistantMessage { message, .. } => message.text(),
        EventData::ToolCall { call, .. } => format!("{} {}", call.name, call.arguments),
        EventData::ToolResult { text, is_error, .. } if *is_error => format!("error: {text}"),
        EventData::ToolResult { text, .. } => text.clone(),
        EventData::Error { code, message } => format!("{code}: {message}"),
        EventData::Done { message } => message.clone(),
        EventData::Generation(generation) => format!(
            "{} plugins, {} ({})",
            generation.plugins.len(),
            generation.model,
            generation.provider
        ),
        _ => value["data"].to_string(),
    };
    (kind, shortened(text.trim(), 80))
}
