//! The skills of a set of folders.

use std::collections::BTreeMap;

use crate::finding::{Finding, Severity};
use crate::manifest::{Manifest, parse};

/// A file that may be a skill.
#[derive(Debug, Clone, Copy)]
pub struct SkillFile<'a> {
    /// The folder of skills it was found in, by its place among them: the first wins a name.
    pub root: usize,
    /// As the deployment would name it, with `/`.
    pub path: &'a str,
    /// The whole file.
    pub text: &'a str,
}

/// A skill that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What its file says.
    pub manifest: Manifest,
    /// The file.
    pub path: String,
    /// The body, whole.
    pub body: String,
}

/// A file that is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The name it would have, if that could be read.
    pub name: Option<String>,
    /// The file.
    pub path: String,
    /// Why.
    pub reason: Finding,
}

/// Skills by name, what was refused, and everything that is wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Library {
    /// By name.
    skills: BTreeMap<String, Skill>,
    /// By path.
    refused: Vec<Refused>,
    /// With the file it is about.
    findings: Vec<(String, Finding)>,
}

/// Whether a file with this path is a skill's.
pub fn is_skill_file(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("SKILL.md" | "skill.md"))
}

impl Library {
    /// Reads `files`. A name belongs to the first file that has it, in the order of the roots and
    /// then of the paths; a later one with other words is told of. What requires a skill that is
    /// not there is not there either.
    pub fn read<'a>(files: impl IntoIterator<Item = SkillFile<'a>>) -> Self {
        let mut files: Vec<SkillFile<'_>> = files.into_iter().collect();
        files.retain(|file| is_skill_file(file.path));
        files.sort_by_key(|file| (file.root, file.path));
        let mut library = Self::default();
        let mut texts = BTreeMap::new();
        let mut folders: Vec<(usize, &str)> = Vec::new();
        for file in files {
            let folder = parent(file.path);
            // What lies in a skill's own folder belongs to that skill.
            let inside = |(root, skill): &(usize, &str)| {
                *root == file.root && (*skill == folder || is_below(folder, skill))
            };
            if folders.iter().any(inside) {
                continue;
            }
            folders.push((file.root, folder));
            let name = library.add(file, folder.rsplit('/').next().unwrap_or(folder), &texts);
            if let Some(name) = name {
                texts.insert(name, file.text);
            }
        }
        library.report_twins();
        library.drop_incomplete();
        library
    }

    /// The skills, by name.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.skills.values()
    }

    /// The skill with exactly this name.
    pub fn skill(&self, name: &str) -> Option<&Skill> {
        self.skills.get(name)
    }

    /// The files that are not loaded.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// Everything that is wrong, with the file it is about.
    pub fn findings(&self) -> &[(String, Finding)] {
        &self.findings
    }

    /// Whether there is no skill.
    pub fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    /// Takes in a file; gives the name that is its own from here on.
    fn add(
        &mut self,
        file: SkillFile<'_>,
        folder: &str,
        texts: &BTreeMap<String, &str>,
    ) -> Option<String> {
        let path = file.path.to_owned();
        let document = match parse(file.text, folder) {
            Ok(document) => document,
            Err(findings) => {
                self.refuse(path, None, findings);
                return None;
            }
        };
        let name = document.manifest.name.clone();
        if let Some(winner) = self.skills.get(&name) {
            if texts.get(&name).is_none_or(|text| *text != file.text) {
                let message = format!(
                    "the name `{name}` is that of {} already: this one is left out",
                    winner.path
                );
                self.findings.push((path, Finding::advice(None, message)));
            }
            return None;
        }
        let findings = document.findings.into_iter();
        self.findings
            .extend(findings.map(|finding| (path.clone(), finding)));
        let skill = Skill {
            manifest: document.manifest,
            path,
            body: document.body,
        };
        self.skills.insert(name.clone(), skill);
        Some(name)
    }

    fn refuse(&mut self, path: String, name: Option<String>, findings: Vec<Finding>) {
        let reason = findings.iter().find(|f| f.severity == Severity::Refused);
        if let Some(reason) = reason {
            self.refused.push(Refused {
                name,
                path: path.clone(),
                reason: reason.clone(),
            });
        }
        self.findings
            .extend(findings.into_iter().map(|finding| (path.clone(), finding)));
    }

    /// Names that only capitals tell apart.
    fn report_twins(&mut self) {
        let mut seen: BTreeMap<String, &Skill> = BTreeMap::new();
        for skill in self.skills.values() {
            let name = &skill.manifest.name;
            if let Some(twin) = seen.insert(name.to_lowercase(), skill) {
                let message = format!(
                    "only capitals tell `{name}` from `{}` ({})",
                    twin.manifest.name, twin.path
                );
                self.findings
                    .push((skill.path.clone(), Finding::advice(None, message)));
            }
        }
    }

    fn drop_incomplete(&mut self) {
        loop {
            let incomplete = self.skills.values().find_map(|skill| {
                let mut requires = skill.manifest.requires.iter();
                let missing = requires.find(|name| !self.skills.contains_key(*name))?;
                Some((skill.manifest.name.clone(), missing.clone()))
            });
            let Some((name, missing)) = incomplete else {
                return;
            };
            let Some(skill) = self.skills.remove(&name) else {
                return;
            };
            let message = format!("`{name}` requires `{missing}`, which is not there");
            self.refuse(
                skill.path,
                Some(name),
                vec![Finding::refused(None, message)],
            );
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}
