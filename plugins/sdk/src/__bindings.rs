//! Bindings generated from `wit/`.
//!
//! One world holds every import; each export has a world of its own. The description of an
//! export is emitted where its macro is used, so that a plugin exports what it names in
//! [`export!`](crate::export) and nothing else; unused imports are dropped by the linker.

/// All imports, and the types every interface shares.
pub mod imports {
    wit_bindgen::generate!({
        path: "../../wit",
        inline: "
            package raddle:sdk;
            world imports {
                import raddle:plugin/types@0.1.1;
                import raddle:plugin/log@0.1.1;
                import raddle:plugin/settings-host@0.1.1;
                import raddle:plugin/session-state@0.1.1;
                import raddle:plugin/progress@0.1.1;
                import raddle:plugin/tasks@0.1.1;
                import raddle:plugin/inject@0.1.1;
                import raddle:plugin/workspace@0.1.1;
                import raddle:plugin/process@0.1.1;
                import raddle:plugin/model@0.1.1;
                import raddle:plugin/skills-host@0.1.1;
                import raddle:plugin/sessions@0.1.1;
            }
        ",
        world: "imports",
        generate_all,
        generate_unused_types: true,
        additional_derives: [PartialEq, Eq, Clone],
    });
}

/// Generates the module of one export: its `Guest` trait, its types, and its `export!` macro.
macro_rules! export_world {
    ($module:ident, $inline:literal) => {
        #[doc(hidden)]
        pub mod $module {
            wit_bindgen::generate!({
                path: "../../wit",
                inline: $inline,
                generate_all,
                with: { "raddle:plugin/types@0.1.1": crate::types },
                additional_derives: [PartialEq, Eq, Clone],
                pub_export_macro: true,
            });
        }
    };
}

export_world!(
    sections,
    "package raddle:sdk; world sections { export raddle:plugin/sections@0.1.1; }"
);
export_world!(
    variables,
    "package raddle:sdk; world variables { export raddle:plugin/variables@0.1.1; }"
);
export_world!(
    tools,
    "package raddle:sdk; world tools { export raddle:plugin/tools@0.1.1; }"
);
export_world!(
    agents,
    "package raddle:sdk; world agents { export raddle:plugin/agents@0.1.1; }"
);
export_world!(
    injections,
    "package raddle:sdk; world injections { export raddle:plugin/injections@0.1.1; }"
);
export_world!(
    watchers,
    "package raddle:sdk; world watchers { export raddle:plugin/watchers@0.1.1; }"
);
export_world!(
    subagents,
    "package raddle:sdk; world subagents { export raddle:plugin/subagents@0.1.1; }"
);
export_world!(
    filters,
    "package raddle:sdk; world filters { export raddle:plugin/filters@0.1.1; }"
);
export_world!(
    compaction,
    "package raddle:sdk; world compaction { export raddle:plugin/compaction@0.1.1; }"
);
export_world!(
    skills,
    "package raddle:sdk; world skills { export raddle:plugin/skills@0.1.1; }"
);
export_world!(
    knowledge,
    "package raddle:sdk; world knowledge { export raddle:plugin/knowledge@0.1.1; }"
);
export_world!(
    settings,
    "package raddle:sdk; world settings { import raddle:plugin/types@0.1.1; export raddle:plugin/settings@0.1.1; }"
);
