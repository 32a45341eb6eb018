//! Filters: changes to an assembly or a request, as edits.

use serde_json::{Map, Value};

use super::offer::{Fact, Lifetime};

/// What a plugin filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Its name; one owner for each.
    pub name: String,
    /// What it changes.
    pub target: FilterTarget,
}

/// What a filter changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterTarget {
    /// Sections and variables, before values are filled in.
    Assembly,
    /// Model and options of a request.
    Request,
}

/// What an assembly filter sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilteredAssembly {
    /// The sections that can be changed, in the order of the prompt.
    pub sections: Vec<FilteredSection>,
    /// The values that are known, by name.
    pub variables: Vec<Fact>,
}

/// A section as filters see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilteredSection {
    /// Its name.
    pub name: String,
    /// Id of the plugin whose words it is.
    pub owner: String,
    /// Ascending, then by name.
    pub order: i32,
    /// How long its text stays.
    pub lifetime: Lifetime,
    /// Never scanned for variables.
    pub verbatim: bool,
    /// Its text, before values are filled in.
    pub text: String,
}

/// A section as a filter wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedText {
    /// Its name.
    pub name: String,
    /// Ascending, then by name.
    pub order: i32,
    /// Never scanned for variables.
    pub verbatim: bool,
    /// Its text.
    pub text: String,
}

/// A change to an assembly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AssemblyEdit {
    /// The section of this name goes.
    DropSection(String),
    /// A section takes the place of the one with its name, or is added.
    PutSection(PlacedText),
    /// The variable of this name has no value.
    DropVariable(String),
    /// A variable has this value.
    PutVariable(Fact),
}

/// What a request filter sees, and changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilteredRequest {
    /// The model's name.
    pub model: String,
    /// Further members of the request's body.
    pub options: Map<String, Value>,
}

/// A change to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestEdit {
    /// Another model answers.
    UseModel(String),
    /// A member of the body has this value.
    SetOption(String, Value),
    /// A member of the body goes.
    DropOption(String),
}

impl FilteredRequest {
    /// Changes it.
    pub fn apply(&mut self, edit: RequestEdit) {
        match edit {
            RequestEdit::UseModel(model) => self.model = model,
            RequestEdit::SetOption(name, value) => {
                self.options.insert(name, value);
            }
            RequestEdit::DropOption(name) => {
                self.options.shift_remove(&name);
            }
        }
    }
}
