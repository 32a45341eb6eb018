//! `raddle skill`: the skills as the deployment sees them.

use std::path::{Path, PathBuf};

use raddle_skill_format::{
    Finding as SkillFinding, Library, Severity, Skill, SkillFile, cycles, is_skill_file,
};
use raddle_wasm::folder::{Folder, MAX_FILES, Reason};
use serde::Serialize;

use super::Place;
use crate::arguments::SkillCommand;
use crate::config::Source;
use crate::failure::Failure;
use crate::report::{self, Finding, counted, one_line};
use crate::terminal::{print, print_json, shortened};

/// The standard plugin that offers skills, and the setting that names their folders.
const PLUGIN: (&str, &str) = ("skills", "roots");

/// A skill, for machines.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    /// Id of the plugin that offers it; absent where folders were named.
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<String>,
    path: String,
    description: String,
    /// Which fields under `metadata` are ours.
    our_fields: Vec<&'static str>,
}

/// The JSON of `raddle skill check`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    /// Whether all skills are loaded, and the public validator accepts them.
    good: bool,
    findings: Vec<Told>,
    skills: Vec<Row>,
}

/// A finding, for machines.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    /// `refused` (not loaded), `invalid` (for the public validator) or `advice`.
    severity: &'static str,
    message: String,
}

/// Folders that hold skills, in order: each as it is written, and where it is.
struct Roots {
    plugin: Option<String>,
    folders: Vec<(String, PathBuf)>,
}

/// What a set of folders holds.
struct Shelf {
    plugin: Option<String>,
    library: Library,
    findings: Vec<(String, SkillFinding)>,
}

/// Does what the command asks for.
pub(super) fn run(command: &SkillCommand, place: &Place) -> Result<(), Failure> {
    match command {
        SkillCommand::List { json } => list(&shelves(&[], place)?, *json),
        SkillCommand::Check { folders, json } => check(&shelves(folders, place)?, *json),
    }
}

fn list(shelves: &[Shelf], json: bool) -> Result<(), Failure> {
    let rows = rows(shelves);
    if json {
        return print_json(&rows);
    }
    let width = |text: fn(&Row) -> &str| {
        let widths = rows.iter().map(|row| text(row).chars().count());
        widths.max().unwrap_or(0)
    };
    let plugin = |row: &Row| row.plugin.clone().unwrap_or_default();
    let plugins = rows.iter().map(|row| plugin(row).chars().count());
    let plugins = plugins.max().unwrap_or(0);
    let (names, paths) = (width(|row| &row.name), width(|row| &row.path));
    let lines = rows.iter().map(|row| {
        format!(
            "{:names$}  {:9}  {:plugins$}  {:paths$}  {}\n",
            one_line(&row.name),
            row.kind,
            plugin(row),
            one_line(&row.path),
            shortened(&one_line(&row.description), 80)
        )
    });
    print(&lines.collect::<String>())
}

fn check(shelves: &[Shelf], json: bool) -> Result<(), Failure> {
    let findings = || shelves.iter().flat_map(|shelf| &shelf.findings);
    let is_bad = |(_, finding): &&(String, SkillFinding)| finding.severity > Severity::Advice;
    if json {
        let told = findings().map(|(path, finding)| Told::of(path, finding));
        let report = Report {
            good: findings().find(is_bad).is_none(),
            findings: told.collect(),
            skills: rows(shelves),
        };
        print_json(&report)?;
        return match report.good {
            true => Ok(()),
            false => Err(Failure::Bad(Vec::new())),
        };
    }
    let mut text = String::new();
    for row in rows(shelves) {
        if !row.our_fields.is_empty() {
            let (name, fields) = (one_line(&row.name), row.our_fields.join(", "));
            text.push_str(&format!(
                "{name}: {fields} of its metadata are Raddle's own\n"
            ));
        }
    }
    for (path, finding) in findings().filter(|finding| !is_bad(finding)) {
        text.push_str(&format!("warning: {}\n", shown(path, finding)));
    }
    let bad: Vec<Finding> = findings()
        .filter(is_bad)
        .map(|(path, finding)| shown(path, finding))
        .collect();
    if bad.is_empty() {
        text.push_str(&format!("{} good\n", counted(rows(shelves).len(), "skill")));
        return print(&text);
    }
    print(&text)?;
    Err(Failure::Bad(bad))
}

/// What is in the folders that are named, else in those of the deployment.
fn shelves(folders: &[PathBuf], place: &Place) -> Result<Vec<Shelf>, Failure> {
    let roots = match folders {
        [] => of_deployment(place)?,
        folders => {
            let named = |folder: &PathBuf| (folder.display().to_string(), folder.clone());
            vec![Roots {
                plugin: None,
                folders: folders.iter().map(named).collect(),
            }]
        }
    };
    roots.into_iter().map(Shelf::read).collect()
}

fn of_deployment(place: &Place) -> Result<Vec<Roots>, Failure> {
    let config = place.deployment()?;
    let (name, setting) = PLUGIN;
    let is_ours = |source: &Source| matches!(source, Source::Standard(found) if found == name);
    let mut roots = Vec::new();
    for plugin in config
        .plugins
        .iter()
        .filter(|plugin| is_ours(&plugin.source))
    {
        let written = plugin
            .settings
            .get(setting)
            .and_then(|roots| roots.as_array());
        let written = written
            .into_iter()
            .flatten()
            .filter_map(|root| root.as_str());
        let folder = |root: &str| (root.to_owned(), config.directory().join(root));
        roots.push(Roots {
            plugin: Some(plugin.id.clone()),
            folders: written.map(folder).collect(),
        });
    }
    if roots.is_empty() {
        let shown = &config.shown;
        return Err(Failure::Misuse(format!(
            "no plugin of {shown} offers skills: add one with `source = \"std:{name}\"`"
        )));
    }
    Ok(roots)
}

impl Shelf {
    /// Reads folders as the plugin runtime reads them for the plugin.
    fn read(roots: Roots) -> Result<Self, Failure> {
        let mut files = Vec::new();
        let mut findings = Vec::new();
        let mut left = MAX_FILES;
        for (root, (written, folder)) in roots.folders.iter().enumerate() {
            let read = Folder::read(folder, &mut left)
                .map_err(|error| Failure::Misuse(format!("{written}: {error}")))?;
            let name = |path: &Path| Path::new(written).join(path).to_string_lossy().into_owned();
            for (path, text) in read.files {
                files.push((root, name(&path), text));
            }
            for (path, reason) in read.left_out {
                findings.extend(left_out(name(&path), reason));
            }
        }
        let library = Library::read(files.iter().map(|(root, path, text)| SkillFile {
            root: *root,
            path,
            text,
        }));
        findings.extend(library.findings().iter().cloned());
        for group in cycles(&library) {
            let first = group.first().and_then(|name| library.skill(name));
            let message = format!("these require each other: {}", group.join(", "));
            findings.extend(first.map(|skill| {
                (
                    skill.path.clone(),
                    SkillFinding::new(Severity::Advice, None, message.clone()),
                )
            }));
        }
        Ok(Self {
            plugin: roots.plugin,
            library,
            findings,
        })
    }
}

/// What it means that something was not read: of other files than a skill's own, nothing.
fn left_out(path: String, reason: Reason) -> Option<(String, SkillFinding)> {
    let severity = match is_skill_file(&path) {
        true => Severity::Refused,
        false if reason.is_about_links() => Severity::Advice,
        false => return None,
    };
    let finding = SkillFinding::new(severity, None, reason.to_string());
    Some((path, finding))
}

fn rows(shelves: &[Shelf]) -> Vec<Row> {
    let row = |plugin: &Option<String>, skill: &Skill| Row {
        name: skill.manifest.name.clone(),
        kind: skill.manifest.kind.to_string(),
        plugin: plugin.clone(),
        path: skill.path.clone(),
        description: skill.manifest.description.clone(),
        our_fields: skill.manifest.ours.clone(),
    };
    shelves
        .iter()
        .flat_map(|shelf| {
            shelf
                .library
                .skills()
                .map(|skill| row(&shelf.plugin, skill))
        })
        .collect()
}

fn shown(path: &str, finding: &SkillFinding) -> Finding {
    let place = finding.line.map(|line| report::Place {
        line,
        column: finding.column.unwrap_or(1),
    });
    Finding::at(path, place, &finding.message)
}

impl Told {
    fn of(path: &str, finding: &SkillFinding) -> Self {
        Self {
            path: path.to_owned(),
            line: finding.line,
            column: finding.column,
            severity: match finding.severity {
                Severity::Advice => "advice",
                Severity::Invalid => "invalid",
                Severity::Refused => "refused",
            },
            message: finding.message.clone(),
        }
    }
}
