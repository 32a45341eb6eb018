//! Every limit of a plugin, and that the next call works after each.

use std::sync::Arc;
use std::time::Duration;

use raddle_core::plugins::{Caller, Environment, Fault, LimitKind, Plugin};
use raddle_wasm::{Allocation, Limits, LoadReason, Loaded, PluginSpec, Runtime, RuntimeSettings};

use crate::guest::{Guest, call, fault, faults, load, load_spec, render, spec, words};
use crate::importing::Services;

const LOOP: &str = "(loop $for_ever (br $for_ever)) (unreachable)";

fn limited(component: Vec<u8>, limits: Limits) -> PluginSpec {
    PluginSpec {
        limits,
        ..spec("guest", component)
    }
}

async fn load_briefly(guest: Guest) -> Arc<dyn Plugin> {
    let limits = Limits {
        timeout: Duration::from_millis(80),
        ..Limits::default()
    };
    load_spec(limited(guest.build(), limits)).await
}

fn limit(limit: LimitKind, allowed: &str) -> Fault {
    Fault::Limit {
        limit,
        allowed: allowed.to_owned(),
    }
}

#[tokio::test]
async fn a_loop_ends_in_every_phase() {
    let time = limit(LimitKind::Time, "80 ms");
    let nobody = Caller::default();

    let plugin = load_briefly(Guest::new().calling(LOOP).rendering("(i32.const 0)")).await;
    assert_eq!(fault(call(&*plugin, &nobody).await), time);
    assert_eq!(render(&*plugin, &nobody).await, Ok(None));

    let plugin = load_briefly(Guest::new().rendering(LOOP)).await;
    assert_eq!(fault(render(&*plugin, &nobody).await), time);

    let plugin = load_briefly(Guest::new().offer("variables", LOOP).function(
        "variables",
        "resolve",
        "(param i32) (result i32)",
        LOOP,
    ))
    .await;
    assert_eq!(fault(plugin.offer(&Environment::default()).await), time);

    let start = "(func $start (loop $for_ever (br $for_ever))) (start $start)";
    let plugin = load_briefly(Guest::new().core(start).rendering("(i32.const 0)")).await;
    let error = render(&*plugin, &nobody).await.unwrap_err();
    assert_eq!(
        (&*error.interface, &*error.fault.to_string()),
        ("component", "went over its time limit of 80 ms")
    );

    let plugin = load_briefly(Guest::new().realloc(LOOP).rendering("(i32.const 0)")).await;
    assert_eq!(fault(render(&*plugin, &nobody).await), time);
}

#[tokio::test]
async fn the_schema_of_the_settings_may_not_loop_either() {
    let guest =
        Guest::new()
            .export("settings")
            .function("settings", "describe", "(result i32)", LOOP);
    let limits = Limits {
        timeout: Duration::from_millis(80),
        ..Limits::default()
    };
    let runtime = crate::guest::runtime();
    let loaded = runtime
        .load(vec![limited(guest.build(), limits)], &())
        .await;
    assert_eq!(
        loaded.faults[0].to_string(),
        "plugin `guest` cannot say what its settings are: plugin `guest`, settings.describe: \
         went over its time limit of 80 ms"
    );
}

#[tokio::test]
async fn a_host_call_that_never_answers_is_in_the_time_limit() {
    let guest = Guest::new()
        .import("session-state")
        .core_import(
            r#"(import "raddle:plugin/session-state@0.1.1" "get"
                (func $get (param i32 i32 i32)))"#,
        )
        .rendering("(call $get (i32.const 1100) (i32.const 1) (i32.const 1024)) (i32.const 1024)");
    let limits = Limits {
        timeout: Duration::from_secs(1),
        ..Limits::default()
    };
    let plugin = load_spec(limited(guest.build(), limits)).await;
    let services = Services::stuck();
    let fault = fault(render(&*plugin, &services.caller()).await);
    assert_eq!(fault, limit(LimitKind::Time, "1 s"));
    assert!(services.was_dropped());
}

#[tokio::test]
async fn memory_may_not_grow_over_the_limit() {
    let bomb = "
        (loop $more
            (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1))
                (then
                    (i32.store8
                        (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1))
                        (i32.const 7))
                    (br $more))))
        (i32.const 0)";
    let plugin = load(
        Guest::new()
            .calling(bomb)
            .rendering("(i32.const 0)")
            .build(),
    )
    .await;
    let nobody = Caller::default();
    assert_eq!(
        fault(call(&*plugin, &nobody).await),
        limit(LimitKind::Memory, "64 MiB")
    );
    assert_eq!(render(&*plugin, &nobody).await, Ok(None));
}

#[tokio::test]
async fn a_maximum_of_its_own_only_stops_the_growth() {
    let guest = Guest::new().memory("2 3").rendering(
        "(drop (memory.grow (i32.const 100))) (drop (memory.grow (i32.const 1))) (i32.const 0)",
    );
    let plugin = load(guest.build()).await;
    assert_eq!(render(&*plugin, &Caller::default()).await, Ok(None));
}

#[tokio::test]
async fn the_initial_memory_counts() {
    let guest = Guest::new().memory("49152").rendering("(i32.const 0)");
    let told = faults(guest.build()).await;
    assert_eq!(
        told[0].reason,
        LoadReason::Memory {
            needed: "3 GiB".to_owned(),
            allowed: "64 MiB".to_owned()
        }
    );
}

#[tokio::test]
async fn memories_count_together() {
    let guest = Guest::new()
        .core("(memory $second 600) (memory $third 600)")
        .rendering("(i32.const 0)");
    let plugin = load(guest.build()).await;
    let fault = fault(render(&*plugin, &Caller::default()).await);
    assert_eq!(fault, limit(LimitKind::Memory, "64 MiB"));

    let many = "(memory 0) ".repeat(40);
    let guest = Guest::new().core(&many).rendering("(i32.const 0)");
    assert!(matches!(
        faults(guest.build()).await[0].reason,
        LoadReason::Invalid { .. }
    ));
}

#[tokio::test]
async fn tables_count_together() {
    let bomb = "(loop $more
            (br_if $more
                (i32.ne (table.grow $table (ref.null func) (i32.const 1000)) (i32.const -1))))
        (i32.const 0)";
    let plugin = load(
        Guest::new()
            .core("(table $table 1 funcref)")
            .rendering(bomb)
            .build(),
    )
    .await;
    let tables = limit(LimitKind::Tables, "100000 elements");
    assert_eq!(fault(render(&*plugin, &Caller::default()).await), tables);

    let guest = Guest::new()
        .core("(table 60000 funcref) (table 60000 funcref)")
        .rendering("(i32.const 0)");
    let plugin = load(guest.build()).await;
    assert_eq!(fault(render(&*plugin, &Caller::default()).await), tables);

    let guest = Guest::new()
        .core("(table 10000000 funcref)")
        .rendering("(i32.const 0)");
    assert!(!faults(guest.build()).await.is_empty());
}

#[tokio::test]
async fn endless_recursion_is_an_ordinary_fault() {
    let recursion = "(func $deeper (result i32) (i32.add (call $deeper) (i32.const 1)))";
    let plugin = load(
        Guest::new()
            .core(recursion)
            .rendering("(call $deeper)")
            .build(),
    )
    .await;
    let stack = limit(LimitKind::Stack, "512 KiB");
    for _ in 0..3 {
        assert_eq!(fault(render(&*plugin, &Caller::default()).await), stack);
    }
}

#[tokio::test]
async fn host_calls_made_deep_in_the_guest_have_room() {
    // Each level asks the host for something before it goes deeper.
    let guest = Guest::new()
        .import("settings-host")
        .import("session-state")
        .core_import(
            r#"(import "raddle:plugin/settings-host@0.1.1" "read" (func $read (param i32)))
            (import "raddle:plugin/session-state@0.1.1" "get"
                (func $get (param i32 i32 i32)))"#,
        )
        .core(
            "(func $deeper (param $level i32) (result i32)
                (global.set $free (i32.const 65536))
                (call $read (i32.const 1024))
                (if (i32.eqz (i32.rem_u (local.get $level) (i32.const 100)))
                    (then (call $get (i32.const 1100) (i32.const 1) (i32.const 1024))))
                (i32.add
                    (call $deeper (i32.add (local.get $level) (i32.const 1)))
                    (i32.const 1)))",
        )
        .rendering("(call $deeper (i32.const 0))");
    let plugin = load(guest.build()).await;
    let services = Services::default();
    let fault = fault(render(&*plugin, &services.caller()).await);
    assert_eq!(fault, limit(LimitKind::Stack, "512 KiB"));
}

#[tokio::test]
async fn a_huge_text_is_over_the_output_limit() {
    let output = limit(LimitKind::Output, "1 MiB");
    for bytes in [(1 << 20) + 1, 200 << 20] {
        let fill = format!(
            "(memory.fill (i32.const 65536) (i32.const 65) (i32.const {bytes})) (i32.const 1024)"
        );
        let guest = Guest::new()
            .memory("3300")
            .core(&words(1024, &[0, 1, 65536, bytes]))
            .rendering(&fill);
        let limits = Limits {
            memory: 512 << 20,
            ..Limits::default()
        };
        let plugin = load_spec(limited(guest.build(), limits)).await;
        let fault = fault(render(&*plugin, &Caller::default()).await);
        assert_eq!(fault, output, "{bytes}");
    }
}

#[tokio::test]
async fn a_text_repeated_in_a_list_counts_each_time() {
    // A thousand sections whose names are the same megabyte.
    let guest = Guest::new()
        .memory("40")
        .core(&words(1024, &[0, 1_200_000, 1000]))
        .offer(
            "sections",
            "(local $at i32)
            (memory.fill (i32.const 65536) (i32.const 65) (i32.const 1000000))
            (local.set $at (i32.const 1200000))
            (loop $more
                (i32.store (local.get $at) (i32.const 65536))
                (i32.store offset=4 (local.get $at) (i32.const 1000000))
                (local.set $at (i32.add (local.get $at) (i32.const 28)))
                (br_if $more (i32.lt_u (local.get $at) (i32.const 1228000))))
            (i32.const 1024)",
        )
        .function(
            "sections",
            "render",
            "(param i32) (result i32)",
            "(unreachable)",
        );
    let plugin = load(guest.build()).await;
    let fault = fault(plugin.offer(&Environment::default()).await);
    assert_eq!(fault, limit(LimitKind::Output, "1 MiB"));
}

#[tokio::test]
async fn a_list_of_nothing_counts_too() {
    let guest = Guest::new()
        .memory("40")
        .core(&words(1024, &[0, 65536, 80_000]))
        .offer("sections", "(i32.const 1024)")
        .function(
            "sections",
            "render",
            "(param i32) (result i32)",
            "(unreachable)",
        );
    let plugin = load(guest.build()).await;
    let fault = fault(plugin.offer(&Environment::default()).await);
    assert_eq!(fault, limit(LimitKind::Output, "1 MiB"));
}

#[tokio::test]
async fn what_host_calls_move_is_limited_together_and_alone() {
    for (bytes, times) in [(100_000, 11), (3_000_000, 1)] {
        let log = format!(
            "(local $left i32)
            (local.set $left (i32.const {times}))
            (loop $more
                (call $log (i32.const 0) (i32.const 0) (i32.const {bytes})
                    (i32.const 0) (i32.const 0))
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $more (local.get $left)))
            (i32.const 0)"
        );
        let guest = Guest::new()
            .memory("60")
            .import("log")
            .core_import(
                r#"(import "raddle:plugin/log@0.1.1" "write"
                    (func $log (param i32 i32 i32 i32 i32)))"#,
            )
            .rendering(&log);
        let limits = Limits {
            host_calls: 1 << 20,
            ..Limits::default()
        };
        let plugin = load_spec(limited(guest.build(), limits)).await;
        let fault = fault(render(&*plugin, &Caller::default()).await);
        assert_eq!(fault, limit(LimitKind::HostCalls, "1 MiB"), "{bytes}");
    }
}

#[tokio::test]
async fn limits_hold_without_a_pool() {
    let runtime = Runtime::new(&RuntimeSettings {
        allocation: Allocation::OnDemand,
        ..RuntimeSettings::default()
    })
    .unwrap();
    let bomb = "(loop $more (br_if $more
            (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
        (i32.const 0)";
    let guests = [
        Guest::new().rendering("(i32.const 0)").build(),
        Guest::new().rendering(bomb).build(),
        Guest::new()
            .core("(memory $second 600) (memory $third 600)")
            .rendering("(i32.const 0)")
            .build(),
    ];
    let specs = guests.into_iter().map(|guest| spec("guest", guest));
    let Loaded { plugins, faults } = runtime.load(specs.collect(), &()).await;
    assert_eq!(faults, []);
    let nobody = Caller::default();
    assert_eq!(render(&*plugins[0], &nobody).await, Ok(None));
    let memory = limit(LimitKind::Memory, "64 MiB");
    assert_eq!(fault(render(&*plugins[1], &nobody).await), memory);
    assert_eq!(fault(render(&*plugins[2], &nobody).await), memory);
}
