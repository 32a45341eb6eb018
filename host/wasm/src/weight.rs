//! How many bytes of data a value of the contract holds: what the output limit counts.

use crate::bindings::{
    agents, filters, injections, process, sections, sessions, skills, subagents, tools, types,
    variables,
};

/// Bytes of text and data in a value, plus a little for each element of a list, so that a list
/// of empty things weighs something too.
pub(crate) trait Weight {
    fn weight(&self) -> usize;
}

impl Weight for String {
    fn weight(&self) -> usize {
        self.len()
    }
}

impl<T: Weight> Weight for Option<T> {
    fn weight(&self) -> usize {
        self.as_ref().map_or(0, Weight::weight)
    }
}

impl<T: Weight> Weight for Vec<T> {
    fn weight(&self) -> usize {
        let elements = self.len().saturating_mul(size_of::<T>());
        self.iter()
            .fold(elements, |sum, item| sum.saturating_add(item.weight()))
    }
}

/// A record weighs what the named fields weigh; numbers and switches weigh nothing.
macro_rules! record_weight {
    ($($record:ty { $($field:ident),* })*) => {$(
        impl Weight for $record {
            fn weight(&self) -> usize {
                [$(self.$field.weight()),*].into_iter().fold(0, usize::saturating_add)
            }
        }
    )*};
}

record_weight! {
    types::Fact { name, value }
    types::Subject { reference, path, revision }
    types::Error { code, message }
    types::ToolCall { id, name, arguments }
    types::Message { text, calls, answers, facts }
    skills::Skill { name, description, path, metadata }
    skills::ChecklistStep { text }
    skills::Loaded { name, path, required_by, text, steps }
    sessions::Child { provider, prompt, agent, options }
    sessions::Work { prompt, agent }
    sessions::Report { session, text, details }
    subagents::Outcome { text, details }
    types::Provider { name, capabilities }
    filters::Filter { name }
    filters::Placed { name, text }
    process::Command { program, arguments, cwd, environment_variables }
    process::Companion { program, arguments, cwd, environment_variables }
    sections::Section { name, content }
    variables::Variable { name, content }
    injections::Kind { name, meaning }
    tools::Guidance { text }
    tools::Tool { name, description, parameters, guidance, hints }
    tools::Reply { text, attachments, details, artifact, facts }
    tools::UserAction { kind, title, parameters, answer_schema, expires_at, state }
    agents::Agent {
        name, description, model, tools, handoffs, skills, variants, intents, metadata
    }
}

impl Weight for filters::AssemblyEdit {
    fn weight(&self) -> usize {
        match self {
            Self::DropSection(name) | Self::DropVariable(name) => name.weight(),
            Self::PutSection(placed) => placed.weight(),
            Self::PutVariable(fact) => fact.weight(),
        }
    }
}

impl Weight for filters::RequestEdit {
    fn weight(&self) -> usize {
        match self {
            Self::UseModel(name) | Self::DropOption(name) => name.weight(),
            Self::SetOption(fact) => fact.weight(),
        }
    }
}

impl Weight for () {
    fn weight(&self) -> usize {
        0
    }
}

impl Weight for u32 {
    fn weight(&self) -> usize {
        0
    }
}

impl Weight for types::Attachment {
    fn weight(&self) -> usize {
        self.media_type.len().saturating_add(self.bytes.len())
    }
}

impl Weight for types::Content {
    fn weight(&self) -> usize {
        match self {
            Self::Fixed(text) => text.len(),
            Self::Computed => 0,
        }
    }
}

impl Weight for tools::Outcome {
    fn weight(&self) -> usize {
        match self {
            Self::Done(reply) => reply.weight(),
            Self::NeedsUser(action) => action.weight(),
        }
    }
}
