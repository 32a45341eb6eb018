//! The engine all plugins share: how instances are allocated, and the clock that interrupts them.

use std::thread;
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig,
};

use crate::limits::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES, MAX_WASM_STACK};

/// Instances that may exist at once; further calls wait for one to end. The pool holds the most
/// memories and tables that so many instances may have, so it never runs out.
pub(crate) const MAX_INSTANCES: u32 = 256;

/// Of these, as many may wait for children: the others are left to those who work.
pub(crate) const MAX_WAITING_FOR_CHILDREN: usize = 96;

/// Elements of one pooled table.
const POOLED_TABLE_ELEMENTS: usize = 100_000;

/// Bytes of a pooled memory that stay resident for the next instance.
const KEPT_RESIDENT: usize = 2 << 20;

/// Bytes of a pooled table that are cleared in place: giving back its one page costs more.
const TABLE_KEPT_RESIDENT: usize = 16 << 10;

/// How often a running guest looks at the clock, and lets other tasks run.
const TICK: Duration = Duration::from_millis(10);

/// Where instances live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Allocation {
    /// In a pool reserved in advance, which makes a fresh instance cost microseconds; on demand
    /// where the system refuses the reservation.
    #[default]
    Pooled,
    /// Each in memory of its own, mapped when it starts.
    OnDemand,
}

/// An engine for `allocation`, with a thread that ticks until the engine is gone.
pub(crate) fn build(allocation: Allocation) -> wasmtime::Result<Engine> {
    let engine = match allocation {
        Allocation::Pooled => Engine::new(config().allocation_strategy(pool())).or_else(|error| {
            tracing::warn!(%error, "no pool for plugin instances; they are allocated on demand");
            Engine::new(&config())
        }),
        Allocation::OnDemand => Engine::new(&config()),
    }?;
    let ticked = engine.weak();
    thread::Builder::new()
        .name("raddle-wasm-tick".to_owned())
        .spawn(move || tick(&ticked))
        .map_err(wasmtime::Error::from)?;
    Ok(engine)
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(MAX_WASM_STACK)
        // Host calls run on the rest: an overflow of the guest is an ordinary trap.
        .async_stack_size(MAX_WASM_STACK + (2 << 20))
        // The contract has plain functions only.
        .concurrency_support(false)
        .memory_init_cow(true)
        // Smaller artifacts that load faster; traps still name their kind and the functions.
        .generate_address_map(false);
    #[cfg(unix)]
    config.native_unwind_info(false);
    config
}

fn pool() -> InstanceAllocationStrategy {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(MAX_INSTANCES)
        .total_stacks(MAX_INSTANCES)
        .total_core_instances(MAX_INSTANCES * MAX_CORE_INSTANCES)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .total_memories(MAX_INSTANCES * MAX_MEMORIES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_memories_per_module(MAX_MEMORIES)
        .total_tables(MAX_INSTANCES * MAX_TABLES)
        .max_tables_per_component(MAX_TABLES)
        .max_tables_per_module(MAX_TABLES)
        .table_elements(POOLED_TABLE_ELEMENTS)
        .linear_memory_keep_resident(KEPT_RESIDENT)
        .table_keep_resident(TABLE_KEPT_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    InstanceAllocationStrategy::Pooling(pool)
}

fn tick(engine: &EngineWeak) {
    while let Some(engine) = engine.upgrade() {
        engine.increment_epoch();
        drop(engine);
        thread::sleep(TICK);
    }
}
