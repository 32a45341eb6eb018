//! The deployment as `raddle.toml` writes it: read strictly, all faults at
//! once, each with its place and the way to mend it.

mod find;
mod grants;
mod reader;
mod schema;
mod values;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub(crate) use find::find;
pub(crate) use schema::expand;

use raddle_core::agent::{Action, Requirement};
use raddle_core::digest::Digest;
use raddle_core::prompt::Dynamic;
use raddle_wasm::Limits;
use raddle_wasm::grants::Grants;

use crate::failure::Failure;
use crate::files;
use crate::report::{Finding, Lines, Place, one_line};
use reader::Document;

/// A whole deployment. Paths are absolute.
#[derive(Debug)]
pub(crate) struct Config {
    /// The file, as the user would name it.
    pub(crate) shown: String,
    /// The file.
    pub(crate) file: PathBuf,
    /// Digest of the text.
    pub(crate) text: Digest,
    /// The agent to start with.
    pub(crate) agent: Option<String>,
    /// The model, where one is configured.
    pub(crate) model: Option<Model>,
    /// Where short-lived text goes.
    pub(crate) dynamic: Dynamic,
    /// Names of tools in the order they are sent; the others follow by name.
    pub(crate) tool_order: Vec<String>,
    /// `[filters] order`.
    pub(crate) filter_order: Vec<String>,
    /// Namespaces of tools that are told of only when they are loaded.
    pub(crate) deferred: Vec<String>,
    /// The plugins, sorted by id.
    pub(crate) plugins: Vec<Plugin>,
    /// In the order of the file; the last that matches a call wins.
    pub(crate) permissions: Vec<PermissionRule>,
    /// The prompt variants, in the order of the file.
    pub(crate) variants: Vec<Variant>,
    /// Skills that requests must not be worked on without.
    pub(crate) requirements: Vec<Requirement>,
    /// Findings of `raddle check` that are meant to be so.
    pub(crate) allow: Vec<String>,
    /// The session database; the user's data folder if absent.
    pub(crate) store: Option<PathBuf>,
    /// Who may talk to `serve`, and how.
    pub(crate) tokens: Vec<Token>,
    places: BTreeMap<String, Place>,
}

/// `[model]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    /// Which wire protocol.
    pub(crate) provider: Provider,
    /// The model's name, as the service knows it.
    pub(crate) name: String,
    /// Where the service is; the provider's own if absent.
    pub(crate) base_url: Option<String>,
    /// The environment variable that holds the key.
    pub(crate) api_key_env: Option<String>,
    /// Tokens that the model can take.
    pub(crate) window_tokens: Option<u32>,
    /// Further headers of every request. `${NAME}` stands for an environment variable.
    pub(crate) headers: BTreeMap<String, String>,
    /// Further members of every request body.
    pub(crate) options: Map<String, Value>,
    /// How long to wait for a connection.
    pub(crate) connect_timeout: Option<Duration>,
    /// How long to wait for the next byte of an answer.
    pub(crate) idle_timeout: Option<Duration>,
    /// A recorded model: the `replay` provider's, or what `run` uses without a key.
    pub(crate) recording: Option<PathBuf>,
    /// Whether the service knows the developer role; the provider's own answer if absent.
    pub(crate) developer_role: Option<bool>,
}

/// The wire protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    /// `/responses` of OpenAI and compatible servers.
    OpenaiResponses,
    /// `/chat/completions` of OpenAI and compatible servers.
    OpenaiChat,
    /// A recording.
    Replay,
}

/// `[[serve.token]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// What its sessions are marked with.
    pub(crate) name: String,
    /// The environment variable that holds it.
    pub(crate) env: String,
    /// What it is good for.
    pub(crate) scopes: Vec<Scope>,
}

/// What a token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Sessions of its own.
    Converse,
    /// Telling any session what happened outside of it.
    Inject,
    /// Looking at all sessions, and at the metrics.
    Inspect,
}

impl Scope {
    /// All of them, as they are written.
    pub(crate) const NAMES: [(&str, Self); 3] = [
        ("converse", Self::Converse),
        ("inject", Self::Inject),
        ("inspect", Self::Inspect),
    ];

    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        names
            .find(|(_, scope)| *scope == self)
            .map_or("", |(name, _)| name)
    }
}

/// `[plugins.ID]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plugin {
    /// Its id.
    pub(crate) id: String,
    /// `source` as written.
    pub(crate) written: String,
    /// Where its component is.
    pub(crate) source: Source,
    /// Its own settings, which its own schema checks.
    pub(crate) settings: Map<String, Value>,
    /// What it may touch.
    pub(crate) grants: Grants,
    /// How much it may use.
    pub(crate) limits: Limits,
    /// Left out instead of failing the deployment when it does not load.
    pub(crate) optional: bool,
    /// Loaded while sessions run already.
    pub(crate) late: bool,
}

/// Where a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// `std:NAME`: embedded in the binary.
    Standard(String),
    /// A file.
    File(PathBuf),
}

/// `[variants.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Its name.
    pub(crate) name: String,
    /// Words of which a first message has at least one; without any it is only chosen by name.
    pub(crate) words: Vec<String>,
    /// Skills that stand in the prompt from the beginning.
    pub(crate) preload: Vec<String>,
}

/// `[[permission.rule]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionRule {
    /// Pattern of tool names.
    pub(crate) tool: String,
    /// The argument that `pattern` is about.
    pub(crate) argument: Option<String>,
    /// Pattern of the argument's value.
    pub(crate) pattern: Option<String>,
    /// What happens to such a call.
    pub(crate) action: Action,
}

/// The variant where none was chosen.
pub(crate) const BASE: &str = "base";

impl Variant {
    /// Whether a session that begins with `message` has it.
    pub(crate) fn is_about(&self, message: &str) -> bool {
        let words = Requirement {
            words: self.words.clone(),
            skill: String::new(),
        };
        words.matches(message)
    }

    /// The one where none was chosen.
    pub(crate) fn base() -> Self {
        Self {
            name: BASE.to_owned(),
            words: Vec::new(),
            preload: Vec::new(),
        }
    }
}

impl Config {
    /// Reads a file that must be good.
    pub(crate) fn load(file: &Path) -> Result<Self, Failure> {
        let (config, faults) = Self::read(file)?;
        if faults.is_empty() {
            Ok(config)
        } else {
            Err(Failure::Bad(faults))
        }
    }

    /// Reads a file: what can be made of it, and everything that is wrong with it.
    pub(crate) fn read(file: &Path) -> Result<(Self, Vec<Finding>), Failure> {
        let shown = shown(file);
        let bytes = files::read(file).map_err(|error| files::failure(&shown, &error))?;
        let file = std::path::absolute(file)
            .map_err(|error| Failure::Unable(anyhow!("{shown}: {error}")))?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let place = Lines::of(&good).place(good.len());
            let message = "this is not UTF-8: save the file as UTF-8";
            Failure::Bad(vec![Finding::at(&shown, Some(place), message)])
        })?;
        Ok(Self::parse(&shown, &file, text))
    }

    /// Reads a text. `shown` names the file in faults; `file` is its absolute path.
    pub(crate) fn parse(shown: &str, file: &Path, text: &str) -> (Self, Vec<Finding>) {
        let document = Document::new(shown, text);
        let values = document.parse();
        let syntax = document.fault_count();
        let broken = document.faulty_lines();
        let mut config = schema::read(&document, &values, shown, file);
        config.text = Digest::of(text);
        for (key, value) in &values {
            note_places(&mut config.places, &document, key.get_ref(), value);
        }
        (config, document.into_faults(&broken, syntax))
    }

    /// The folder that relative paths start from.
    pub(crate) fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("/"))
    }

    /// A finding about what stands at `path` (`plugins`, `bash`, `source`), or at the nearest
    /// thing around it.
    pub(crate) fn finding(&self, path: &[&str], message: impl AsRef<str>) -> Finding {
        let place = (1..=path.len())
            .rev()
            .find_map(|length| self.places.get(&path[..length].join("\0")).copied());
        Finding::at(&self.shown, place, message)
    }
}

impl Provider {
    /// Every provider with its name in the config.
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("openai-chat", Self::OpenaiChat),
        ("openai-responses", Self::OpenaiResponses),
        ("replay", Self::Replay),
    ];

    /// Its name in the config.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenaiResponses => "openai-responses",
            Self::OpenaiChat => "openai-chat",
            Self::Replay => "replay",
        }
    }
}

/// A path as the user would name it, on one line: relative where it is below the current
/// directory.
pub(crate) fn shown(path: &Path) -> String {
    let relative = std::env::current_dir()
        .ok()
        .and_then(|current| path.strip_prefix(current).ok().map(Path::to_path_buf));
    one_line(&relative.as_deref().unwrap_or(path).display().to_string())
}

fn note_places(
    places: &mut BTreeMap<String, Place>,
    document: &Document<'_>,
    path: &str,
    value: &Spanned<DeValue<'_>>,
) {
    places.insert(path.to_owned(), document.place(value.span().start));
    match value.get_ref() {
        DeValue::Table(table) => {
            let table: &DeTable<'_> = table;
            for (key, value) in table {
                note_places(
                    places,
                    document,
                    &format!("{path}\0{}", key.get_ref()),
                    value,
                );
            }
        }
        DeValue::Array(array) => {
            for (index, value) in array.iter().enumerate() {
                note_places(places, document, &format!("{path}\0{index}"), value);
            }
        }
        _ => {}
    }
}
