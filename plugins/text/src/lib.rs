//! Standard plugin `text`: prompt sections whose words the deployment writes, in its settings or
//! in files.

use raddle_sdk::sections::{self, Section};
use raddle_sdk::{
    Content, Context, Environment, Error, Lifetime, include_prompt, settings, trim_prompt,
};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: sections, settings);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    sections: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    order: i32,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    file: Option<String>,
    #[serde(default)]
    verbatim: bool,
    #[serde(default)]
    lifetime: Kept,
}

/// A lifetime as settings write it.
#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kept {
    Deployment,
    #[default]
    Session,
    Turn,
    Step,
}

impl sections::Guest for Plugin {
    fn offer(environment: Environment) -> Result<Vec<Section>, Error> {
        let settings: Settings = settings()?;
        let entries = settings.sections.into_iter().enumerate();
        entries
            .map(|(index, entry)| entry.section(index, &environment))
            .collect()
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl Entry {
    fn section(self, index: usize, environment: &Environment) -> Result<Section, Error> {
        let text = match (&self.text, &self.file) {
            (Some(text), None) => text,
            (None, Some(path)) => self.contents(index, path, environment)?,
            (Some(_), Some(_)) => return Err(self.fault("has both `text` and `file`: keep one")),
            (None, None) => return Err(self.fault("has no text: add `text` or `file`")),
        };
        Ok(Section {
            content: Content::Fixed(trim_prompt(text).to_owned()),
            name: self.name,
            order: self.order,
            verbatim: self.verbatim,
            lifetime: self.lifetime.into(),
        })
    }

    fn contents<'a>(
        &self,
        index: usize,
        path: &str,
        environment: &'a Environment,
    ) -> Result<&'a str, Error> {
        let file = environment.file(&format!("/sections/{index}/file"));
        let file = file.ok_or_else(|| {
            let message = format!("section `{}`: the host did not read `{path}`", self.name);
            Error::unavailable("file", message)
        })?;
        // An editor's byte order mark is no word.
        Ok(file.text.strip_prefix('\u{feff}').unwrap_or(&file.text))
    }

    fn fault(&self, what: &str) -> Error {
        Error::invalid("settings", format!("section `{}` {what}", self.name))
    }
}

impl From<Kept> for Lifetime {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Deployment => Self::Deployment,
            Kept::Session => Self::Session,
            Kept::Turn => Self::Turn,
            Kept::Step => Self::Step,
        }
    }
}
