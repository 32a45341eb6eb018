//! `raddle prompt`: exactly what the model sees, and why.

mod difference;
mod explain;
mod line_diff;

use std::path::{Path, PathBuf};

use raddle_core::prompt::{Assembly, Prefix, TailEntry};
use raddle_core::provider::ToolSchema;
use raddle_core::session::EventData;

use super::Place;
use crate::arguments::PromptArguments;
use crate::config::{BASE, Config};
use crate::deployment::{self, Deployment};
use crate::failure::Failure;
use crate::preview;
use crate::sessions::find;
use crate::terminal::{notice, print, print_json};
use difference::Side;

/// Shows the prompt in the form that is asked for.
pub(super) async fn run(arguments: &PromptArguments, place: &Place) -> Result<(), Failure> {
    if let Some(other) = &arguments.diff {
        return differ(other.as_ref(), arguments, place).await;
    }
    if let Some(id) = &arguments.session {
        let assembly = of_session(id, place).await?;
        return show(&assembly, None, None, arguments);
    }
    let deployment = Deployment::load(place.deployment()?, &arguments.without).await?;
    let variant = deployment.variant(arguments.variant.as_deref().unwrap_or(BASE))?;
    let assembly = preview::assemble(&deployment, &place.directory, &variant).await?;
    let answering = preview::answering(&deployment, &place.directory, &variant).await?;
    show(&assembly, Some(&deployment), Some(&answering), arguments)
}

fn show(
    assembly: &Assembly,
    deployment: Option<&Deployment>,
    answering: Option<&str>,
    arguments: &PromptArguments,
) -> Result<(), Failure> {
    if arguments.json {
        return print_json(&assembly.explain(None));
    }
    if arguments.explain {
        let count = explain::counter();
        let explanation = assembly.explain(Some(&count));
        let registry = deployment.map(|deployment| &*deployment.registry);
        let stale = answering.map(|model| explain::stale(&explanation, model));
        let table = explain::table(&explanation, registry);
        return print(&format!("{}{table}", stale.unwrap_or_default()));
    }
    let mut text = assembly.system().to_owned();
    for entry in &assembly.tail {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&entry.text);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    print(&text)?;
    let names: Vec<&str> = assembly
        .tools()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    match names.as_slice() {
        [] => notice("no tools"),
        names => notice(format!("{} tools: {}", names.len(), names.join(", "))),
    }
    Ok(())
}

/// What changes from this deployment to another, or to itself without some plugins.
async fn differ(
    other: Option<&PathBuf>,
    arguments: &PromptArguments,
    place: &Place,
) -> Result<(), Failure> {
    let without = &arguments.without;
    if other.is_none() && without.is_empty() {
        return Err(Failure::Misuse(
            "--diff compares with another deployment (`--diff OTHER`), or with the deployment \
             without some plugins (`--diff --without PLUGIN`)"
                .to_owned(),
        ));
    }
    let config = place.deployment()?;
    let changed = match other {
        Some(file) => Config::load(file)?,
        None => Config::load(&config.file)?,
    };
    let variant = arguments.variant.as_deref().unwrap_or(BASE);
    let before = side(config, &[], &place.directory, variant).await?;
    let after = side(changed, without, &place.directory, variant).await?;
    print(&difference::difference(&before, &after))
}

async fn side(
    config: Config,
    without: &[String],
    directory: &Path,
    variant: &str,
) -> Result<Side, Failure> {
    let deployment = Deployment::load(config, without).await?;
    let variant = deployment.variant(variant)?;
    let assembly = preview::assemble(&deployment, directory, &variant).await?;
    Ok(Side::of(&assembly.explain(None), &deployment.registry))
}

/// The prompt of the session's last request, as its log has it.
async fn of_session(id: &str, place: &Place) -> Result<Assembly, Failure> {
    let config = place.deployment_if_any()?;
    let store = deployment::store(config.as_ref())?;
    let session = find(&*store, id).await?.header.id;
    let events = store.events(&session, 0).await?;
    let mut generation = None;
    let mut tail = Vec::new();
    for event in events {
        match event.data {
            EventData::Generation(found) => generation = Some(found),
            EventData::Context {
                section,
                plugin,
                text,
            } => tail.push(TailEntry::new(section, plugin, text)),
            _ => {}
        }
    }
    let generation = generation.ok_or_else(|| {
        Failure::Misuse(format!(
            "session `{session}` has sent no request, so it has no prompt"
        ))
    })?;
    let text = async |digest| {
        let text = store.text(digest).await?;
        text.ok_or_else(|| Failure::bad(format!("session `{session}` has lost the text {digest}")))
    };
    let system = text(generation.system).await?;
    let tools = text(generation.tools).await?;
    let tools: Vec<ToolSchema> = serde_json::from_str(&tools)
        .map_err(|error| Failure::bad(format!("session `{session}`, tools: {error}")))?;
    Ok(Assembly {
        prefix: std::sync::Arc::new(Prefix::logged(system, tools)),
        tail,
    })
}
