//! Events as people read them, and as machines do.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use raddle_core::agent::Observer;
use raddle_core::session::skills::{ChecklistStep, StepState};
use raddle_core::session::tasks::{Task, TaskStatus};
use raddle_core::session::{EndCause, Event, EventData};
use serde_json::Value;

use super::FrontEnd;
use super::output::Output;
use super::style::{Style, harmless, shortened};
use crate::failure::Failure;

/// Lines of a tool's result that are shown.
const RESULT_LINES: usize = 6;
/// Characters of a line that are shown.
const WIDTH: usize = 100;

/// Shows a session as it happens, or again from its log: what the model says on stdout,
/// everything else on stderr.
pub(crate) struct Screen {
    /// Whether calls and results are shown.
    work: bool,
    /// Whether the user's own messages are shown: not while they stand there already.
    echo: bool,
    /// Whether errors are shown: not where the command itself ends with them.
    errors: bool,
    style: Style,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The session that is shown, that of the first event. All others are children of it.
    session: Option<String>,
    /// Each as it was last shown.
    checklists: BTreeMap<String, Vec<ChecklistStep>>,
    output: Output,
    /// The current answer has been streamed, at least in part.
    streamed: bool,
    /// What the user was last told in the run, its words between single spaces.
    told: String,
    /// The beginning of an answer that may turn out to say the same again.
    held: String,
    /// The cursor is behind some text.
    mid_line: bool,
    /// The calls of the current answer by id, each as a line about it.
    calls: BTreeMap<String, String>,
    /// Those of them that are not shown, unless they fail: their tools and whose these are.
    quiet: BTreeMap<String, (String, Option<String>)>,
    /// Calls whose output was shown as it came.
    shown: BTreeSet<String>,
}

/// Prints every event as a line of JSON on stdout.
#[derive(Default)]
pub(crate) struct JsonLines(Mutex<Output>);

impl Screen {
    /// A screen for a conversation in the terminal.
    pub(crate) fn conversation() -> Self {
        Self::new(true, false, true)
    }

    /// A screen that shows the work of a run without a terminal.
    pub(crate) fn unattended() -> Self {
        Self::new(true, true, false)
    }

    /// A screen for one run of a script: its work is shown only to somebody who looks.
    pub(crate) fn script() -> Self {
        Self::new(std::io::stderr().is_terminal(), false, false)
    }

    /// A screen that plays a log.
    pub(crate) fn playback() -> Self {
        Self::new(true, true, true)
    }

    fn new(work: bool, echo: bool, errors: bool) -> Self {
        Self {
            work,
            echo,
            errors,
            style: Style::of(&std::io::stderr()),
            state: Mutex::default(),
        }
    }

    /// Shows a remark about the session that is no part of it.
    pub(crate) fn remark(&self, remark: &str) {
        let line = self.style.faint(format!("[{}]", harmless(remark)));
        self.note(&mut self.state(), &line);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, state: &mut State, text: &str) {
        let text = harmless(text);
        if text.is_empty() {
            return;
        }
        state.mid_line = !text.ends_with('\n');
        state.output.print(&text);
    }

    fn say_held(&self, state: &mut State) {
        let held = std::mem::take(&mut state.held);
        self.say(state, &held);
    }

    fn note(&self, state: &mut State, line: &str) {
        self.end_line(state);
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }

    fn end_line(&self, state: &mut State) {
        if std::mem::take(&mut state.mid_line) {
            state.output.print("\n");
        }
    }

    fn call(&self, state: &mut State, name: &str, plugin: Option<&str>, summary: &str) {
        let owner = plugin.filter(|plugin| *plugin != name);
        let owner = owner.map_or_else(String::new, |plugin| format!(" ({plugin})"));
        let name = self.style.strong(format!("● {name}"));
        let space = if summary.is_empty() { "" } else { " " };
        let owner = self.style.faint(owner);
        self.note(state, &format!("{name}{space}{summary}{owner}"));
    }

    fn result(&self, state: &mut State, call: &str, text: &str, is_error: bool) {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        // Of what was shown as it came, only how it ended is new.
        let start = match state.shown.remove(call) {
            true => lines.len().saturating_sub(1),
            false => 0,
        };
        let hidden = (lines.len() - start).saturating_sub(RESULT_LINES);
        for line in lines.iter().skip(start).take(RESULT_LINES) {
            let line = format!("  {}", shortened(line, WIDTH));
            let line = match is_error {
                true => self.style.wrong(line),
                false => self.style.faint(line),
            };
            self.note(state, &line);
        }
        if hidden > 0 {
            let line = self.style.faint(format!("  … {hidden} more lines"));
            self.note(state, &line);
        }
    }

    fn task(&self, task: &Task) -> String {
        let note = task
            .note
            .as_deref()
            .map_or_else(String::new, |note| format!(": {note}"));
        let text = shortened(&format!("{}{note}", task.label), WIDTH);
        match task.status {
            TaskStatus::Complete => self.style.faint(format!("  ✓ {text}")),
            TaskStatus::InProgress => self.style.strong(format!("  ▸ {text}")),
            TaskStatus::Blocked => self.style.wrong(format!("  ✗ {text}")),
            TaskStatus::Pending => format!("  ○ {text}"),
        }
    }

    /// How far a checklist is, with the steps that something became of since it was last shown.
    fn checklist(&self, state: &mut State, skill: &str, steps: &[ChecklistStep]) {
        let known = state.checklists.insert(skill.to_owned(), steps.to_vec());
        let known = known.unwrap_or_default();
        let complete = steps
            .iter()
            .filter(|step| step.state == StepState::Complete);
        let line = format!("  [{skill}: {} of {} steps]", complete.count(), steps.len());
        self.note(state, &self.style.faint(line));
        for step in steps.iter().filter(|step| step.state != StepState::Open) {
            if !known.contains(step) {
                let line = shortened(&step.to_string(), WIDTH);
                self.note(state, &self.style.faint(format!("    {line}")));
            }
        }
    }

    fn ended(&self, state: &mut State, cause: EndCause) {
        self.end_line(state);
        let line = match cause {
            EndCause::Answered | EndCause::Yielded | EndCause::Failed => return,
            EndCause::Cancelled => "cancelled",
            EndCause::Cut => "the answer was cut by the output limit",
            EndCause::Interrupted => "the process ended during this run",
            EndCause::StepLimit => "the limit of steps in one run was reached",
            EndCause::TokenLimit => "the limit of tokens in one run was reached",
        };
        let line = self.style.faint(format!("[{line}]"));
        self.note(state, &line);
    }

    /// What a child does, a line for each call. What it says is its parent's to tell.
    fn child(&self, state: &mut State, event: &Event) {
        let line = match &event.data {
            EventData::UserMessage { text } => shortened(text, WIDTH),
            EventData::ToolCall { call, .. } => {
                let summary = shortened(&summary(&call.arguments), WIDTH / 2);
                format!("● {} {summary}", call.name)
            }
            EventData::Error { message, .. } => shortened(&harmless(message), WIDTH),
            EventData::RunEnded { cause } if *cause == EndCause::Answered => "answered".to_owned(),
            _ => return,
        };
        let id: String = event.session.chars().take(6).collect();
        self.note(state, &self.style.faint(format!("  [{id}] {line}")));
    }
}

impl Observer for Screen {
    fn event(&self, event: &Event) {
        let state = &mut *self.state();
        let shown = state.session.get_or_insert_with(|| event.session.clone());
        if *shown != event.session {
            if self.work {
                self.child(state, event);
            }
            return;
        }
        match &event.data {
            EventData::UserMessage { text } if self.echo => {
                self.end_line(state);
                self.say(state, &format!("> {}\n", text.replace('\n', "\n  ")));
            }
            EventData::TextDelta { text } => {
                let differs = state.streamed && state.held.is_empty();
                state.streamed = true;
                state.held.push_str(text);
                if differs || !state.told.starts_with(&words(&state.held)) {
                    self.say_held(state);
                }
            }
            EventData::AssistantMessage { message, .. } => {
                state.calls.clear();
                state.quiet.clear();
                let streamed = std::mem::take(&mut state.streamed);
                if !event.display {
                    state.held.clear();
                } else if streamed {
                    self.say_held(state);
                } else {
                    self.say(state, &message.text());
                }
                self.end_line(state);
            }
            EventData::ToolCall { call, plugin } if !event.display => {
                let tool = (call.name.clone(), plugin.clone());
                state.quiet.insert(call.id.clone(), tool);
            }
            EventData::ToolCall { call, plugin } if self.work => {
                let summary = summary(&call.arguments);
                let line = format!("{} {}", call.name, shortened(&summary, WIDTH / 2));
                state.calls.insert(call.id.clone(), line);
                self.call(state, &call.name, plugin.as_deref(), &summary);
            }
            EventData::ToolProgress { call_id, text, .. } if self.work => {
                state.shown.extend(call_id.clone());
                for line in text.trim_end().lines() {
                    let line = self.style.faint(format!("  {}", shortened(line, WIDTH)));
                    self.note(state, &line);
                }
            }
            EventData::ToolResult {
                call_id,
                text,
                is_error,
                ..
            } if self.work && event.display => {
                // Several calls run at once: say which one this is.
                if let Some((name, plugin)) = state.quiet.remove(call_id) {
                    self.call(state, &name, plugin.as_deref(), "");
                } else if state.calls.len() > 1
                    && let Some(call) = state.calls.get(call_id)
                {
                    let line = self.style.faint(format!("  {call}:"));
                    self.note(state, &line);
                }
                self.result(state, call_id, text, *is_error);
            }
            EventData::Yield { message, .. } if event.display => {
                state.told = words(message);
                self.end_line(state);
                self.say(state, message.trim_end());
                self.end_line(state);
            }
            EventData::TasksChanged(list) if self.work => {
                for task in &list.tasks {
                    self.note(state, &self.task(task));
                }
            }
            EventData::ChecklistChanged { skill, steps } if self.work => {
                self.checklist(state, skill, steps);
            }
            EventData::SkillActivated(skill) if self.work => {
                let late = if skill.before_task_tools {
                    ""
                } else {
                    ", late"
                };
                let line = format!("  [skill {} is active{late}]", skill.name);
                self.note(state, &self.style.faint(line));
            }
            EventData::Compacted(compaction) => {
                let line = shortened(&format!("[compaction: {compaction}]"), 2 * WIDTH);
                self.note(state, &self.style.faint(line));
            }
            EventData::Permission {
                tool,
                allowed: false,
                by,
                ..
            } => {
                let line = self
                    .style
                    .wrong(format!("  {tool} is not permitted ({by})"));
                self.note(state, &line);
            }
            EventData::PluginQuarantined { plugin } => {
                let line = format!("[{plugin} kept failing and is not called any more]");
                self.note(state, &self.style.wrong(line));
            }
            EventData::Retry { wait_ms, reason } => {
                let seconds = wait_ms.div_ceil(1000);
                let reason = shortened(reason, WIDTH);
                let line = self
                    .style
                    .faint(format!("[{reason}; again in {seconds} s]"));
                self.note(state, &line);
            }
            EventData::CacheBreak(broken) => {
                let name = broken.name.as_deref().unwrap_or(&broken.part);
                let plugin = broken.plugin.as_deref().unwrap_or("a plugin that left");
                let at = broken.at;
                let part = &broken.part;
                let line = format!("[cache break: `{name}` of {plugin}, byte {at} of {part}]");
                self.note(state, &self.style.faint(line));
            }
            EventData::Error { message, .. } if self.errors => {
                let line = self.style.wrong("error:");
                self.note(state, &format!("{line} {}", harmless(message)));
            }
            EventData::RunEnded { cause } => {
                state.streamed = false;
                state.told.clear();
                self.say_held(state);
                self.ended(state, *cause);
            }
            _ => {}
        }
    }
}

impl FrontEnd for Screen {
    fn end(&self) -> Result<(), Failure> {
        self.state().output.end()
    }
}

impl JsonLines {
    fn output(&self) -> MutexGuard<'_, Output> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for JsonLines {
    fn event(&self, event: &Event) {
        if let Ok(line) = serde_json::to_string(event) {
            self.output().print(&format!("{line}\n"));
        }
    }
}

impl FrontEnd for JsonLines {
    fn end(&self) -> Result<(), Failure> {
        self.output().end()
    }
}

/// The words of `text`, between single spaces.
fn words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

/// The arguments of a call, as far as they fit on a line: the only string for itself, all others
/// as JSON.
fn summary(arguments: &str) -> String {
    let parsed = serde_json::from_str::<Value>(arguments).ok();
    let only = parsed.as_ref().and_then(|value| {
        let members = value.as_object().filter(|members| members.len() == 1)?;
        members.values().next()?.as_str()
    });
    shortened(only.unwrap_or(arguments), WIDTH)
}
