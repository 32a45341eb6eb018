//! `raddle session`: the log, read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};
use std::sync::Arc;

use raddle_core::agent::Observer as _;
use raddle_core::session::skills::{SkillActivation, SkillKind, StepState};
use raddle_core::session::{Event, EventData, verify};
use raddle_core::store::{Entry, SessionSummary, Store, Unreadable};
use raddle_skill_format::is_invisible;
use serde_json::Value;

use super::{Place, inject};
use crate::arguments::SessionCommand;
use crate::config::Config;
use crate::deployment;
use crate::failure::Failure;
use crate::model;
use crate::report::{Finding, counted, one_line};
use crate::sessions::find;
use crate::terminal::{FrontEnd as _, Screen, print, print_json, shortened};

/// Reads what the command asks for.
pub(super) async fn run(command: &SessionCommand, place: &Place) -> Result<(), Failure> {
    let config = place.deployment_if_any()?;
    let store = deployment::store(config.as_ref())?;
    match command {
        SessionCommand::List(arguments) => list(&*store, arguments.json).await,
        SessionCommand::Show { id } => show(&*store, id).await,
        SessionCommand::Export { id } => export(&*store, id).await,
        SessionCommand::Replay { id } => replay(&*store, id).await,
        // It needs the whole deployment, not only its store.
        SessionCommand::Compact { .. } => Ok(()),
        SessionCommand::Inject(arguments) => inject::run(&store, arguments).await,
        SessionCommand::Verify { id } => verify_requests(&store, id, config.as_ref()).await,
    }
}

async fn list(store: &dyn Store, json: bool) -> Result<(), Failure> {
    let sessions = store.sessions().await?;
    if json {
        return print_json(&sessions);
    }
    let rows = family_order(&sessions);
    let deepest = rows.iter().map(|(depth, _)| *depth).max();
    let width = 16 + 2 * deepest.unwrap_or_default();
    let mut text = String::new();
    for (depth, session) in rows {
        let title = session.title.as_deref().unwrap_or("(nothing said yet)");
        let created = session.header.created.get(..16).unwrap_or_default();
        let id = match depth {
            0 => session.header.id.clone(),
            _ => format!("{}└ {}", "  ".repeat(depth - 1), session.header.id),
        };
        let _ = writeln!(
            text,
            "{id:width$}  {}  {:>6} events  {}",
            created.replace('T', " "),
            session.events,
            shortened(title, 60)
        );
    }
    print(&text)
}

/// Each session with how deep it is, its children after it, the first one first.
fn family_order(sessions: &[SessionSummary]) -> Vec<(usize, &SessionSummary)> {
    let mut children: BTreeMap<Option<&str>, Vec<&SessionSummary>> = BTreeMap::new();
    let known: BTreeSet<&str> = sessions.iter().map(|known| &*known.header.id).collect();
    for session in sessions {
        let parent = session.header.parent.as_deref();
        let parent = parent.filter(|parent| known.contains(parent));
        children.entry(parent).or_default().push(session);
    }
    let roots = children.remove(&None).unwrap_or_default();
    let mut open: Vec<(usize, &SessionSummary)> =
        roots.into_iter().rev().map(|root| (0, root)).collect();
    let mut rows = Vec::with_capacity(sessions.len());
    while let Some((depth, session)) = open.pop() {
        rows.push((depth, session));
        let born = children.remove(&Some(&*session.header.id));
        // Newest first, as they came: the first one is on top.
        open.extend(born.into_iter().flatten().map(|child| (depth + 1, child)));
    }
    rows
}

/// What every event was, one line each.
async fn show(store: &dyn Store, id: &str) -> Result<(), Failure> {
    let (session, entries) = read(store, id).await?;
    let header = &session.header;
    let mut text = format!("session {}, started {}\n", header.id, header.created);
    if let Some(directory) = &header.directory {
        let _ = writeln!(text, "directory {}", one_line(directory));
    }
    if let Some(deployment) = &header.deployment {
        let _ = writeln!(text, "deployment {}", one_line(deployment));
    }
    text.push('\n');
    for entry in &entries {
        let line = match entry {
            Ok(event) => row(event),
            Err(unreadable) => match &unreadable.newer {
                Some(event) => row_of_newer(unreadable.seq, event),
                None => format!("{:>5}  damaged: {}", unreadable.seq, unreadable.reason),
            },
        };
        let _ = writeln!(text, "{}", one_line(line.trim_end()));
    }
    print(&text)
}

/// Every event that is whole, as the release that wrote it exports it.
async fn export(store: &dyn Store, id: &str) -> Result<(), Failure> {
    let (session, entries) = read(store, id).await?;
    let mut text = String::new();
    for entry in &entries {
        let line = match entry {
            Ok(event) => serde_json::to_string(event).map_err(anyhow::Error::from)?,
            Err(Unreadable {
                newer: Some(event), ..
            }) => event.to_string(),
            Err(_) => continue,
        };
        text.push_str(&line);
        text.push('\n');
    }
    print(&text)?;
    let damage = damage(&entries).map(|damage| {
        let (id, seq) = (&session.header.id, damage.seq);
        Finding::new(format!(
            "session `{id}`, event {seq} is left out: {}",
            damage.reason
        ))
    });
    good_without(damage.collect())
}

async fn replay(store: &dyn Store, id: &str) -> Result<(), Failure> {
    let (_, entries) = read(store, id).await?;
    let screen = Screen::playback();
    for entry in &entries {
        match entry {
            Ok(event) => screen.event(event),
            Err(Unreadable { seq, reason, .. }) => {
                screen.remark(&format!("event {seq} is skipped: {reason}"));
            }
        }
    }
    screen.end()
}

/// Rebuilds every request with the encoder of the provider that it went to.
async fn verify_requests(
    store: &Arc<dyn Store>,
    id: &str,
    config: Option<&Config>,
) -> Result<(), Failure> {
    let (session, entries) = read(&**store, id).await?;
    let kind = entries
        .iter()
        .flatten()
        .find_map(|event| match &event.data {
            EventData::Generation(generation) => Some(generation.provider.as_str()),
            _ => None,
        });
    let finding = |seq: u64, reason: &dyn Display| Finding::new(format!("event {seq}: {reason}"));
    let Some(kind) = kind else {
        let damage = damage(&entries).map(|damage| finding(damage.seq, &damage.reason));
        good_without(damage.collect())?;
        return print("0 requests were sent\n");
    };
    let encoder = model::encoder(kind, config.and_then(|config| config.model.as_ref()))?;
    let found = verify(&**store, &*encoder, &session.header.id).await?;
    let mismatches = found.mismatches.iter();
    let mismatches = mismatches.map(|mismatch| finding(mismatch.seq, &mismatch.reason));
    good_without(mismatches.collect())?;
    print(&format!(
        "{} rebuilt, byte for byte as sent\n",
        counted(found.requests, "request")
    ))
}

async fn read(store: &dyn Store, id: &str) -> Result<(SessionSummary, Vec<Entry>), Failure> {
    let session = find(store, id).await?;
    let entries = store.entries(&session.header.id, 0).await?;
    Ok((session, entries))
}

fn damage(entries: &[Entry]) -> impl Iterator<Item = &Unreadable> {
    let unreadable = entries.iter().filter_map(|entry| entry.as_ref().err());
    unreadable.filter(|unreadable| unreadable.is_damage())
}

fn good_without(findings: Vec<Finding>) -> Result<(), Failure> {
    match findings.is_empty() {
        true => Ok(()),
        false => Err(Failure::Bad(findings)),
    }
}

fn row(event: &Event) -> String {
    let place = format!("{}/{}", event.run, event.step);
    let (kind, summary) = summary(event);
    columns(event.seq, &event.time, &place, &kind, &summary)
}

/// The same of an event whose type is not known here.
fn row_of_newer(seq: u64, event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    let place = format!("{}/{}", event["run"], event["step"]);
    let summary = row_text(&event["data"].to_string());
    columns(seq, text("time"), &place, text("type"), &summary)
}

fn columns(seq: u64, time: &str, place: &str, kind: &str, summary: &str) -> String {
    let time = time.get(11..19).unwrap_or_default();
    format!("{seq:>5}  {time}  {place:<6} {kind:<20} {summary}")
}

/// Which batch loaded a skill, and whether that was in time.
fn loaded(skill: &SkillActivation, event: &Event) -> String {
    let kind = match skill.kind {
        SkillKind::Workflow => "workflow",
        SkillKind::Reference => "reference",
    };
    let by = skill.required_by.as_ref();
    let by = by.map_or_else(String::new, |by| format!(", required by {by}"));
    if skill.is_preloaded() {
        return format!("{} ({kind}), preloaded", skill.name);
    }
    let when = match skill.before_task_tools {
        true => "before the task tools",
        false => "after a task tool: a selection error",
    };
    let (name, run, step) = (&skill.name, event.run, event.step);
    format!("{name} ({kind}{by}) in batch {run}/{step}, {when}")
}

fn is_blocked(state: &StepState) -> bool {
    matches!(state, StepState::Blocked { .. })
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
        EventData::InjectionQueued(injection) => {
            format!("{} {}: {}", injection.id, injection.kind, injection.summary)
        }
        EventData::InjectionCoalesced { id, into } => format!("{id} into {into}"),
        EventData::InjectionSuppressed { id, because } => format!("{id} because of {because}"),
        EventData::InjectionDropped {
            id,
            because: reason,
        }
        | EventData::InjectionDismissed { id, reason } => format!("{id}: {reason}"),
        EventData::InjectionDelivered { id, text, .. } => format!("{id} {text}"),
        EventData::SkillActivated(skill) => loaded(skill, event),
        EventData::ChecklistChanged { skill, steps } => {
            let complete = steps
                .iter()
                .filter(|step| step.state == StepState::Complete);
            let blocked = steps.iter().filter(|step| is_blocked(&step.state)).count();
            let (complete, all) = (complete.count(), steps.len());
            format!("{skill}: {complete} of {all} complete, {blocked} blocked")
        }
        EventData::NoteRead { id, revision, .. } => format!("{id} {revision}"),
        EventData::NotesHinted { text, .. } => text.clone(),
        EventData::Compacted(compaction) => compaction.to_string(),
        EventData::PluginQuarantined { plugin } => plugin.clone(),
        EventData::Inherited(inherited) => {
            let messages = counted(inherited.messages.len(), "message");
            format!("{messages} of {}", inherited.from)
        }
        EventData::ChildStarted {
            child, provider, ..
        } => format!("{child} by {provider}"),
        EventData::ChildEnded { child, error: None } => format!("{child} answered"),
        EventData::ChildEnded {
            child,
            error: Some(error),
        } => format!("{child}: {error}"),
        EventData::Done { message, .. } => message.clone(),
        EventData::Generation(generation) => format!(
            "{} plugins, {} ({})",
            generation.plugins.len(),
            generation.model,
            generation.provider
        ),
        _ => value["data"].to_string(),
    };
    (kind, row_text(&text))
}

/// The beginning of `text`, on one line. What nobody would see is written out, such as characters
/// that spell a hidden message; but not what joins and selects visible ones.
fn row_text(text: &str) -> String {
    const WIDTH: usize = 80;
    let mut seen = String::new();
    for character in text.trim().chars().take(WIDTH + 1) {
        match character {
            '\n' | '\t' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => seen.push(character),
            hidden if is_invisible(hidden) => seen.extend(hidden.escape_unicode()),
            other => seen.push(other),
        }
    }
    shortened(&seen, WIDTH)
}
