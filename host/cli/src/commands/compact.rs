//! `raddle session compact`: cuts the conversation of an idle session short.

use std::sync::Arc;

use super::Place;
use crate::conversation::Conversation;
use crate::deployment::Deployment;
use crate::failure::Failure;
use crate::model::Link;
use crate::sessions::Sessions;
use crate::terminal::{FrontEnd as _, Screen, print};

/// Compacts the session `id` with the deployment's own plugin and model.
pub(super) async fn run(id: &str, place: &Place) -> Result<(), Failure> {
    let config = place.deployment()?;
    let link = Link::open_or_recorded(&config, None)?;
    let sessions = Sessions::open(&config);
    let deployment = Arc::new(Deployment::load(config, &[]).await?);
    let sessions = sessions.opened().await?;
    if deployment.registry.compaction().is_none() {
        return Err(Failure::Misuse(
            "no plugin of this deployment compacts: `std:compaction` does".to_owned(),
        ));
    }
    let screen = Arc::new(Screen::script());
    let opened = sessions.resume(Some(id), &deployment, screen.clone());
    let mut conversation = Conversation::new(&deployment, &link, opened.await?, None)?;
    if !conversation.compact().await? {
        return Err(Failure::Stopped("nothing was cut".to_owned()));
    }
    let messages = conversation.controller().transcript().messages().len();
    print(&format!("compacted: {messages} messages remain\n"))?;
    screen.end()
}
