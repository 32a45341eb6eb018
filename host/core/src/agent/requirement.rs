//! Skills that the deployment requires for requests about something.

use std::collections::BTreeSet;

/// A skill that must be active before a matching request is worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// Words of which the request has at least one: whole words, in any case.
    pub words: Vec<String>,
    /// The skill.
    pub skill: String,
}

impl Requirement {
    /// Whether a request is about it.
    pub fn matches(&self, request: &str) -> bool {
        let request = words(request);
        self.words
            .iter()
            .any(|word| request.contains(&word.to_lowercase()))
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}
