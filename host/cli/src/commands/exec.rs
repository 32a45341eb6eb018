//! `raddle exec`: one run, for scripts.

use std::io::Read as _;
use std::sync::Arc;

use anyhow::Context as _;

use super::Place;
use crate::arguments::ExecArguments;
use crate::conversation::{Conversation, finish};
use crate::deployment::Deployment;
use crate::failure::Failure;
use crate::model::Link;
use crate::sessions::Sessions;
use crate::terminal::{FrontEnd, JsonLines, Screen};

/// Runs once. Nobody is asked: what a rule does not allow is denied.
pub(super) async fn run(arguments: &ExecArguments, place: &Place) -> Result<(), Failure> {
    let message = message(&arguments.prompt)?;
    let config = place.deployment()?;
    let link = Link::open(&config, arguments.recording.as_deref())?;
    let sessions = Sessions::open(&config);
    let deployment = Arc::new(Deployment::load(config, &[]).await?);
    let sessions = sessions.opened().await?;
    let screen: Arc<dyn FrontEnd> = match arguments.json {
        true => Arc::new(JsonLines::default()),
        false => Arc::new(Screen::script()),
    };
    let (directory, front_end) = (&place.directory, screen.clone());
    let opened = match &arguments.resume {
        Some(id) => sessions.resume(Some(id), &deployment, front_end).await?,
        None => {
            let variant = arguments.variant.as_deref();
            let started = sessions.start(directory, &deployment, variant, front_end);
            started.await?
        }
    };
    let mut conversation = Conversation::new(&deployment, &link, opened, None)?;
    let outcome = conversation.run(&message).await?;
    finish(&outcome)?;
    conversation.settle().await?;
    screen.end()
}

fn message(argument: &str) -> Result<String, Failure> {
    let message = match argument {
        "-" => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            read.context("the message cannot be read from stdin")?;
            text
        }
        text => text.to_owned(),
    };
    if message.trim().is_empty() {
        return Err(Failure::Misuse("the message is empty".to_owned()));
    }
    Ok(message)
}
