//! Loading a skill: what comes along, what cannot be beside what, and what the model reads.

use raddle_sdk::skills::{ChecklistStep, Loaded};
use raddle_sdk::tools::Reply;
use raddle_sdk::{Error, Fact, include_prompt};
use raddle_skill_format::{
    Kind, Library, Refusal, Skill, Step, checklist, is_invisible, required, resolve,
};
use serde_json::json;

use crate::catalog::escaped;

/// The longest name that an error repeats.
const SHOWN: usize = 80;

/// The skills that one call loads: the one that was asked for, then those that come along.
#[derive(Debug)]
pub struct Load<'a>(Vec<&'a Skill>);

impl<'a> Load<'a> {
    /// What a call for `name` loads, `beside` calls for others in the same batch, when the `active`
    /// skills are. A name is looked up among those of the library, and is nothing else.
    ///
    /// # Errors
    ///
    /// `unknown-skill`: there is none. `conflict`: it cannot be beside another one.
    pub fn of(
        library: &'a Library,
        name: &str,
        beside: &[String],
        active: &[&str],
    ) -> Result<Self, Error> {
        if library.skill(name).is_none() {
            return Err(unknown(library, name));
        }
        let mut wanted: Vec<&str> = beside.iter().map(String::as_str).collect();
        wanted.push(name);
        wanted.retain(|name| library.skill(name).is_some());
        let comes = |wanted: &[&str], name: &str| {
            let mut brought = wanted.iter().flat_map(|wanted| required(library, wanted));
            brought.any(|skill| skill.manifest.name == name)
        };
        // Calls of one batch run at the same time: what another one has activated meanwhile counts
        // as asked for, so that the answer does not depend on who was first.
        let mut before: Vec<&str> = active.to_vec();
        before.retain(|active| !comes(&wanted, active));
        match resolve(library, &wanted, &before).remove(name) {
            Some(refusal) => Err(conflict(name, &refusal)),
            None => Ok(Self(required(library, name))),
        }
    }

    /// What a prompt variant preloads: these skills and what they require, each once.
    ///
    /// # Errors
    ///
    /// `unknown-skill`: there is none of that name. `conflict`: two cannot be beside each other.
    pub fn preloaded(library: &'a Library, names: &[&str]) -> Result<Self, Error> {
        let mut skills: Vec<&Skill> = Vec::new();
        if let Some((name, refusal)) = resolve(library, names, &[]).into_iter().next() {
            return Err(conflict(&name, &refusal));
        }
        for name in names {
            if library.skill(name).is_none() {
                return Err(unknown(library, name));
            }
            for skill in required(library, name) {
                if !skills
                    .iter()
                    .any(|known| known.manifest.name == skill.manifest.name)
                {
                    skills.push(skill);
                }
            }
        }
        Ok(Self(skills))
    }

    /// Leaves out what comes along and is active already, or what another call of the batch brings
    /// too, so that the model reads it once: of those that load it, the one whose skill's name comes
    /// first brings it.
    pub fn leave_to_others(
        &mut self,
        library: &Library,
        name: &str,
        beside: &[String],
        active: &[&str],
    ) {
        let brings = |other: &str, skill: &Skill| {
            let others: Vec<String> = beside
                .iter()
                .map(String::as_str)
                .chain([name])
                .filter(|beside| *beside != other)
                .map(str::to_owned)
                .collect();
            let load = Load::of(library, other, &others, active);
            load.is_ok_and(|load| {
                let mut skills = load.0.iter();
                skills.any(|brought| brought.manifest.name == skill.manifest.name)
            })
        };
        self.0.retain(|skill| {
            let own = skill.manifest.name == name;
            let asked = beside.contains(&skill.manifest.name);
            let mut others = beside.iter().map(String::as_str);
            let is_active = active.contains(&skill.manifest.name.as_str());
            // Asked for by itself, it comes with that call alone.
            own || !(asked || is_active || others.any(|other| other < name && brings(other, skill)))
        });
    }

    /// The preloaded skills as the prompt has them: each after the sentence of its type.
    pub fn text(&self) -> String {
        let blocks = self.0.iter().map(|skill| {
            let sentence = match skill.manifest.kind {
                Kind::Workflow => include_prompt!("preloaded-workflow.md"),
                Kind::Reference => include_prompt!("preloaded-reference.md"),
            };
            format!("{sentence}\n\n{}", block(skill))
        });
        blocks.collect::<Vec<_>>().join("\n\n")
    }

    /// The same for the host.
    pub fn loaded(&self) -> Vec<Loaded> {
        let loaded = self.0.iter().map(|skill| Loaded {
            name: skill.manifest.name.clone(),
            workflow: skill.manifest.kind == Kind::Workflow,
            path: skill.path.clone(),
            required_by: None,
            text: block(skill),
            steps: steps(skill)
                .into_iter()
                .map(|step| ChecklistStep {
                    number: step.number,
                    text: step.text,
                    optional: step.optional,
                })
                .collect(),
        });
        loaded.collect()
    }

    /// The skills.
    pub fn skills(&self) -> &[&'a Skill] {
        &self.0
    }

    /// The result of the call: one block after another, and for the session what each is.
    ///
    /// # Errors
    ///
    /// None that can happen: all of it is text.
    pub fn reply(&self) -> Result<Reply, Error> {
        let blocks: Vec<String> = self.0.iter().map(|skill| block(skill)).collect();
        let asked = self.0.first().map(|skill| skill.manifest.name.as_str());
        let facts = self.0.iter().zip(&blocks).map(|(skill, text)| {
            let manifest = &skill.manifest;
            let steps = steps(skill).into_iter().map(
                |step| json!({"number": step.number, "text": step.text, "optional": step.optional}),
            );
            let mut fact = json!({
                "name": manifest.name,
                "type": manifest.kind.to_string(),
                "path": skill.path,
                "text": text,
                "steps": steps.collect::<Vec<_>>(),
            });
            if asked != Some(manifest.name.as_str()) {
                fact["requiredBy"] = json!(asked);
            }
            Fact::new("skill-activated", fact.to_string())
        });
        Ok(Reply {
            facts: facts.collect(),
            ..Reply::text(blocks.join("\n\n"))
        })
    }
}

/// The steps of its checklist, if it has one.
fn steps(skill: &Skill) -> Vec<Step> {
    match skill.manifest.checklist {
        true => checklist(&skill.body),
        false => Vec::new(),
    }
}

/// A skill as the model reads it: the whole body in a tag that nothing in it can end. Everything
/// else stays as it is, because commands and code are to be copied from it.
pub fn block(skill: &Skill) -> String {
    let manifest = &skill.manifest;
    let mut text = format!(
        "<skill name=\"{}\" type=\"{}\" path=\"{}\">\n",
        escaped(&manifest.name),
        manifest.kind,
        escaped(&skill.path),
    );
    for (index, part) in skill.body.split('<').enumerate() {
        if index > 0 {
            text.push_str(if is_skill_tag(part) { "&lt;" } else { "<" });
        }
        text.push_str(part);
    }
    text.push_str("\n</skill>");
    text
}

/// Whether what follows a `<` makes it the beginning or the end of a `skill` tag.
fn is_skill_tag(after: &str) -> bool {
    let mut name = after
        .trim_start_matches(|c: char| c.is_whitespace() || c == '/' || is_invisible(c))
        .chars()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_lowercase);
    "skill"
        .chars()
        .all(|expected| name.next() == Some(expected))
        && !name
            .next()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.'))
}

fn unknown(library: &Library, name: &str) -> Error {
    let shown: String = name.chars().take(SHOWN).collect();
    let shown = shown.escape_debug();
    let mut refused = library.refused().iter();
    let reason = refused.find(|refused| refused.name.as_deref() == Some(name));
    let message = match reason {
        Some(refused) => format!("`{shown}` cannot be loaded: {}", refused.reason.message),
        None => {
            let names = library.skills().map(|skill| skill.manifest.name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            format!("there is no skill `{shown}` now; there are: {names}")
        }
    };
    Error::not_found("unknown-skill", message)
}

fn conflict(name: &str, refusal: &Refusal) -> Error {
    let ask = include_prompt!("undecided.md");
    let message = match refusal {
        Refusal::Outranked { by } => {
            format!(
                "`{name}` is not loaded: it conflicts with `{by}`, which has the higher priority"
            )
        }
        Refusal::Undecided { with } => {
            format!(
                "`{name}` and `{with}` conflict, neither has the higher priority, and neither is \
                 loaded. {ask}"
            )
        }
        Refusal::Active { with } => {
            format!("`{name}` is not loaded: it conflicts with `{with}`, which is active. {ask}")
        }
    };
    Error::conflict("conflict", message)
}
