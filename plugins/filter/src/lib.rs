//! Standard plugin `filter`: changes to what other plugins contribute and to requests, as the
//! deployment's settings say. What that means for the model and the cache stands in README.md.

use std::collections::BTreeMap;

use raddle_sdk::filters::{Assembly, AssemblyEdit, Filter, Placed, Request, RequestEdit, Target};
use raddle_sdk::{Context, Environment, Error, Fact, include_prompt, settings};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The filters' name, where the deployment gives none.
const NAME: &str = "filter";

/// What follows the name of the filter of requests.
const REQUEST: &str = ".request";

/// The plugin.
pub struct Plugin;

/// What the deployment wants changed.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Name of the filter.
    pub name: Option<String>,
    /// The agents for which it holds; all if there are none.
    pub agents: Vec<String>,
    /// Sections that go.
    pub drop: Vec<String>,
    /// Sections that take the place of others, or are added.
    pub put: Vec<Section>,
    /// Values of variables.
    pub variables: BTreeMap<String, String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Further members of the request's body.
    pub options: Map<String, Value>,
}

/// A section.
#[derive(Debug, Clone, Deserialize)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub order: i32,
    /// Its text, a template.
    pub text: String,
    /// Never scanned for variables.
    #[serde(default)]
    pub verbatim: bool,
}

raddle_sdk::export!(Plugin: filters, settings);

impl raddle_sdk::filters::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Filter>, Error> {
        Ok(settings::<Settings>()?.filters())
    }

    fn edit_assembly(
        _name: String,
        assembly: Assembly,
        context: Context,
    ) -> Result<Vec<AssemblyEdit>, Error> {
        Ok(settings::<Settings>()?.edit_assembly(&assembly, &context))
    }

    fn edit_request(
        _name: String,
        _request: Request,
        context: Context,
    ) -> Result<Vec<RequestEdit>, Error> {
        Ok(settings::<Settings>()?.edit_request(&context))
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl Settings {
    /// The filters that have something to do.
    pub fn filters(&self) -> Vec<Filter> {
        let name = self.name.as_deref().unwrap_or(NAME);
        let words = !(self.drop.is_empty() && self.put.is_empty() && self.variables.is_empty());
        let requests = self.model.is_some() || !self.options.is_empty();
        let assembly = words.then(|| Filter {
            name: name.to_owned(),
            target: Target::Assembly,
        });
        let request = requests.then(|| Filter {
            name: format!("{name}{REQUEST}"),
            target: Target::Request,
        });
        assembly.into_iter().chain(request).collect()
    }

    /// What is changed of what the filter is shown. A section that it adds is added while the prefix is
    /// built, which is when nothing but the prefix is shown.
    pub fn edit_assembly(&self, assembly: &Assembly, context: &Context) -> Vec<AssemblyEdit> {
        if !self.is_about(context) {
            return Vec::new();
        }
        // With a turn it is about what passes.
        let is_prefix = context.turn.is_none();
        let shown = |name: &str| assembly.sections.iter().any(|section| section.name == name);
        let known = |name: &str| {
            assembly
                .variables
                .iter()
                .any(|variable| variable.name == name)
        };
        let drop = self.drop.iter().filter(|name| shown(name));
        let drop = drop.map(|name| AssemblyEdit::DropSection(name.clone()));
        let put = self
            .put
            .iter()
            .filter(|section| shown(&section.name) || is_prefix);
        let put = put.map(|section| {
            AssemblyEdit::PutSection(Placed {
                name: section.name.clone(),
                order: section.order,
                verbatim: section.verbatim,
                text: section.text.clone(),
            })
        });
        let values = self.variables.iter().filter(|(name, _)| known(name));
        let values = values.map(|(name, value)| AssemblyEdit::PutVariable(Fact::new(name, value)));
        drop.chain(put).chain(values).collect()
    }

    /// What is changed of a request.
    pub fn edit_request(&self, context: &Context) -> Vec<RequestEdit> {
        if !self.is_about(context) {
            return Vec::new();
        }
        let model = self.model.clone().map(RequestEdit::UseModel);
        let options = self.options.iter();
        let options =
            options.map(|(name, value)| RequestEdit::SetOption(Fact::new(name, value.to_string())));
        model.into_iter().chain(options).collect()
    }

    fn is_about(&self, context: &Context) -> bool {
        let agent = context.agent.as_deref();
        self.agents.is_empty() || self.agents.iter().any(|name| Some(name.as_str()) == agent)
    }
}
