//! `raddle plugin`: for those who write plugins and those who choose them.

use std::fmt::Write as _;
use std::path::Path;

use raddle_core::registry::Registry;
use raddle_wasm::{ComponentInfo, Interface};
use serde::Serialize;

use super::Place;
use crate::config::Source;
use crate::deployment::{self, Deployment};
use crate::failure::Failure;
use crate::files;
use crate::report::{Finding, did_you_mean};
use crate::terminal::{print, print_json, shortened};

/// The JSON of `raddle plugin inspect`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// What was asked for.
    source: String,
    #[serde(flatten)]
    component: ComponentInfo,
    /// What it contributes to the deployment, for a plugin of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    offers: Option<Offers>,
}

/// Names of what a plugin contributes.
#[derive(Debug, Default, Serialize)]
struct Offers {
    sections: Vec<String>,
    variables: Vec<String>,
    tools: Vec<String>,
    agents: Vec<String>,
}

/// Shows what `plugin` exports and imports, and for a plugin of the deployment what it
/// contributes.
pub(super) async fn inspect(plugin: &str, json: bool, place: &Place) -> Result<(), Failure> {
    let report = match source(plugin) {
        Some(source) => {
            if let Source::File(file) = &source {
                files::check(file).map_err(|error| files::failure(plugin, &error))?;
            }
            Report {
                source: plugin.to_owned(),
                component: component(&source, plugin)?,
                offers: None,
            }
        }
        None => of_deployment(plugin, place).await?,
    };
    if json {
        print_json(&report)
    } else {
        print(&report.text())
    }
}

/// A name that can only be a component: the id of a plugin has neither colon, slash nor dot.
fn source(plugin: &str) -> Option<Source> {
    if let Some(name) = plugin.strip_prefix("std:") {
        return Some(Source::Standard(name.to_owned()));
    }
    plugin
        .contains(['/', '.'])
        .then(|| Source::File(Path::new(plugin).to_path_buf()))
}

async fn of_deployment(id: &str, place: &Place) -> Result<Report, Failure> {
    let config = place.deployment()?;
    let Some(plugin) = config.plugins.iter().find(|plugin| plugin.id == id) else {
        let hint = did_you_mean(id, config.plugins.iter().map(|plugin| plugin.id.as_str()));
        return Err(Failure::Misuse(format!(
            "{} has no plugin `{id}`{hint}; a file is written with its extension",
            config.shown
        )));
    };
    let source = plugin.written.clone();
    let component = component(&plugin.source, id)?;
    let deployment = Deployment::load(config, &[]).await?;
    Ok(Report {
        source,
        component,
        offers: Some(Offers::of(&deployment.registry, id)),
    })
}

fn component(source: &Source, name: &str) -> Result<ComponentInfo, Failure> {
    let (component, _) = deployment::component(source)?;
    deployment::runtime(None)?
        .inspect(&component)
        .map_err(|reason| Failure::Bad(vec![Finding::new(format!("{name} {reason}"))]))
}

impl Offers {
    fn of(registry: &Registry, plugin: &str) -> Self {
        let mut offers = Self::default();
        for section in registry.sections() {
            if &*section.plugin == plugin {
                offers.sections.push(section.name.to_string());
            }
        }
        for variable in registry.variables() {
            if &*variable.plugin == plugin {
                offers.variables.push(variable.name.to_string());
            }
        }
        for entry in registry.tools() {
            if &*entry.plugin == plugin {
                offers.tools.push(entry.tool.name.clone());
            }
        }
        for entry in registry.agents() {
            if &*entry.plugin == plugin {
                offers.agents.push(entry.agent.name.clone());
            }
        }
        offers
    }
}

impl Report {
    fn text(&self) -> String {
        let mut text = format!("{}\n{}\n", self.source, self.component.digest);
        text.push_str("\nexports\n");
        for export in &self.component.exports {
            text.push_str(&line(export));
        }
        text.push_str("\nimports\n");
        for import in &self.component.imports {
            text.push_str(&line(import));
            if let Some(grant) = import.grant {
                let _ = writeln!(text, "    needs {grant}");
            }
        }
        if let Some(offers) = &self.offers {
            text.push_str("\ncontributes\n");
            for (kind, names) in [
                ("sections", &offers.sections),
                ("variables", &offers.variables),
                ("tools", &offers.tools),
                ("agents", &offers.agents),
            ] {
                if !names.is_empty() {
                    let _ = writeln!(text, "  {kind}: {}", names.join(", "));
                }
            }
        }
        text
    }
}

fn line(interface: &Interface) -> String {
    let version = interface
        .version
        .as_deref()
        .map(|version| format!("@{version}"));
    let functions = interface.functions.join(", ");
    format!(
        "  {}{}  {}\n",
        interface.name,
        version.unwrap_or_default(),
        shortened(&functions, 80)
    )
    .replace("  \n", "\n")
}
