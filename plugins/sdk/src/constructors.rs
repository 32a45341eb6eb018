//! Short ways to make and read the contract's records.

use serde::Serialize;

use crate::types::{
    Attachment, Content, Context, Environment, Error, ErrorKind, Fact, File, Lifetime,
};
use crate::{sections::Section, tools::Outcome, tools::Reply, variables::Variable};

macro_rules! error_constructors {
    ($($(#[$documentation:meta])* $name:ident => $kind:ident;)+) => {
        impl Error {
            $(
                $(#[$documentation])*
                ///
                /// `code` is stable and kebab-case, `message` is one line.
                pub fn $name(code: &str, message: impl Into<String>) -> Self {
                    Self { kind: ErrorKind::$kind, code: code.to_owned(), message: message.into() }
                }
            )+
        }
    };
}

error_constructors! {
    /// The input was wrong.
    invalid => Invalid;
    /// There is no such thing.
    not_found => NotFound;
    /// It is not allowed.
    denied => Denied;
    /// It changed in the meantime.
    conflict => Conflict;
    /// A limit was reached.
    limit => Limit;
    /// It is not there now.
    unavailable => Unavailable;
    /// It was cancelled.
    cancelled => Cancelled;
    /// Everything else.
    failed => Failed;
}

impl Section {
    /// A template whose text is known now, frozen with the session.
    pub fn fixed(name: &str, order: i32, text: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            order,
            verbatim: false,
            lifetime: Lifetime::Session,
            content: Content::Fixed(text.into()),
        }
    }

    /// A template whose text `render` gives once per `lifetime`.
    pub fn computed(name: &str, order: i32, lifetime: Lifetime) -> Self {
        Self {
            name: name.to_owned(),
            order,
            verbatim: false,
            lifetime,
            content: Content::Computed,
        }
    }

    /// The same section, never scanned for `<<variables>>`.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self {
            verbatim: true,
            ..self
        }
    }
}

impl Variable {
    /// A variable whose value `resolve` gives once per `lifetime`.
    pub fn computed(name: &str, lifetime: Lifetime) -> Self {
        Self {
            name: name.to_owned(),
            lifetime,
            content: Content::Computed,
        }
    }
}

impl Fact {
    /// A named value.
    pub fn new(name: &str, value: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            value: value.into(),
        }
    }
}

impl Reply {
    /// A result that is text for the model and nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            attachments: Vec::<Attachment>::new(),
            details: None,
            artifact: None,
            terminate: false,
            facts: Vec::new(),
        }
    }

    /// The same result, with details for front ends, which no model sees.
    #[must_use]
    pub fn with_details(self, details: &impl Serialize) -> Self {
        Self {
            details: serde_json::to_string(details).ok(),
            ..self
        }
    }
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self::Done(reply)
    }
}

impl Context {
    /// The value of the host's fact `name`, if it is known for this prompt.
    pub fn fact(&self, name: &str) -> Option<&str> {
        find_fact(&self.facts, name)
    }
}

impl Environment {
    /// The value of the host's fact `name`.
    pub fn fact(&self, name: &str) -> Option<&str> {
        find_fact(&self.facts, name)
    }

    /// The file the setting at `setting`, a JSON pointer such as `/sections/0/file`, names.
    pub fn file(&self, setting: &str) -> Option<&File> {
        self.files.iter().find(|file| file.setting == setting)
    }
}

fn find_fact<'a>(facts: &'a [Fact], name: &str) -> Option<&'a str> {
    facts
        .iter()
        .find(|fact| fact.name == name)
        .map(|fact| fact.value.as_str())
}

/// Nothing is known.
impl Default for Context {
    fn default() -> Self {
        Self {
            agent: None,
            model: None,
            prompt_variant: None,
            session: None,
            cwd: None,
            turn: None,
            step: None,
            now: None,
            facts: Vec::new(),
        }
    }
}

/// Nothing is present.
impl Default for Environment {
    fn default() -> Self {
        Self {
            agents: Vec::new(),
            providers: Vec::new(),
            tools: Vec::new(),
            connections: Vec::new(),
            files: Vec::new(),
            facts: Vec::new(),
        }
    }
}
