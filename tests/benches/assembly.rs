//! What one step pays for its prompt: 20 plugins, 60 sections, 40 variables, 20 tools; five of the
//! variables live for one step only, in five plugins, and are really asked for.

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use raddle_core::digest::Digest;
use raddle_core::plugins::{
    Caller, Content, Context, Environment, Invocation, Lifetime, Offer, Outcome, Plugin,
    PluginError, PluginInfo, Question, Reply, Section, Tool, Variable,
};
use raddle_core::prompt::{Prompt, PromptOptions};
use raddle_core::registry::{Registry, RegistryOptions, contributions};
use raddle_tests::{good, guest};
use raddle_wasm::grants::Grants;
use raddle_wasm::{ComponentSource, Limits, PluginSpec, Runtime, RuntimeSettings};
use serde_json::json;
use tokio::runtime::Handle;

const PLUGINS: usize = 20;
/// Plugins whose variable has to be asked for before every request.
const ASKED: usize = 5;

criterion_group!(benches, step, first);
criterion_main!(benches);

/// A step in the middle of a session: nothing but the five variables is asked for.
fn step(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("assembly/step");
    for (name, registry) in registries(runtime.handle()) {
        let mut prompt = prompt(&registry);
        let caller = Caller::default();
        let mut step = 0;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                step += 1;
                let context = context(step);
                let assembly = prompt.assemble(&context, &caller);
                let assembly = good(runtime.block_on(assembly));
                // Each of the five is another value than before.
                assert_eq!(assembly.tail.len(), ASKED);
                assembly
            });
        });
    }
    group.finish();
}

/// The first step of a session: everything is rendered.
fn first(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("assembly/first");
    for (name, registry) in registries(runtime.handle()) {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut prompt = prompt(&registry);
                good(runtime.block_on(prompt.assemble(&context(1), &Caller::default())))
            });
        });
    }
    group.finish();
}

/// The same deployment twice: all plugins in memory, and the five that are asked as components.
fn registries(runtime: &Handle) -> [(&'static str, Arc<Registry>); 2] {
    let memory: Vec<Arc<dyn Plugin>> = (0..PLUGINS).map(in_memory).collect();
    let asked = runtime.block_on(components());
    let silent = (0..ASKED).map(without_variables);
    let mixed: Vec<_> = silent
        .chain(memory[ASKED..].iter().cloned())
        .chain(asked)
        .collect();
    let build = |plugins: &[Arc<dyn Plugin>]| {
        let environment = Environment::default();
        let options = RegistryOptions::default();
        Arc::new(good(runtime.block_on(contributions(
            plugins,
            &environment,
            &options,
        ))))
    };
    [("memory", build(&memory)), ("components", build(&mixed))]
}

fn prompt(registry: &Arc<Registry>) -> Prompt {
    good(Prompt::new(
        Arc::clone(registry),
        None,
        PromptOptions::default(),
    ))
}

fn context(step: u32) -> Context {
    Context {
        model: Some("bench".to_owned()),
        session: Some("s".to_owned()),
        turn: Some(1),
        step: Some(step),
        ..Context::default()
    }
}

/// The components of the five step-lived variables.
async fn components() -> Vec<Arc<dyn Plugin>> {
    let runtime = good(Runtime::new(&RuntimeSettings::default()));
    let specs = (0..ASKED).map(|number| PluginSpec {
        id: format!("step{number}"),
        source: "guest:step".to_owned(),
        component: ComponentSource::File(guest("step")),
        digest: None,
        settings: json!({ "variable": step_variable(number) }),
        directory: Path::new("/").to_owned(),
        grants: Grants::default(),
        limits: Limits::default(),
    });
    let loaded = runtime.load(specs.collect(), &()).await;
    assert_eq!(loaded.faults, []);
    loaded.plugins
}

fn step_variable(number: usize) -> String {
    format!("step_{number}")
}

/// A plugin in memory: three sections, two variables, one tool.
struct InMemory {
    info: PluginInfo,
    offer: Offer,
}

fn in_memory(number: usize) -> Arc<dyn Plugin> {
    let mut offer = offer(number);
    let (name, lifetime, content) = match number < ASKED {
        true => (step_variable(number), Lifetime::Step, Content::Computed),
        false => {
            let value = Content::Fixed(format!("value {number}"));
            (format!("other_{number}"), Lifetime::Session, value)
        }
    };
    offer.variables.push(Variable {
        name,
        lifetime,
        content,
    });
    plugin(number, offer)
}

/// The same, its step-lived variable left to a component.
fn without_variables(number: usize) -> Arc<dyn Plugin> {
    plugin(number, offer(number))
}

fn plugin(number: usize, offer: Offer) -> Arc<dyn Plugin> {
    let id = format!("p{number}");
    Arc::new(InMemory {
        info: PluginInfo {
            source: id.clone(),
            digest: Digest::of(&id),
            configuration: Digest::of(""),
            data: Digest::of(""),
            id,
            exports: Vec::new(),
            imports: Vec::new(),
        },
        offer,
    })
}

fn offer(number: usize) -> Offer {
    let words = "Check the marker on every result, and prefer the tool to the shell. ".repeat(4);
    let section = |part: &str, order: usize, text: String| Section {
        name: format!("s{number}{part}"),
        order: i32::try_from(order + number).unwrap_or_default(),
        verbatim: false,
        lifetime: Lifetime::Session,
        content: Content::Fixed(text),
    };
    let next = (number + 1) % PLUGINS;
    let mut sections = vec![
        section("a", 100, format!("{words} <<fixed_{number}>>")),
        section(
            "b",
            200,
            format!("{words} <<fixed_{number}>> and <<fixed_{next}>>"),
        ),
        section("c", 300, format!("Now <<fixed_{number}>>.")),
    ];
    if number < ASKED {
        sections[2].lifetime = Lifetime::Step;
        sections[2].content = Content::Fixed(format!("Now <<{}>>.", step_variable(number)));
    }
    Offer {
        injections: Vec::new(),
        skills: Vec::new(),
        providers: Vec::new(),
        filters: Vec::new(),
        sections,
        variables: vec![Variable {
            name: format!("fixed_{number}"),
            lifetime: Lifetime::Session,
            content: Content::Fixed(format!("value-{number}")),
        }],
        tools: vec![Tool {
            name: format!("tool_{number}"),
            description: words,
            parameters: json!({
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "b": {"type": "number"},
                    "c": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["a"],
            }),
            guidance: None,
            hints: Vec::new(),
        }],
        agents: Vec::new(),
    }
}

impl Plugin for InMemory {
    fn info(&self) -> &PluginInfo {
        &self.info
    }

    fn offer<'a>(
        &'a self,
        _environment: &'a Environment,
    ) -> BoxFuture<'a, Result<Offer, PluginError>> {
        async { Ok(self.offer.clone()) }.boxed()
    }

    fn answer<'a>(
        &'a self,
        questions: &'a [Question],
        context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, PluginError>> {
        let answer = |_: &Question| context.step.map(|step| format!("step {step}"));
        async move { Ok(questions.iter().map(answer).collect()) }.boxed()
    }

    fn call<'a>(
        &'a self,
        _invocation: &'a Invocation,
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, PluginError>> {
        async { Ok(Outcome::Done(Reply::default())) }.boxed()
    }
}

fn runtime() -> tokio::runtime::Runtime {
    good(
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build(),
    )
}
