//! What a `SKILL.md` says about its skill.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::finding::{Finding, Severity};
use crate::front_matter::{self, Field, Value};
use crate::public;

/// What a skill is for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An ordered procedure, followed strictly.
    Workflow,
    /// Material to look things up in.
    Reference,
}

/// The front matter of a `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// What it is called: by this and nothing else it is found.
    pub name: String,
    /// The trigger condition, on one line.
    pub description: String,
    /// A missing or foreign type is a reference.
    pub kind: Kind,
    /// Under which terms it may be used.
    pub license: Option<String>,
    /// What it needs around it.
    pub compatibility: Option<String>,
    /// The tools it is limited to; empty is no limit.
    pub allowed_tools: Vec<String>,
    /// Skills that come with it.
    pub requires: Vec<String>,
    /// Skills that cannot be active beside it.
    pub conflicts: Vec<String>,
    /// Globs on the agent's name; empty fits all.
    pub applies_to: Vec<String>,
    /// Words that speak for it.
    pub keywords: Vec<String>,
    /// The higher one wins a conflict.
    pub priority: i32,
    /// Whether its numbered steps are a checklist: those of a workflow are, those of a reference
    /// only when it says so.
    pub checklist: bool,
    /// Which of our own fields it has, as they are written under `metadata`.
    pub ours: Vec<&'static str>,
    /// What else stands under `metadata`.
    pub metadata: BTreeMap<String, String>,
}

/// A `SKILL.md` that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its front matter.
    pub manifest: Manifest,
    /// The rest, with plain line ends, whole: nothing before the first line with text, nothing
    /// after the last.
    pub body: String,
    /// What is wrong with it, none of it so that it could not be loaded.
    pub findings: Vec<Finding>,
}

/// Our own fields, as they are written under `metadata`.
pub const OUR_FIELDS: [&str; 7] = [
    "applies-to",
    "checklist",
    "conflicts-with",
    "keywords",
    "priority",
    "requires-skills",
    "type",
];

/// Reads a file. `folder` is the name of the folder it lies in.
///
/// # Errors
///
/// Everything that is wrong with a file that cannot be loaded. A skill is loaded with all that its
/// front matter says, or not at all: one that lost a field could be more than it was meant to be.
pub fn parse(text: &str, folder: &str) -> Result<Document, Vec<Finding>> {
    let is_marked = text.starts_with('\u{feff}');
    let text = plain(text);
    let mut reading = Reading::default();
    let parts = front_matter::split(&text).map_err(|finding| vec![finding])?;
    if is_marked {
        let message = "it begins with a byte order mark: save it without one";
        reading.findings.push(Finding::invalid(1, message));
    }
    if parts.front.iter().any(|line| line.contains("---")) {
        let message = "the public validator takes any `---` for the end of the front matter";
        reading.findings.push(Finding::advice(None, message));
    }
    match front_matter::fields(&parts.front, 2) {
        Ok(fields) => fields.iter().for_each(|field| reading.take(field)),
        Err(finding) => reading.findings.push(finding),
    }
    let body = parts.body.trim_end().trim_start_matches('\n').to_owned();
    reading.finish(folder, body)
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Workflow => "workflow",
            Self::Reference => "reference",
        })
    }
}

/// `text` without a byte order mark, with plain line ends.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

/// The fields read so far.
#[derive(Default)]
struct Reading {
    name: Option<String>,
    description: Option<String>,
    kind: Option<Kind>,
    license: Option<String>,
    compatibility: Option<String>,
    allowed_tools: Vec<String>,
    /// Ours, by the name they have under `metadata`; with the line.
    ours: BTreeMap<&'static str, (Value, usize)>,
    metadata: BTreeMap<String, String>,
    findings: Vec<Finding>,
}

impl Reading {
    fn take(&mut self, field: &Field<'_>) {
        match field.key {
            "name" => self.name = self.text(field),
            "description" => self.description = self.text(field).map(|text| one_line(&text)),
            "license" => self.license = self.text(field),
            "compatibility" => self.compatibility = self.text(field),
            "allowed-tools" => {
                self.allowed_tools = match self.value(field) {
                    Some(Value::Text(text)) => tools(&text),
                    Some(Value::List(tools)) => tools,
                    None => Vec::new(),
                }
            }
            "metadata" if field.is_map() => match field.fields() {
                Ok(fields) => fields.iter().for_each(|field| self.take_metadata(field)),
                Err(finding) => self.findings.push(finding),
            },
            "metadata" => {
                let message = "it has to hold fields, each on a line of its own, indented";
                self.findings.push(field.refused(message));
            }
            key => match our_field(key) {
                Some(ours) => {
                    let message = format!("write `{key}` under `metadata`, as `{ours}`");
                    self.findings.push(Finding::invalid(field.line, message));
                    self.take_ours(ours, field);
                }
                // Whatever it holds is somebody else's, and may be written in any YAML.
                None => {
                    let message = format!("`{key}` is no field of Agent Skills, and is not read");
                    self.findings.push(Finding::invalid(field.line, message));
                }
            },
        }
    }

    fn take_metadata(&mut self, field: &Field<'_>) {
        if let Some(ours) = our_field(field.key) {
            if ours != field.key {
                let message = format!("write `{}` as `{ours}`", field.key);
                self.findings.push(Finding::advice(field.line, message));
            }
            self.take_ours(ours, field);
        } else if !field.is_map() {
            match field.read() {
                Ok(read) => {
                    self.findings.extend(read.oddity);
                    if let Value::Text(text) = read.value {
                        self.metadata.insert(field.key.to_owned(), text);
                    }
                }
                // Somebody else's, in YAML that only they read.
                Err(finding) => {
                    self.findings.push(Finding {
                        severity: Severity::Invalid,
                        ..finding
                    });
                }
            }
        }
    }

    fn take_ours(&mut self, name: &'static str, field: &Field<'_>) {
        let Some(value) = self.value(field) else {
            return;
        };
        if self.ours.insert(name, (value, field.line)).is_some() {
            let message = format!("`{name}` is there twice");
            self.findings.push(Finding::refused(field.line, message));
        }
    }

    fn value(&mut self, field: &Field<'_>) -> Option<Value> {
        match field.read() {
            Ok(read) => {
                self.findings.extend(read.oddity);
                Some(read.value)
            }
            Err(finding) => {
                self.findings.push(finding);
                None
            }
        }
    }

    fn text(&mut self, field: &Field<'_>) -> Option<String> {
        match self.value(field)? {
            Value::Text(text) => Some(text.trim().to_owned()),
            Value::List(_) => {
                self.findings.push(field.refused("it has to be a text"));
                None
            }
        }
    }

    fn finish(mut self, folder: &str, body: String) -> Result<Document, Vec<Finding>> {
        let ours = self.ours.keys().copied().collect();
        let requires = self.list("requires-skills");
        let conflicts = self.list("conflicts-with");
        let (applies_to, keywords) = (self.list("applies-to"), self.list("keywords"));
        self.kind = self.our_kind();
        let kind = self.kind.unwrap_or(Kind::Reference);
        let priority = self.our("priority", |text| text.parse().ok(), "a whole number");
        let truth = |text: &str| match text.to_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        };
        let checklist = self.our("checklist", truth, "`true` or `false`");
        let manifest = Manifest {
            name: self.name.take().unwrap_or_default(),
            description: self.description.take().unwrap_or_default(),
            kind,
            license: self.license.take(),
            compatibility: self.compatibility.take(),
            allowed_tools: std::mem::take(&mut self.allowed_tools),
            requires,
            conflicts,
            applies_to,
            keywords,
            priority: priority.unwrap_or(0),
            checklist: checklist.unwrap_or(kind == Kind::Workflow),
            ours,
            metadata: std::mem::take(&mut self.metadata),
        };
        let mut findings = self.findings;
        let is_refused = |findings: &[Finding]| {
            let mut severities = findings.iter().map(|finding| finding.severity);
            severities.any(|severity| severity == Severity::Refused)
        };
        // What could not be read is not missing.
        if !is_refused(&findings) {
            public::check(&manifest, folder, &mut findings);
            check_relations(&manifest, &mut findings);
        }
        findings.sort_by_key(|finding| finding.line.unwrap_or(usize::MAX));
        match is_refused(&findings) {
            true => Err(findings),
            false => Ok(Document {
                manifest,
                body,
                findings,
            }),
        }
    }

    fn our_kind(&mut self) -> Option<Kind> {
        let (value, line) = self.ours.remove("type")?;
        let text = texts(value).join(" ");
        let kind = match text.to_lowercase().as_str() {
            "workflow" => Kind::Workflow,
            "reference" => Kind::Reference,
            _ => {
                let message =
                    format!("`{text}` is neither workflow nor reference: taken for a reference");
                self.findings.push(Finding::advice(line, message));
                return None;
            }
        };
        if kind.to_string() != text {
            let message = format!("write the type `{text}` as `{kind}`");
            self.findings.push(Finding::advice(line, message));
        }
        Some(kind)
    }

    fn our<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Option<T>,
        what: &str,
    ) -> Option<T> {
        let (value, line) = self.ours.remove(name)?;
        let text = texts(value).join(" ");
        let read = read(&text);
        if read.is_none() {
            let message = format!("`{name}` has to be {what}, not `{text}`");
            self.findings.push(Finding::refused(line, message));
        }
        read
    }

    /// The texts of one of our lists: a list, or one text that holds them between commas or spaces.
    fn list(&mut self, name: &str) -> Vec<String> {
        let Some((value, _)) = self.ours.remove(name) else {
            return Vec::new();
        };
        let mut list = Vec::new();
        for text in texts(value) {
            let words = text.split(|c: char| c == ',' || c.is_whitespace());
            for word in words.filter(|word| !word.is_empty()) {
                if !list.iter().any(|known| known == word) {
                    list.push(word.to_owned());
                }
            }
        }
        list
    }
}

fn check_relations(manifest: &Manifest, findings: &mut Vec<Finding>) {
    let name = &manifest.name;
    if manifest.conflicts.contains(name) {
        findings.push(Finding::refused(None, "it conflicts with itself"));
    }
    if manifest.requires.contains(name) {
        findings.push(Finding::advice(None, "it requires itself"));
    }
    for both in &manifest.requires {
        if manifest.conflicts.contains(both) {
            let message = format!("it both requires `{both}` and conflicts with it");
            findings.push(Finding::refused(None, message));
        }
    }
}

fn texts(value: Value) -> Vec<String> {
    match value {
        Value::Text(text) => vec![text],
        Value::List(texts) => texts,
    }
}

/// Which of our fields a key means, also in camelCase.
fn our_field(key: &str) -> Option<&'static str> {
    let mut kebab = String::new();
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            kebab.push('-');
        }
        kebab.push(character.to_ascii_lowercase());
    }
    OUR_FIELDS.into_iter().find(|field| *field == kebab)
}

/// The tools of one text: between spaces or commas, but not those inside parentheses.
fn tools(text: &str) -> Vec<String> {
    let mut tools = vec![String::new()];
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match tools.last_mut() {
            Some(tool) if depth > 0 || !(character == ',' || character.is_whitespace()) => {
                tool.push(character);
            }
            _ => tools.push(String::new()),
        }
    }
    tools.retain(|tool| !tool.is_empty());
    tools
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
