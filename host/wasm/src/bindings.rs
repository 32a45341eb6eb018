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
        default: async | trappable,
    },
    exports: { default: async },
});

pub(crate) use exports::raddle::plugin::{
    agents, injections, sections, settings, tools, variables,
};
pub(crate) use raddle::plugin::{
    inject, log, process, progress, session_state, settings_host, tasks, types, workspace,
};
