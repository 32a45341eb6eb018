//! What the user types: messages with line editing and history, and answers to questions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use anyhow::{Context as _, Result};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use raddle_core::agent::{Answer, Asker, Cancel, Question};
use rustyline::error::ReadlineError;
use rustyline::{DefaultEditor, ExternalPrinter};
use serde_json::Value;
use tokio::sync::oneshot;

use super::style::{Style, harmless};

/// The keyboard. Reading a line blocks, so it has a thread of its own.
#[derive(Clone)]
pub(crate) struct Input {
    wanted: mpsc::Sender<Wanted>,
    /// Prints above the line that is being typed.
    printer: Option<Arc<Mutex<Printer>>>,
}

type Printer = Box<dyn ExternalPrinter + Send>;

/// What came from the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line.
    Text(String),
    /// Ctrl-C; whether something had been typed is not told, the line is gone.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// Asks in the terminal whether a call may run.
pub(crate) struct TerminalAsker {
    input: Input,
    style: Style,
    cancel: Mutex<Cancel>,
}

struct Wanted {
    prompt: String,
    initial: String,
    remember: bool,
    answer: oneshot::Sender<Result<Line>>,
}

impl Input {
    /// Starts reading; lines are remembered in the file `history`.
    pub(crate) fn open(history: Option<PathBuf>) -> Result<Self> {
        let mut editor = DefaultEditor::new().context("the terminal cannot be read")?;
        if let Some(history) = &history {
            if let Some(folder) = history.parent() {
                std::fs::create_dir_all(folder)
                    .with_context(|| format!("{}: cannot be created", folder.display()))?;
            }
            // A first start has no history, and a damaged one is not worth failing for.
            let _ = editor.load_history(history);
        }
        let printer = editor.create_external_printer().ok().map(|printer| {
            let printer: Printer = Box::new(printer);
            Arc::new(Mutex::new(printer))
        });
        let (sender, wanted) = mpsc::channel::<Wanted>();
        std::thread::spawn(move || {
            while let Ok(wanted) = wanted.recv() {
                let line = read(&mut editor, &wanted, history.as_deref());
                // Who asked may have been cancelled meanwhile.
                let _ = wanted.answer.send(line);
            }
        });
        let wanted = sender;
        Ok(Self { wanted, printer })
    }

    /// Shows a remark: above the line that is being typed, if one is.
    pub(crate) fn remark(&self, line: &str) {
        let printed = self.printer.as_ref().is_some_and(|printer| {
            let mut printer = printer.lock().unwrap_or_else(PoisonError::into_inner);
            printer.print(format!("{line}\n")).is_ok()
        });
        if !printed {
            super::notice(line);
        }
    }

    /// Reads a message. `initial` stands ready in the line.
    pub(crate) async fn message(&self, prompt: &str, initial: &str) -> Result<Line> {
        self.line(prompt, initial, true).await
    }

    async fn line(&self, prompt: &str, initial: &str, remember: bool) -> Result<Line> {
        let (answer, line) = oneshot::channel();
        let wanted = Wanted {
            prompt: prompt.to_owned(),
            initial: initial.to_owned(),
            remember,
            answer,
        };
        // The thread ends only with the process.
        if self.wanted.send(wanted).is_err() {
            return Ok(Line::End);
        }
        line.await.unwrap_or(Ok(Line::End))
    }
}

impl TerminalAsker {
    /// Asks through `input`.
    pub(crate) fn new(input: Input) -> Self {
        Self {
            input,
            style: Style::of(&std::io::stdout()),
            cancel: Mutex::default(),
        }
    }

    /// The switch of the run that now begins: Ctrl-C at a question throws it.
    pub(crate) fn begin(&self, cancel: &Cancel) {
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
    }

    async fn answer(&self, question: &Question) -> Answer {
        let Question {
            tool,
            plugin,
            arguments,
        } = question;
        let mut prompt = format!(
            "{} of plugin {plugin} wants to run\n",
            self.style.strong(tool)
        );
        for (name, value) in arguments.as_object().into_iter().flatten() {
            let value = match value {
                Value::String(text) => harmless(text).replace('\n', "\n    "),
                other => other.to_string(),
            };
            prompt.push_str(&format!("  {name}: {value}\n"));
        }
        // Without a terminal there is no answer either.
        if super::print(&prompt).is_err() {
            return Answer::Deny;
        }
        loop {
            let choice = "[y]es, [a]lways when it is exactly this, [n]o? ";
            let line = self.input.line(choice, "", false).await;
            match line {
                Ok(Line::Text(text)) => match text.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Answer::Allow,
                    "a" | "always" => return Answer::AllowAlways,
                    "n" | "no" => return Answer::Deny,
                    _ => {}
                },
                Ok(Line::Interrupted) => {
                    self.cancel
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .cancel();
                    return Answer::Deny;
                }
                Ok(Line::End) | Err(_) => return Answer::Deny,
            }
        }
    }
}

impl Asker for TerminalAsker {
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer> {
        self.answer(question).boxed()
    }
}

fn read(
    editor: &mut DefaultEditor,
    wanted: &Wanted,
    history: Option<&std::path::Path>,
) -> Result<Line> {
    match editor.readline_with_initial(wanted.prompt.as_str(), (&wanted.initial, "")) {
        Ok(text) => {
            if wanted.remember && !text.trim().is_empty() {
                let _ = editor.add_history_entry(text.as_str());
                if let Some(history) = history {
                    // Losing a line of the history must not stop the conversation.
                    let _ = editor.append_history(history);
                }
            }
            Ok(Line::Text(text))
        }
        Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
        Err(ReadlineError::Eof) => Ok(Line::End),
        Err(error) => Err(error).context("the terminal cannot be read"),
    }
}
