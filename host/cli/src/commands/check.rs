//! `raddle check`: everything that can be known of a deployment without running it.

use raddle_core::agent::Rule;
use raddle_core::prompt::{Problem, restated};
use serde::Serialize;

use super::Place;
use crate::config::{self, Config};
use crate::deployment::{Examined, LeftOut, Unsandboxed, examine, runtime, unsandboxed};
use crate::failure::Failure;
use crate::model;
use crate::report::{Finding, counted, did_you_mean, in_order};
use crate::terminal::{print, print_json};

/// The JSON of `raddle check`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Whether there is nothing to mend.
    good: bool,
    /// What is wrong, in the order of the file.
    findings: Vec<Finding>,
    /// `optional` plugins that did not load.
    left_out: Vec<LeftOut>,
    /// Plugins whose programs this machine does not hold to their grant.
    unsandboxed: Vec<Unsandboxed>,
    /// Ids of the loaded plugins.
    plugins: Vec<String>,
    /// Names of the tools, in the order they are sent.
    tools: Vec<String>,
}

/// Looks at the deployment. It never looks at the current directory, the branch or the date, so
/// that it says the same everywhere.
pub(super) async fn run(json: bool, place: &Place) -> Result<(), Failure> {
    let file = config::find(place.config.as_deref(), &place.directory)?;
    let (config, faults) = Config::read(&file)?;
    let runtime = runtime(Some(&config))?;
    let mut examined = examine(&config, &runtime, &[], &[], faults).await?;
    examined.faults.extend(model::faults(&config));
    examined
        .faults
        .extend(restated_facts(&config, &examined).await);
    examined.faults.extend(idle_rules(&config, &examined));
    let report = Report::of(examined, unsandboxed(&config));
    if json {
        print_json(&report)?;
    } else if report.good {
        print(&report.summary(&config))?;
    }
    match (report.good, json) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::Bad(Vec::new())),
        (false, false) => Err(Failure::Bad(report.findings)),
    }
}

/// Permission rules that can match no call: a slip in one that denies would protect nothing.
fn idle_rules(config: &Config, examined: &Examined) -> Vec<Finding> {
    let complete = !examined.partial && examined.left_out.is_empty();
    let Some(registry) = examined.registry.as_ref().filter(|_| complete) else {
        return Vec::new();
    };
    let names = || {
        registry
            .tools()
            .iter()
            .map(|entry| entry.tool.name.as_str())
    };
    let mut findings = Vec::new();
    for (index, rule) in config.permissions.iter().enumerate() {
        let Ok(pattern) = Rule::new(&rule.tool, None, rule.action) else {
            continue;
        };
        let index = index.to_string();
        let place = |key| ["permission", "rule", &index, key];
        let about = || {
            let tools = registry.tools().iter();
            tools.filter(|entry| pattern.is_about(&entry.tool.name))
        };
        if about().next().is_none() {
            let hint = did_you_mean(&rule.tool, names());
            let message = format!("no plugin offers a tool that `{}` matches{hint}", rule.tool);
            findings.push(config.finding(&place("tool"), message));
        } else if let Some(argument) = &rule.argument
            && !about().any(|entry| !entry.tool.parameters["properties"][argument].is_null())
        {
            let message = format!("no tool this rule is about has an argument `{argument}`");
            findings.push(config.finding(&place("argument"), message));
        }
    }
    findings
}

async fn restated_facts(config: &Config, examined: &Examined) -> Vec<Finding> {
    let Some(registry) = &examined.registry else {
        return Vec::new();
    };
    let model = config.model.as_ref().map_or("", |model| &model.name);
    let findings = restated(registry, model, &config.allow).await;
    findings
        .iter()
        .filter(|finding| !(examined.partial && is_about_absence(&finding.problem)))
        .map(|finding| config.finding(&["plugins", &finding.plugin], finding.to_string()))
        .collect()
}

/// Whether it may be only that a plugin is missing, which another finding already names.
fn is_about_absence(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::MissingTool { .. }
            | Problem::Template {
                unknown: Some(_),
                ..
            }
    )
}

impl Report {
    fn of(examined: Examined, unsandboxed: Vec<Unsandboxed>) -> Self {
        let registry = examined.registry.as_ref();
        Self {
            good: examined.faults.is_empty(),
            findings: in_order(examined.faults),
            left_out: examined.left_out,
            unsandboxed,
            plugins: registry.map_or_else(Vec::new, |registry| {
                let plugins = registry.plugins().iter();
                plugins.map(|plugin| plugin.info().id.clone()).collect()
            }),
            tools: registry.map_or_else(Vec::new, |registry| {
                let tools = registry.tools().iter();
                tools.map(|entry| entry.tool.name.clone()).collect()
            }),
        }
    }

    fn summary(&self, config: &Config) -> String {
        let mut text = String::new();
        for unsandboxed in &self.unsandboxed {
            text.push_str(&format!("{unsandboxed}\n"));
        }
        for left_out in &self.left_out {
            for fault in &left_out.faults {
                text.push_str(&format!("left out: {fault}\n"));
            }
        }
        text.push_str(&format!(
            "{} is good: {}, {}\n",
            config.shown,
            counted(self.plugins.len(), "plugin"),
            counted(self.tools.len(), "tool")
        ));
        text
    }
}
