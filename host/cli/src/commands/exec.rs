//! `raddle exec`: one run, for scripts.

use std::io::Read as _;
use std::sync::Arc;

use anyhow::Context as _;
use raddle_core::agent::Observer;

use super::Place;
use crate::arguments::ExecArguments;
use crate::conversation::{Conversation, Sessions, finish};
use crate::deployment::Deployment;
use crate::failure::Failure;
use crate::model::Link;
use crate::terminal::{JsonLines, Screen};

/// Runs once. Nobody is asked: what a rule does not allow is denied.
pub(super) async fn run(arguments: &ExecArguments, place: &Place) -> Result<(), Failure> {
    let message = message(&arguments.prompt)?;
    let config = place.deployment()?;
    let link = Link::open(&config, arguments.recording.as_deref())?;
    let sessions = Sessions::open(&config);
    let deployment = Deployment::load(config, &[]).await?;
    let sessions = sessions.opened().await?;
    let observer: Arc<dyn Observer> = match arguments.json {
        true => Arc::new(JsonLines),
        false => Arc::new(Screen::script()),
    };
    let controller = sessions
        .start(&place.directory, &deployment, observer)
        .await?;
    let mut conversation = Conversation::new(&deployment, &link, controller, None)?;
    let outcome = conversation.run(&message).await?;
    finish(&outcome)
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
