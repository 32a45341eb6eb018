//! What isolation costs: a call into a fresh instance of a component beside raw wasmtime doing the
//! same, and loading 20 components whose compiled code is cached.

use std::path::{Path, PathBuf};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use raddle_core::plugins::{Caller, Context, Question};
use raddle_tests::{good, guest, standard, temporary_folder};
use raddle_wasm::grants::Grants;
use raddle_wasm::{ComponentSource, Limits, Loaded, PluginSpec, Runtime, RuntimeSettings};
use serde_json::{Value, json};
use wasmtime::component::{Component, Linker, ResourceTable};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use bindings::{GuestPre, raddle::plugin::types};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package raddle:bench;
            world guest { export raddle:plugin/variables@0.1.1; }
        ",
        world: "raddle:bench/guest",
        exports: { default: async },
    });
}

const PLUGINS: usize = 20;
const VARIABLE: &str = "step";
const STEP: u32 = 7;
const VALUE: &str = "step 7";

criterion_group!(benches, call, load);
criterion_main!(benches);

/// One variable asked for.
fn call(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("plugin/call");

    let raw = good(Raw::load(&guest("step")));
    group.bench_function("wasmtime", |bencher| {
        bencher.iter(|| {
            let value = good(runtime.block_on(raw.resolve()));
            assert_eq!(value.as_deref(), Some(VALUE));
        });
    });

    let plugins = good(Runtime::new(&RuntimeSettings::default()));
    let settings = json!({ "variable": VARIABLE });
    let specs = vec![spec(VARIABLE.to_owned(), guest("step"), settings)];
    let loaded = runtime.block_on(plugins.load(specs, &()));
    assert_eq!(loaded.faults, []);
    let plugin = &loaded.plugins[0];
    let questions = [Question::Variable(VARIABLE.to_owned())];
    let context = Context {
        step: Some(STEP),
        ..Context::default()
    };
    let caller = Caller::default();
    group.bench_function("raddle", |bencher| {
        bencher.iter(|| {
            let answer = plugin.answer(&questions, &context, &caller);
            let values = good(runtime.block_on(answer));
            assert_eq!(values[0].as_deref(), Some(VALUE));
        });
    });
    group.finish();
}

/// From nothing to 20 plugins that can be called, the parts apart.
fn load(criterion: &mut Criterion) {
    let runtime = runtime();
    let folder = temporary_folder();
    let settings = RuntimeSettings {
        cache_dir: Some(folder.path().to_owned()),
        ..RuntimeSettings::default()
    };
    criterion.bench_function("plugin/runtime", |bencher| {
        bencher.iter_batched(
            || (),
            |()| good(Runtime::new(&settings)),
            BatchSize::PerIteration,
        );
    });
    let plugins = good(Runtime::new(&settings));
    let load = || -> Loaded { runtime.block_on(plugins.load(specs(), &())) };
    assert_eq!(load().faults, []);
    criterion.bench_function("plugin/load", |bencher| bencher.iter(load));
}

/// Three components, one of them in many instances with settings of their own.
fn specs() -> Vec<PluginSpec> {
    let persona = json!({ "agent": "a", "text": "You are <<agent>>." });
    let others = [("persona", persona), ("facts", json!({}))];
    let texts = (others.len()..PLUGINS).map(|number| {
        let section = json!({ "name": format!("s{number}"), "order": number, "text": "Words." });
        let settings = json!({ "sections": [section] });
        spec(format!("text{number}"), standard("text"), settings)
    });
    others
        .into_iter()
        .map(|(name, settings)| spec(name.to_owned(), standard(name), settings))
        .chain(texts)
        .collect()
}

fn spec(id: String, component: PathBuf, settings: Value) -> PluginSpec {
    PluginSpec {
        source: component.display().to_string(),
        id,
        component: ComponentSource::File(component),
        digest: None,
        settings,
        directory: Path::new("/").to_owned(),
        grants: Grants::default(),
        limits: Limits::default(),
    }
}

/// The least that wasmtime needs for the same call.
struct Raw {
    engine: Engine,
    guest: GuestPre<RawState>,
}

struct RawState {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for RawState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl Raw {
    fn load(path: &Path) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config
            .allocation_strategy(InstanceAllocationStrategy::pooling())
            .concurrency_support(false)
            .epoch_interruption(true);
        let engine = Engine::new(&config)?;
        let component = Component::from_file(&engine, path)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        linker.define_unknown_imports_as_traps(&component)?;
        let guest = GuestPre::new(linker.instantiate_pre(&component)?)?;
        Ok(Self { engine, guest })
    }

    async fn resolve(&self) -> wasmtime::Result<Option<String>> {
        let state = RawState {
            wasi: WasiCtx::builder().build(),
            table: ResourceTable::new(),
        };
        let mut store = Store::new(&self.engine, state);
        store.set_epoch_deadline(1);
        let context = types::Context {
            agent: None,
            model: None,
            prompt_variant: None,
            session: None,
            cwd: None,
            turn: None,
            step: Some(STEP),
            now: None,
            facts: Vec::new(),
        };
        let guest = self.guest.instantiate_async(&mut store).await?;
        let variables = guest.raddle_plugin_variables();
        let answer = variables
            .call_resolve(&mut store, VARIABLE, &context)
            .await?;
        answer.map_err(|error| wasmtime::Error::msg(format!("{error:?}")))
    }
}

fn runtime() -> tokio::runtime::Runtime {
    good(
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build(),
    )
}
