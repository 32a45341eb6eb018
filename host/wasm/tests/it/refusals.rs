//! Components that do not load, and what is said about them.

use std::path::PathBuf;

use raddle_wasm::grants::{Access, Directory, Grants, HttpHost, ProcessGrant, WorkspaceGrant};
use raddle_wasm::{ComponentSource, LoadReason};

use crate::guest::{Guest, faults, messages, runtime, spec};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/wasm")
}

/// A case as bytes: text is assembled.
fn case(name: &str) -> Vec<u8> {
    let bytes = std::fs::read(fixtures().join(name)).unwrap();
    if name.ends_with(".wat") {
        wat::parse_bytes(&bytes).unwrap().into_owned()
    } else {
        bytes
    }
}

/// A component that is fine.
fn good() -> Vec<u8> {
    Guest::new().rendering("(i32.const 0)").build()
}

#[tokio::test]
async fn every_case_is_refused_as_it_is() {
    let mut names: Vec<String> = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names.len(), 13);
    for name in names {
        let told = faults(case(&name)).await;
        assert!(!told.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn what_is_no_component_is_named() {
    let reason = |case: Vec<u8>| async { faults(case).await.remove(0).reason };
    assert_eq!(
        reason(case("15-core-module-not-component.wat")).await,
        LoadReason::CoreModule
    );
    assert_eq!(reason(case("18-empty-file.wasm")).await, LoadReason::Empty);
    assert_eq!(reason(case("21-zeros.wasm")).await, LoadReason::NotWasm);
    assert_eq!(
        reason(b";; text\n(component)".to_vec()).await,
        LoadReason::Text
    );
    let noise: Vec<u8> = (0..4096_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    assert_eq!(reason(noise.clone()).await, LoadReason::NotWasm);
    let mut after_preamble = b"\0asm\x0d\0\x01\0".to_vec();
    after_preamble.extend(noise);
    assert!(matches!(
        reason(after_preamble).await,
        LoadReason::Invalid { .. }
    ));
    assert_eq!(
        messages(case("15-core-module-not-component.wat")).await,
        [
            "plugin `guest` is a core module; a component is needed (build for wasm32-wasip2, or \
          encode the module as a component)"
        ]
    );
}

#[tokio::test]
async fn a_truncated_component_is_refused_wherever_it_ends() {
    let whole = good();
    for length in (0..whole.len()).step_by(29) {
        assert!(!faults(&whole[..length]).await.is_empty(), "{length}");
    }
}

#[tokio::test]
async fn a_component_that_contributes_nothing_is_told_what_it_could_export() {
    for name in ["16-export-missing.wat", "19-truncated-component.wasm"] {
        assert_eq!(
            messages(case(name)).await,
            [
                "plugin `guest` exports no interface of the plugin contract; it can export \
              raddle:plugin/{sections, variables, tools, agents, injections, watchers, \
              compaction, skills, knowledge, subagents, filters, settings}@0.1.1"
            ]
        );
    }
}

#[tokio::test]
async fn a_missing_file_is_named() {
    let mut missing = spec("gone", []);
    missing.component = ComponentSource::File("/nowhere/gone.wasm".into());
    let loaded = runtime().load(vec![missing], &()).await;
    let told = loaded.faults[0].to_string();
    assert!(
        told.starts_with("plugin `gone` cannot be read: /nowhere/gone.wasm: "),
        "{told}"
    );
}

#[tokio::test]
async fn an_import_that_nobody_serves_is_named_with_its_version() {
    let told = messages(case("13-unknown-import.wat")).await;
    assert!(
        told[0].starts_with(
            "plugin `guest` imports example:missing/thing@9.9.9, which is not served; served are \
             raddle:plugin/{types, log, "
        ),
        "{told:?}"
    );
    let told = messages(
        Guest::new()
            .edit("interface log {", "interface logging {")
            .edit("import log;", "import logging;")
            .import("logging")
            .export("sections")
            .dummy(),
    )
    .await;
    assert!(told[0].contains("imports raddle:plugin/logging@0.1.1, which is not served"));
}

#[tokio::test]
async fn another_version_is_told_which_is_served() {
    let newer = |guest: Guest| {
        guest
            .edit("raddle:plugin@0.1.1", "raddle:plugin@0.2.0")
            .dummy()
    };
    let told = messages(newer(
        Guest::new().world("export raddle:plugin/variables@0.2.0;"),
    ))
    .await;
    assert_eq!(
        told,
        [
            "plugin `guest` imports raddle:plugin/types@0.2.0, and this version serves \
             raddle:plugin@0.1.0 and raddle:plugin@0.1.1; build it against one of these",
            "plugin `guest` exports raddle:plugin/variables@0.2.0, and this version serves \
             raddle:plugin@0.1.0 and raddle:plugin@0.1.1; build it against one of these",
        ]
    );
    let told = messages(newer(
        Guest::new().world("import raddle:plugin/settings-host@0.2.0;"),
    ))
    .await;
    assert!(
        told[0].starts_with("plugin `guest` imports raddle:plugin/settings-host@0.2.0, and"),
        "{told:?}"
    );
}

#[tokio::test]
async fn an_unknown_interface_of_the_contract_is_refused() {
    let told = messages(
        Guest::new()
            .edit("interface agents {", "interface actors {")
            .edit("export agents;", "export actors;")
            .export("actors")
            .dummy(),
    )
    .await;
    assert_eq!(
        told,
        [
            "plugin `guest` exports raddle:plugin/actors@0.1.1, which this version does not have; it \
          has raddle:plugin/{sections, variables, tools, agents, injections, watchers, \
              compaction, skills, knowledge, subagents, filters, settings}@0.1.1"
        ]
    );
}

#[tokio::test]
async fn a_function_of_another_type_is_named() {
    let guest = Guest::new()
        .edit(
            "resolve: func(name: string, context: context) -> result<option<string>, error>;",
            "resolve: func(name: string, context: context) -> result<string, error>;",
        )
        .export("variables");
    let told = messages(guest.dummy()).await;
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with(
            "plugin `guest` exports `resolve` of raddle:plugin/variables@0.1.1 with another type \
             than the contract's: "
        ),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_record_or_enum_of_another_time_is_found_in_every_function() {
    let guest = Guest::new()
        .edit(
            "    /// Asked for before every model request.\n    step,\n",
            "",
        )
        .export("sections")
        .export("variables");
    let told = messages(guest.dummy()).await;
    assert_eq!(told.len(), 2);
    assert!(told[0].contains("`offer` of raddle:plugin/sections@0.1.1"));
    assert!(told[1].contains("`offer` of raddle:plugin/variables@0.1.1"));
}

#[tokio::test]
async fn a_missing_function_is_named() {
    let guest = Guest::new()
        .edit(
            "call: func(invocation: invocation, context: context) -> result<outcome, error>;",
            "",
        )
        .export("tools");
    assert_eq!(
        messages(guest.dummy()).await,
        ["plugin `guest` exports raddle:plugin/tools@0.1.1 without its function `call`"]
    );
}

#[tokio::test]
async fn an_import_of_another_type_is_named() {
    let guest = Guest::new()
        .edit("read: func() -> string;", "read: func() -> u32;")
        .import("settings-host")
        .export("sections");
    let told = messages(guest.dummy()).await;
    assert!(
        told[0].contains("raddle:plugin/settings-host@0.1.1") && told[0].contains("`read`"),
        "{told:?}"
    );
}

#[tokio::test]
async fn an_ungranted_import_names_the_line_to_add() {
    let guest = Guest::new()
        .import("workspace")
        .import("process")
        .export("tools")
        .dummy();
    assert_eq!(
        messages(guest.clone()).await,
        [
            "plugin `guest` imports raddle:plugin/process without a grant; to allow it, add \
             `grants.process = { programs = [\"…\"], cwd = \"<session>\" }` under \
             `[plugins.guest]`",
            "plugin `guest` imports raddle:plugin/workspace without a grant; to allow it, add \
             `grants.workspace = [{ dir = \"<session>\", mode = \"ro\" }]` under \
             `[plugins.guest]`",
        ]
    );
    let mut granted = spec("guest", guest);
    granted.grants = Grants {
        workspace: vec![WorkspaceGrant {
            directory: Directory::Session,
            access: Access::Read,
        }],
        process: Some(ProcessGrant {
            programs: vec!["true".to_owned()],
            directory: Directory::Session,
            environment: Vec::new(),
            ..ProcessGrant::default()
        }),
        ..Grants::default()
    };
    let loaded = runtime().load(vec![granted], &()).await;
    assert_eq!(loaded.faults, []);
    assert_eq!(loaded.plugins[0].info().imports, ["process", "workspace"]);
}

#[tokio::test]
async fn requests_need_a_grant_too() {
    let text = r#"(component
        (import "wasi:http/outgoing-handler@0.2.3" (instance))
        (import "wasi:http/types@0.2.3" (instance)))"#;
    let guest = wat::parse_str(text).unwrap();
    let told = messages(guest.clone()).await;
    assert_eq!(
        told[0],
        "plugin `guest` imports wasi:http without a grant; to allow it, add `grants.http = { \
         hosts = [\"…\"] }` under `[plugins.guest]`"
    );
    let mut granted = spec("guest", guest);
    granted.grants.http = vec![HttpHost::parse("example.com").unwrap()];
    let loaded = runtime().load(vec![granted], &()).await;
    assert!(matches!(
        loaded.faults[..],
        [raddle_wasm::LoadFault {
            reason: LoadReason::NothingExported { .. },
            ..
        }]
    ));
}

#[tokio::test]
async fn all_faults_of_all_plugins_come_at_once_and_the_good_ones_load() {
    let bad = Guest::new()
        .edit(
            "resolve: func(name: string, context: context) -> result<option<string>, error>;",
            "",
        )
        .import("process")
        .export("variables")
        .dummy();
    let specs = vec![
        spec("one", good()),
        spec("two", bad),
        spec("three", case("18-empty-file.wasm")),
        spec("four", good()),
    ];
    let loaded = runtime().load(specs, &()).await;
    let ids: Vec<_> = loaded
        .plugins
        .iter()
        .map(|plugin| &plugin.info().id)
        .collect();
    assert_eq!(ids, ["one", "four"]);
    let told: Vec<_> = loaded.faults.iter().map(|fault| &*fault.plugin).collect();
    assert_eq!(told, ["two", "two", "three"]);
}

#[tokio::test]
async fn a_component_can_be_inspected_without_grants() {
    let guest = Guest::new().import("process").export("tools").dummy();
    let info = runtime()
        .inspect(&ComponentSource::Bytes(guest.into()))
        .unwrap();
    let exports: Vec<_> = info.exports.iter().map(|export| &*export.name).collect();
    assert_eq!(exports, ["raddle:plugin/tools"]);
    assert_eq!(info.exports[0].functions, ["call", "offer"]);
    assert_eq!(info.exports[0].version.as_deref(), Some("0.1.1"));
    assert_eq!(info.imports[0].name, "raddle:plugin/process");
    assert!(info.imports[0].grant.unwrap().starts_with("grants.process"));
    let core = ComponentSource::Bytes(case("15-core-module-not-component.wat").into());
    assert_eq!(
        runtime().inspect(&core).unwrap_err(),
        LoadReason::CoreModule
    );
}
