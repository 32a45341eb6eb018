//! Who may call what: rules of the deployment, then the user. No model, tool or plugin can widen
//! them.

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use crate::plugins::Tool;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It runs.
    Allow,
    /// The user is asked; without somebody to ask it does not run.
    Ask,
    /// It does not run.
    Deny,
}

/// One `[[permission.rule]]`. The last rule that matches decides.
#[derive(Debug, Clone)]
pub struct Rule {
    tool: GlobMatcher,
    argument: Option<(String, GlobMatcher)>,
    action: Action,
}

/// A rule's pattern is not a glob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a pattern: {message}")]
pub struct BadPattern {
    /// The pattern.
    pub pattern: String,
    /// Why.
    pub message: String,
}

/// Asks the user. `None` in place of it means nobody can be asked.
pub trait Asker: Send + Sync {
    /// Asks whether one call may run. Calls of a batch are asked for one after another.
    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Answer>;
}

/// What the user is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The tool.
    pub tool: String,
    /// The plugin that owns it.
    pub plugin: String,
    /// The arguments: a JSON object.
    pub arguments: Value,
}

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Allow,
    /// This tool with exactly these arguments, for the rest of the session.
    AllowAlways,
    /// No.
    Deny,
}

/// A decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may run.
    pub allowed: bool,
    /// Who decided: `rule`, `hint` (the tool only reads), `user`, or `no-terminal`.
    pub by: &'static str,
}

/// The permissions of one session and its children, who share what the user has allowed.
#[derive(Clone)]
pub struct Permissions {
    rules: Arc<[Rule]>,
    asker: Option<Arc<dyn Asker>>,
    always: Arc<Mutex<Vec<(String, Value)>>>,
    /// One question at a time: sessions that run beside each other share the user.
    asking: Arc<tokio::sync::Mutex<()>>,
}

impl Rule {
    /// A rule for tools matching the glob `tool` and, if given, only for calls whose argument
    /// `argument.0` matches the glob `argument.1`. `*` does not cross `/`, `**` does; an argument
    /// that is not a string is matched by its JSON text.
    pub fn new(
        tool: &str,
        argument: Option<(&str, &str)>,
        action: Action,
    ) -> Result<Self, BadPattern> {
        Ok(Self {
            tool: matcher(tool)?,
            argument: argument
                .map(|(name, pattern)| Ok((name.to_owned(), matcher(pattern)?)))
                .transpose()?,
            action,
        })
    }

    /// A path has many spellings (`a`, `./a`, `b/../a`). A rule that allows must match the text
    /// as it was written and as the path it names; a rule that does not allow matches either.
    fn matches(&self, tool: &str, arguments: &Value) -> bool {
        let argument = |(name, pattern): &(String, GlobMatcher)| match arguments.get(name) {
            Some(Value::String(text)) => {
                let spellings = [pattern.is_match(text), pattern.is_match(plain_path(text))];
                match self.action {
                    Action::Allow => spellings == [true; 2],
                    Action::Ask | Action::Deny => spellings != [false; 2],
                }
            }
            Some(other) => pattern.is_match(other.to_string()),
            None => false,
        };
        self.tool.is_match(tool) && self.argument.as_ref().is_none_or(argument)
    }

    /// Whether the rule is about the tool of this name.
    pub fn is_about(&self, tool: &str) -> bool {
        self.tool.is_match(tool)
    }
}

impl Permissions {
    /// Permissions under `rules`, with somebody to ask or nobody.
    pub fn new(rules: Arc<[Rule]>, asker: Option<Arc<dyn Asker>>) -> Self {
        Self {
            rules,
            asker,
            always: Arc::default(),
            asking: Arc::default(),
        }
    }

    /// Decides about one call; may wait for the user.
    pub(crate) async fn decide(
        &self,
        action: (Action, &'static str),
        plugin: &str,
        tool: &Tool,
        arguments: &Value,
    ) -> Decision {
        match action {
            (Action::Allow, by) => Decision { allowed: true, by },
            (Action::Deny, by) => Decision { allowed: false, by },
            (Action::Ask, _) => self.ask(plugin, tool, arguments).await,
        }
    }

    /// What the rules say about one call, and what said it: `rule`, or `hint` (it only reads).
    pub(crate) fn action(&self, tool: &Tool, arguments: &Value) -> (Action, &'static str) {
        let rule = self
            .rules
            .iter()
            .rev()
            .find(|rule| rule.matches(&tool.name, arguments));
        match rule {
            Some(rule) => (rule.action, "rule"),
            None if tool.hint("read-only") == Some("true") => (Action::Allow, "hint"),
            None => (Action::Ask, "rule"),
        }
    }

    async fn ask(&self, plugin: &str, tool: &Tool, arguments: &Value) -> Decision {
        let Some(asker) = &self.asker else {
            return Decision {
                allowed: false,
                by: "no-terminal",
            };
        };
        let key = (tool.name.clone(), arguments.clone());
        let _alone = self.asking.lock().await;
        let granted = self.granted().contains(&key);
        let allowed = granted || {
            let question = Question {
                tool: tool.name.clone(),
                plugin: plugin.to_owned(),
                arguments: arguments.clone(),
            };
            let answer = asker.ask(&question).await;
            if answer == Answer::AllowAlways {
                self.granted().push(key);
            }
            answer != Answer::Deny
        };
        Decision {
            allowed,
            by: "user",
        }
    }

    fn granted(&self) -> std::sync::MutexGuard<'_, Vec<(String, Value)>> {
        self.always.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A path without `.`, `..` and empty components, as far as the text alone tells.
fn plain_path(text: &str) -> String {
    let mut components: Vec<&str> = Vec::new();
    for component in text.split('/') {
        match component {
            // The two slashes of a URL are not an empty component.
            "" if components.last().is_some_and(|last| last.ends_with(':')) => components.push(""),
            "" | "." => {}
            ".." if components.last().is_some_and(|last| *last != "..") => {
                components.pop();
            }
            other => components.push(other),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    format!("{root}{}", components.join("/"))
}

fn matcher(pattern: &str) -> Result<GlobMatcher, BadPattern> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| BadPattern {
            pattern: pattern.to_owned(),
            message: error.kind().to_string(),
        })
}
