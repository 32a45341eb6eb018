//! The contract as Rust types, generated from the union world. Imports that never wait are
//! synchronous, which saves a switch to the call's own stack. The struct generated for the whole
//! world is not used: it demands every export, and a plugin has only some.

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "host",
    imports: {
        "raddle:plugin/log": trappable,
        "raddle:plugin/settings-host.read": trappable,
        "raddle:plugin/progress": trappable,
        "raddle:plugin/tasks": trappable,
        "raddle:plugin/skills-host": trappable,
        default: async | trappable,
    },
    exports: { default: async },
});

pub(crate) use exports::raddle::plugin::{
    agents, compaction, filters, injections, knowledge, sections, settings, skills, subagents,
    tools, variables, watchers,
};
pub(crate) use raddle::plugin::{
    inject, log, model, process, progress, session_state, sessions, settings_host, skills_host,
    tasks, types, workspace,
};
