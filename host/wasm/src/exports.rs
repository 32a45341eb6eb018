//! Where the exports of the contract's interfaces are in a component.

use wasmtime::component::InstancePre;

use crate::bindings::{
    agents, compaction, filters, injections, knowledge, sections, settings, skills, subagents,
    tools, variables, watchers,
};
use crate::imports::State;

/// The functions of the contract, for errors.
pub(crate) mod place {
    use crate::fault::Place;

    pub(crate) const SECTIONS_OFFER: Place = Place::new("sections", "offer");
    pub(crate) const SECTIONS_RENDER: Place = Place::new("sections", "render");
    pub(crate) const VARIABLES_OFFER: Place = Place::new("variables", "offer");
    pub(crate) const VARIABLES_RESOLVE: Place = Place::new("variables", "resolve");
    pub(crate) const TOOLS_OFFER: Place = Place::new("tools", "offer");
    pub(crate) const TOOLS_CALL: Place = Place::new("tools", "call");
    pub(crate) const AGENTS_OFFER: Place = Place::new("agents", "offer");
    pub(crate) const AGENTS_LOAD: Place = Place::new("agents", "load");
    pub(crate) const INJECTIONS_OFFER: Place = Place::new("injections", "offer");
    pub(crate) const WATCHERS_OBSERVE: Place = Place::new("watchers", "observe");
    pub(crate) const COMPACTION_DECIDE: Place = Place::new("compaction", "decide");
    pub(crate) const COMPACTION_SUMMARIZE: Place = Place::new("compaction", "summarize");
    pub(crate) const SKILLS_OFFER: Place = Place::new("skills", "offer");
    pub(crate) const SKILLS_LOAD: Place = Place::new("skills", "load");
    pub(crate) const KNOWLEDGE_HINT: Place = Place::new("knowledge", "hint");
    pub(crate) const SUBAGENTS_OFFER: Place = Place::new("subagents", "offer");
    pub(crate) const SUBAGENTS_START: Place = Place::new("subagents", "start");
    pub(crate) const FILTERS_OFFER: Place = Place::new("filters", "offer");
    pub(crate) const FILTERS_EDIT_ASSEMBLY: Place = Place::new("filters", "edit-assembly");
    pub(crate) const FILTERS_EDIT_REQUEST: Place = Place::new("filters", "edit-request");
    pub(crate) const SETTINGS_DESCRIBE: Place = Place::new("settings", "describe");
}

/// Where the exports are, for those that the component has.
pub(crate) struct Exports {
    pub(crate) sections: Option<sections::GuestIndices>,
    pub(crate) variables: Option<variables::GuestIndices>,
    pub(crate) tools: Option<tools::GuestIndices>,
    pub(crate) agents: Option<agents::GuestIndices>,
    pub(crate) injections: Option<injections::GuestIndices>,
    pub(crate) watchers: Option<watchers::GuestIndices>,
    pub(crate) compaction: Option<compaction::GuestIndices>,
    pub(crate) skills: Option<skills::GuestIndices>,
    pub(crate) knowledge: Option<knowledge::GuestIndices>,
    pub(crate) subagents: Option<subagents::GuestIndices>,
    pub(crate) filters: Option<filters::GuestIndices>,
    pub(crate) settings: Option<settings::GuestIndices>,
}

impl Exports {
    /// Finds the interfaces in `names`, whose functions were checked before.
    pub(crate) fn find(component: &InstancePre<State>, names: &[String]) -> wasmtime::Result<Self> {
        fn found<T>(
            names: &[String],
            name: &str,
            find: impl FnOnce() -> wasmtime::Result<T>,
        ) -> wasmtime::Result<Option<T>> {
            let has = names.iter().any(|found| found == name);
            has.then(find).transpose()
        }
        let at = component;
        Ok(Self {
            sections: found(names, "sections", || sections::GuestIndices::new(at))?,
            variables: found(names, "variables", || variables::GuestIndices::new(at))?,
            tools: found(names, "tools", || tools::GuestIndices::new(at))?,
            agents: found(names, "agents", || agents::GuestIndices::new(at))?,
            injections: found(names, "injections", || injections::GuestIndices::new(at))?,
            watchers: found(names, "watchers", || watchers::GuestIndices::new(at))?,
            compaction: found(names, "compaction", || compaction::GuestIndices::new(at))?,
            skills: found(names, "skills", || skills::GuestIndices::new(at))?,
            knowledge: found(names, "knowledge", || knowledge::GuestIndices::new(at))?,
            subagents: found(names, "subagents", || subagents::GuestIndices::new(at))?,
            filters: found(names, "filters", || filters::GuestIndices::new(at))?,
            settings: found(names, "settings", || settings::GuestIndices::new(at))?,
        })
    }

    /// Whether no export contributes anything.
    pub(crate) fn contribute_nothing(&self) -> bool {
        self.sections.is_none()
            && self.variables.is_none()
            && self.tools.is_none()
            && self.agents.is_none()
            && self.injections.is_none()
            && self.skills.is_none()
            && self.subagents.is_none()
            && self.filters.is_none()
    }
}
