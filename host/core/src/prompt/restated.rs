//! Facts restated by hand: what a text says that somebody else owns.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use super::mentions::{blanked, tool_mentions, whole_words};
use super::template::{Position, TemplateFault, nearest};
use crate::plugins::{Caller, Context, Lifetime, Question};
use crate::registry::{AgentEntry, Linked, PERSONA, Place, Registry, SectionEntry};
use crate::trust::RESERVED_TAGS;

/// Something a text should not say in this way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The section.
    pub section: String,
    /// Id of the plugin that owns the section.
    pub plugin: String,
    /// The agent whose body it is, for a persona.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Where in its text.
    #[serde(flatten)]
    pub position: Position,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: Problem,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "camelCase")]
pub enum Problem {
    /// It states the value of a variable that another plugin owns.
    RestatedValue {
        /// The value, as written.
        value: String,
        /// The variable to refer to.
        variable: String,
        /// The plugin that owns the variable.
        owner: String,
    },
    /// It speaks of a tool that no loaded plugin offers.
    MissingTool {
        /// The name.
        tool: String,
        /// The tool that was probably meant.
        #[serde(skip_serializing_if = "Option::is_none")]
        near: Option<String>,
    },
    /// `{{name}}` where `<<name>>` was meant.
    Braces {
        /// As written.
        written: String,
        /// The variable to refer to.
        variable: String,
        /// The plugin that owns the variable.
        owner: String,
    },
    /// It is no valid template: the prompt would fail.
    Template {
        /// What is wrong.
        message: String,
        /// The variable that no plugin offers, where that is what is wrong.
        #[serde(skip_serializing_if = "Option::is_none")]
        unknown: Option<String>,
    },
}

/// Looks through all texts as the config fixes them, for every agent: fixed sections, tool
/// guidance, personas, and what computed sections say without knowing a session. `model` is the
/// deployment's model; `allow` silences findings (`[check] allow`), each entry what was found
/// (`gpt-5.1`) or that behind its section's name (`house-rules/gpt-5.1`).
///
/// Nothing here knows a session, a directory, a branch or a time, so the findings are the same on
/// every machine.
pub async fn restated(registry: &Registry, model: &str, allow: &[String]) -> Vec<Finding> {
    let agents: Vec<Option<&AgentEntry>> = match registry.agents() {
        [] => vec![None],
        agents => agents.iter().map(Some).collect(),
    };
    let mut texts = Vec::new();
    let mut findings = Vec::new();
    let mut shared: Option<BTreeSet<Stated>> = None;
    let mut models = BTreeSet::new();
    let mut personas = Vec::new();
    for agent in agents {
        let context = context_of(agent, model);
        let stated = stated_values(registry, &context).await;
        models.extend(stated.iter().filter(|value| value.is_model).cloned());
        if let Some(agent) = agent
            && let Some(text) = persona(registry, agent, &context, &mut findings).await
        {
            personas.push((text, stated.clone()));
        }
        for section in registry.sections() {
            texts.extend(section_text(registry, section, &context, &mut findings).await);
        }
        shared = Some(match shared {
            None => stated,
            // What differs between agents is not fixed for a section that all of them have.
            Some(shared) => shared.intersection(&stated).cloned().collect(),
        });
    }
    let mut shared = shared.unwrap_or_default();
    shared.extend(models);
    let known = known_names(registry);
    for (text, values) in personas
        .iter()
        .map(|(text, values)| (text, values))
        .chain(texts.iter().map(|text| (text, &shared)))
    {
        look_for_values(text, values, &mut findings);
        look_for_tools(text, registry, &known, &mut findings);
        look_for_braces(text, registry, &mut findings);
    }
    let order = |finding: &Finding| {
        let key = (finding.section.clone(), finding.agent.clone());
        (key, finding.position, finding.problem.subject().to_owned())
    };
    findings.sort_by_key(order);
    findings.dedup();
    findings.retain(|finding| !finding.is_allowed(allow));
    findings
}

/// A text of the prompt.
struct Text {
    section: Arc<str>,
    plugin: Arc<str>,
    agent: Option<String>,
    linked: Arc<Linked>,
    verbatim: bool,
}

/// The value of a variable as the config fixes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stated {
    value: Arc<str>,
    /// The model's name is found in any case.
    is_model: bool,
    variable: Arc<str>,
    owner: Arc<str>,
}

impl Finding {
    /// What a line in `[check] allow` says to silence it.
    pub fn allow_key(&self) -> String {
        format!("{}/{}", self.section, self.problem.subject())
    }

    fn is_allowed(&self, allow: &[String]) -> bool {
        let key = self.allow_key();
        let silenced = |entry: &String| *entry == key || entry == self.problem.subject();
        !matches!(self.problem, Problem::Template { .. }) && allow.iter().any(silenced)
    }
}

impl Problem {
    fn subject(&self) -> &str {
        match self {
            Self::RestatedValue { value, .. } => value,
            Self::MissingTool { tool, .. } => tool,
            Self::Braces { written, .. } => written,
            Self::Template { message, .. } => message,
        }
    }
}

fn context_of(agent: Option<&AgentEntry>, model: &str) -> Context {
    let own = agent.and_then(|entry| entry.agent.model.clone());
    Context {
        agent: agent.map(|entry| entry.agent.name.clone()),
        model: Some(own.unwrap_or_else(|| model.to_owned())),
        prompt_variant: Some("base".to_owned()),
        ..Context::default()
    }
}

/// A plugin's answer where nothing is known of a session; a failure is no answer.
async fn answer(
    registry: &Registry,
    owner: usize,
    lifetime: Lifetime,
    question: Question,
    context: &Context,
) -> Option<String> {
    if lifetime > Lifetime::Session {
        return None;
    }
    let context = context.narrowed(lifetime);
    let (questions, caller) = ([question], Caller::default());
    let plugin = &registry.plugins()[owner];
    let answers = plugin.answer(&questions, &context, &caller).await;
    answers.ok()?.into_iter().next().flatten()
}

async fn stated_values(registry: &Registry, context: &Context) -> BTreeSet<Stated> {
    const SHORTEST: usize = 4;
    let mut stated = BTreeSet::new();
    for variable in registry.variables() {
        let value = match &variable.fixed {
            Some(value) => Some(Arc::clone(value)),
            None => {
                let question = Question::Variable(variable.name.to_string());
                answer(
                    registry,
                    variable.owner,
                    variable.lifetime,
                    question,
                    context,
                )
                .await
                .map(Into::into)
            }
        };
        let Some(value) = value else { continue };
        // A host fact that a plugin passed on is the machine's, not the config's.
        let is_fact = |name: &str| registry.environment().facts.iter().any(|f| f.value == name);
        if value.chars().count() >= SHORTEST && !value.trim().is_empty() && !is_fact(&value) {
            stated.insert(Stated {
                is_model: context.model.as_deref() == Some(&*value),
                value,
                variable: Arc::clone(&variable.name),
                owner: Arc::clone(&variable.plugin),
            });
        }
    }
    stated
}

async fn persona(
    registry: &Registry,
    agent: &AgentEntry,
    context: &Context,
    findings: &mut Vec<Finding>,
) -> Option<Text> {
    let question = Question::Agent(agent.agent.name.clone());
    let body = answer(registry, agent.owner, Lifetime::Session, question, context).await?;
    let place = Place {
        section: PERSONA,
        plugin: &agent.plugin,
        lifetime: Lifetime::Session,
        declared: false,
    };
    let name = Some(agent.agent.name.clone());
    let linked = linked(registry, &place, name.as_ref(), &body, false, findings)?;
    Some(Text {
        section: PERSONA.into(),
        plugin: Arc::clone(&agent.plugin),
        agent: name,
        linked,
        verbatim: false,
    })
}

async fn section_text(
    registry: &Registry,
    section: &SectionEntry,
    context: &Context,
    findings: &mut Vec<Finding>,
) -> Option<Text> {
    let linked = match &section.fixed {
        Some(fixed) => Arc::clone(fixed),
        None => {
            let question = Question::Section(section.name.to_string());
            let lifetime = section.lifetime;
            let text = answer(registry, section.owner, lifetime, question, context).await?;
            let place = Place {
                section: &section.name,
                plugin: &section.plugin,
                lifetime,
                declared: true,
            };
            linked(registry, &place, None, &text, section.verbatim, findings)?
        }
    };
    Some(Text {
        section: Arc::clone(&section.name),
        plugin: Arc::clone(&section.plugin),
        agent: None,
        linked,
        verbatim: section.verbatim,
    })
}

fn linked(
    registry: &Registry,
    place: &Place<'_>,
    agent: Option<&String>,
    text: &str,
    verbatim: bool,
    findings: &mut Vec<Finding>,
) -> Option<Arc<Linked>> {
    match registry.link(place, text, verbatim) {
        Ok(linked) => Some(Arc::new(linked)),
        Err(errors) => {
            findings.extend(errors.into_iter().map(|error| Finding {
                agent: agent.cloned(),
                position: error.position,
                problem: Problem::Template {
                    message: error.advice(),
                    unknown: match error.fault {
                        TemplateFault::Unknown { name, .. } => Some(name),
                        _ => None,
                    },
                },
                section: error.section,
                plugin: error.plugin,
            }));
            None
        }
    }
}

impl Text {
    fn finding(&self, at: usize, problem: Problem) -> Finding {
        Finding {
            section: self.section.to_string(),
            plugin: self.plugin.to_string(),
            agent: self.agent.clone(),
            position: Position::of(self.linked.template.source(), at),
            problem,
        }
    }

    /// The author's own words: the source with its references made blank.
    fn own_words(&self) -> String {
        let template = &self.linked.template;
        let references = template.references().iter();
        blanked(
            template.source(),
            references.map(|reference| reference.at..reference.at + reference.name.len() + 4),
        )
    }
}

fn look_for_values(text: &Text, values: &BTreeSet<Stated>, findings: &mut Vec<Finding>) {
    let words = text.own_words();
    let mut taken = HashSet::new();
    for stated in values.iter().filter(|stated| stated.owner != text.plugin) {
        for at in whole_words(&words, &stated.value, stated.is_model) {
            if taken.insert(at) {
                let problem = Problem::RestatedValue {
                    value: words[at..at + stated.value.len()].to_owned(),
                    variable: stated.variable.to_string(),
                    owner: stated.owner.to_string(),
                };
                findings.push(text.finding(at, problem));
            }
        }
    }
}

fn look_for_tools(
    text: &Text,
    registry: &Registry,
    known: &BTreeSet<String>,
    findings: &mut Vec<Finding>,
) {
    let words = text.own_words();
    for mention in tool_mentions(&words) {
        if registry.tool(mention.name).is_none() && !known.contains(mention.name) {
            let tools = registry.tools().iter();
            let tools = tools.map(|entry| entry.tool.name.as_str());
            let problem = Problem::MissingTool {
                tool: mention.name.to_owned(),
                near: nearest(mention.name, tools).map(str::to_owned),
            };
            findings.push(text.finding(mention.at, problem));
        }
    }
}

#[expect(clippy::expect_used, reason = "a constant pattern")]
static BRACES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}").expect("the pattern is well-formed")
});

fn look_for_braces(text: &Text, registry: &Registry, findings: &mut Vec<Finding>) {
    if text.verbatim {
        return;
    }
    let source = text.linked.template.source();
    for captures in BRACES.captures_iter(source) {
        let (Some(whole), Some(name)) = (captures.get(0), captures.get(1)) else {
            continue;
        };
        if let Some(index) = registry.variable_index(name.as_str()) {
            let problem = Problem::Braces {
                written: whole.as_str().to_owned(),
                variable: name.as_str().to_owned(),
                owner: registry.variables()[index].plugin.to_string(),
            };
            findings.push(text.finding(whole.start(), problem));
        }
    }
}

/// Names that stand in prompts and are no tools: of variables, sections, agents, and what the
/// tools' schemas name.
fn known_names(registry: &Registry) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    known.extend(
        registry
            .variables()
            .iter()
            .map(|entry| entry.name.to_string()),
    );
    known.extend(
        registry
            .sections()
            .iter()
            .map(|entry| entry.name.to_string()),
    );
    known.extend(
        registry
            .agents()
            .iter()
            .map(|entry| entry.agent.name.clone()),
    );
    known.extend(
        registry
            .injection_kinds()
            .iter()
            .map(|kind| kind.name.clone()),
    );
    known.extend(RESERVED_TAGS.iter().map(|tag| (*tag).to_owned()));
    for entry in registry.tools() {
        names_in(&entry.tool.parameters, &mut known);
    }
    known
}

fn names_in(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                names.insert(key.clone());
                names_in(value, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| names_in(item, names)),
        Value::String(text) => {
            names.insert(text.clone());
        }
        _ => {}
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "section `{}`", self.section)?;
        if let Some(agent) = &self.agent {
            write!(formatter, " (agent `{agent}`)")?;
        }
        write!(
            formatter,
            " of plugin `{}`, {}: {}",
            self.plugin, self.position, self.problem
        )
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RestatedValue {
                value,
                variable,
                owner,
            } => write!(
                formatter,
                "`{value}` is the value of a variable of plugin `{owner}`: refer to it as `<<{variable}>>`"
            ),
            Self::MissingTool { tool, near } => {
                write!(formatter, "no loaded plugin offers a tool `{tool}`")?;
                match near {
                    Some(near) => write!(formatter, "; did you mean `{near}`?"),
                    None => Ok(()),
                }
            }
            Self::Braces {
                written,
                variable,
                owner,
            } => write!(
                formatter,
                "`{written}` is not replaced: the variable of plugin `{owner}` is written `<<{variable}>>`"
            ),
            Self::Template { message, .. } => formatter.write_str(message),
        }
    }
}
