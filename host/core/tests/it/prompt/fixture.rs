//! A plugin in memory, and short ways to say what it offers.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt, ready};
use raddle_core::digest::Digest;
use raddle_core::plugins::{
    Agent, AssemblyEdit, Caller, Content, Context, Environment, Fact, Fault, FilteredAssembly,
    Guidance, Invocation, Lifetime, Offer, Outcome, Plugin, PluginError, PluginInfo, Question,
    Section, Tool, Variable,
};
use raddle_core::prompt::{Assembly, Prompt, PromptError, PromptOptions};
use raddle_core::registry::{Registry, RegistryFault, RegistryOptions, contributions};
use serde_json::json;

type Offering = Box<dyn Fn(&Environment) -> Result<Offer, PluginError> + Send + Sync>;
type Answering =
    Box<dyn Fn(&Question, &Context) -> Result<Option<String>, PluginError> + Send + Sync>;

type Editing = Box<dyn Fn(&str, &FilteredAssembly, &Context) -> Vec<AssemblyEdit> + Send + Sync>;

/// A plugin in memory that remembers what it was asked.
pub(super) struct TestPlugin {
    info: PluginInfo,
    offering: Offering,
    answering: Answering,
    editing: Mutex<Option<Editing>>,
    asked: Mutex<Vec<(Vec<Question>, Context)>>,
}

/// A plugin that offers the same in every environment and answers nothing.
pub(super) fn plugin(id: &str, offer: Offer) -> Arc<TestPlugin> {
    answering(id, offer, |_, _| None)
}

/// A plugin that offers the same in every environment.
pub(super) fn answering(
    id: &str,
    offer: Offer,
    answer: impl Fn(&Question, &Context) -> Option<String> + Send + Sync + 'static,
) -> Arc<TestPlugin> {
    build(
        id,
        move |_| Ok(offer.clone()),
        move |question, context| Ok(answer(question, context)),
    )
}

/// A plugin that offers what its environment lets it.
pub(super) fn offering(
    id: &str,
    offer: impl Fn(&Environment) -> Offer + Send + Sync + 'static,
) -> Arc<TestPlugin> {
    build(
        id,
        move |environment| Ok(offer(environment)),
        |_, _| Ok(None),
    )
}

/// A plugin that filters assemblies.
pub(super) fn filtering(
    id: &str,
    offer: Offer,
    edit: impl Fn(&str, &FilteredAssembly, &Context) -> Vec<AssemblyEdit> + Send + Sync + 'static,
) -> Arc<TestPlugin> {
    let filter = plugin(id, offer);
    *filter.editing.lock().unwrap() = Some(Box::new(edit));
    filter
}

pub(super) fn build(
    id: &str,
    offer: impl Fn(&Environment) -> Result<Offer, PluginError> + Send + Sync + 'static,
    answer: impl Fn(&Question, &Context) -> Result<Option<String>, PluginError> + Send + Sync + 'static,
) -> Arc<TestPlugin> {
    Arc::new(TestPlugin {
        info: PluginInfo {
            id: id.to_owned(),
            source: format!("test:{id}"),
            digest: Digest::of(id),
            configuration: Digest::of(""),
            data: Digest::of(""),
            exports: Vec::new(),
            imports: Vec::new(),
        },
        offering: Box::new(offer),
        answering: Box::new(answer),
        editing: Mutex::default(),
        asked: Mutex::default(),
    })
}

impl TestPlugin {
    /// What was asked since the last look: one entry for each call.
    pub(super) fn asked(&self) -> Vec<Vec<Question>> {
        self.asked_with()
            .into_iter()
            .map(|(questions, _)| questions)
            .collect()
    }

    pub(super) fn asked_with(&self) -> Vec<(Vec<Question>, Context)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl Plugin for TestPlugin {
    fn info(&self) -> &PluginInfo {
        &self.info
    }

    fn offer<'a>(
        &'a self,
        environment: &'a Environment,
    ) -> BoxFuture<'a, Result<Offer, PluginError>> {
        ready((self.offering)(environment)).boxed()
    }

    fn edit_assembly<'a>(
        &'a self,
        name: &'a str,
        assembly: &'a FilteredAssembly,
        context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<AssemblyEdit>, PluginError>> {
        let editing = self.editing.lock().unwrap();
        let edit = editing.as_ref().unwrap();
        ready(Ok(edit(name, assembly, context))).boxed()
    }

    fn answer<'a>(
        &'a self,
        questions: &'a [Question],
        context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, PluginError>> {
        self.asked
            .lock()
            .unwrap()
            .push((questions.to_vec(), context.clone()));
        let answers = questions
            .iter()
            .map(|question| (self.answering)(question, context));
        ready(answers.collect()).boxed()
    }

    fn call<'a>(
        &'a self,
        _invocation: &'a Invocation,
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, PluginError>> {
        ready(Ok(Outcome::Done(Default::default()))).boxed()
    }
}

pub(super) fn trap(plugin: &str) -> PluginError {
    PluginError {
        plugin: plugin.to_owned(),
        interface: "variables".to_owned(),
        function: "resolve".to_owned(),
        fault: Fault::Trap {
            message: "unreachable".to_owned(),
        },
    }
}

/// What is offered, put together piece by piece.
pub(super) fn offer() -> Offer {
    Offer::default()
}

pub(super) trait Offers: Sized {
    fn section(self, name: &str, order: i32, text: &str) -> Self;
    fn section_of(self, name: &str, order: i32, lifetime: Lifetime, text: &str) -> Self;
    fn verbatim(self, name: &str, order: i32, text: &str) -> Self;
    fn computed_section(self, name: &str, order: i32, lifetime: Lifetime) -> Self;
    fn variable(self, name: &str, value: &str) -> Self;
    fn computed_variable(self, name: &str, lifetime: Lifetime) -> Self;
    fn tool(self, name: &str, description: &str) -> Self;
    fn guided_tool(self, name: &str, order: i32, guidance: &str) -> Self;
    fn agent(self, name: &str) -> Self;
    fn agent_with_tools(self, name: &str, tools: &[&str]) -> Self;
}

impl Offers for Offer {
    fn section(self, name: &str, order: i32, text: &str) -> Self {
        self.section_of(name, order, Lifetime::Session, text)
    }

    fn section_of(mut self, name: &str, order: i32, lifetime: Lifetime, text: &str) -> Self {
        self.sections.push(Section {
            name: name.to_owned(),
            order,
            verbatim: false,
            lifetime,
            content: Content::Fixed(text.to_owned()),
        });
        self
    }

    fn verbatim(mut self, name: &str, order: i32, text: &str) -> Self {
        self = self.section(name, order, text);
        self.sections.last_mut().unwrap().verbatim = true;
        self
    }

    fn computed_section(mut self, name: &str, order: i32, lifetime: Lifetime) -> Self {
        self = self.section_of(name, order, lifetime, "");
        self.sections.last_mut().unwrap().content = Content::Computed;
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push(Variable {
            name: name.to_owned(),
            lifetime: Lifetime::Deployment,
            content: Content::Fixed(value.to_owned()),
        });
        self
    }

    fn computed_variable(mut self, name: &str, lifetime: Lifetime) -> Self {
        self.variables.push(Variable {
            name: name.to_owned(),
            lifetime,
            content: Content::Computed,
        });
        self
    }

    fn tool(mut self, name: &str, description: &str) -> Self {
        self.tools.push(Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            guidance: None,
            hints: Vec::new(),
        });
        self
    }

    fn guided_tool(mut self, name: &str, order: i32, guidance: &str) -> Self {
        self = self.tool(name, name);
        self.tools.last_mut().unwrap().guidance = Some(Guidance {
            order,
            text: guidance.to_owned(),
        });
        self
    }

    fn agent(self, name: &str) -> Self {
        self.agent_with_tools(name, &[])
    }

    fn agent_with_tools(mut self, name: &str, tools: &[&str]) -> Self {
        self.agents.push(Agent {
            name: name.to_owned(),
            description: String::new(),
            model: None,
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            handoffs: Vec::new(),
            skills: Vec::new(),
            variants: Vec::new(),
            intents: Vec::new(),
            metadata: Vec::new(),
        });
        self
    }
}

/// The plugin that contributes agent `coder` with this body.
pub(super) fn persona(body: &'static str) -> Arc<TestPlugin> {
    answering("persona", offer().agent("coder"), move |question, _| {
        (*question == Question::Agent("coder".to_owned())).then(|| body.to_owned())
    })
}

/// The plugin that owns the facts of a context as variables.
pub(super) fn facts() -> Arc<TestPlugin> {
    let offer = offer()
        .computed_variable("model", Lifetime::Session)
        .computed_variable("agent", Lifetime::Session)
        .computed_variable("cwd", Lifetime::Session)
        .computed_variable("platform", Lifetime::Session)
        .computed_variable("date", Lifetime::Turn)
        .computed_variable("git_branch", Lifetime::Turn);
    answering("facts", offer, |question, context| {
        let Question::Variable(name) = question else {
            return None;
        };
        let fact = |name: &str| {
            let mut facts = context.facts.iter();
            facts
                .find(|fact| fact.name == name)
                .map(|fact| fact.value.clone())
        };
        match name.as_str() {
            "model" => context.model.clone(),
            "agent" => context.agent.clone(),
            "cwd" => context.cwd.clone(),
            "platform" => fact("platform"),
            "date" => Some(context.now.as_ref()?[..10].to_owned()),
            "git_branch" => fact("git-branch"),
            _ => None,
        }
    })
}

/// The context of a step in the first session.
pub(super) fn context(turn: u32, step: u32) -> Context {
    let fact = |name: &str, value: &str| Fact {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    Context {
        agent: Some("coder".to_owned()),
        model: Some("gpt-5.1".to_owned()),
        prompt_variant: Some("base".to_owned()),
        session: Some("s1".to_owned()),
        cwd: Some("/srv/work".to_owned()),
        turn: Some(turn),
        step: Some(step),
        now: Some("2026-11-30T12:00:00.000Z".to_owned()),
        facts: vec![fact("git-branch", "main"), fact("platform", "linux-x86_64")],
    }
}

pub(super) async fn load(plugins: &[Arc<TestPlugin>]) -> Result<Arc<Registry>, Vec<RegistryFault>> {
    load_ordered(plugins, None).await
}

pub(super) async fn load_ordered(
    plugins: &[Arc<TestPlugin>],
    tool_order: Option<&[&str]>,
) -> Result<Arc<Registry>, Vec<RegistryFault>> {
    let plugins: Vec<Arc<dyn Plugin>> = plugins
        .iter()
        .map(|plugin| Arc::clone(plugin) as Arc<dyn Plugin>)
        .collect();
    let options = RegistryOptions {
        tool_order: tool_order.map(|order| order.iter().map(|name| (*name).to_owned()).collect()),
        ..RegistryOptions::default()
    };
    contributions(&plugins, &Environment::default(), &options)
        .await
        .map(Arc::new)
}

/// A registry of plugins that fit together.
pub(super) async fn registry(plugins: &[Arc<TestPlugin>]) -> Arc<Registry> {
    match load(plugins).await {
        Ok(registry) => registry,
        Err(faults) => panic!("{}", lines(&faults)),
    }
}

pub(super) async fn faults(plugins: &[Arc<TestPlugin>]) -> Vec<RegistryFault> {
    match load(plugins).await {
        Ok(_) => panic!("no fault was found"),
        Err(faults) => faults,
    }
}

pub(super) fn lines(items: &[impl ToString]) -> String {
    let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A prompt for agent `coder` if there is one.
pub(super) async fn prompt(plugins: &[Arc<TestPlugin>]) -> Prompt {
    prompt_with(plugins, PromptOptions::default()).await
}

pub(super) async fn prompt_with(plugins: &[Arc<TestPlugin>], options: PromptOptions) -> Prompt {
    let registry = registry(plugins).await;
    let agent = registry.agent("coder").map(|_| "coder");
    Prompt::new(registry, agent, options).unwrap()
}

pub(super) async fn step(
    prompt: &mut Prompt,
    turn: u32,
    step: u32,
) -> Result<Assembly, PromptError> {
    prompt
        .assemble(&context(turn, step), &Caller::default())
        .await
}

/// The first step of a new session.
pub(super) async fn assemble(plugins: &[Arc<TestPlugin>]) -> Assembly {
    match step(&mut prompt(plugins).await, 1, 1).await {
        Ok(assembly) => assembly,
        Err(error) => panic!("{error}"),
    }
}

pub(super) async fn assembly_error(plugins: &[Arc<TestPlugin>]) -> PromptError {
    match step(&mut prompt(plugins).await, 1, 1).await {
        Ok(_) => panic!("the assembly did not fail"),
        Err(error) => error,
    }
}

/// The texts of the tail entries.
pub(super) fn tail(assembly: &Assembly) -> Vec<String> {
    assembly
        .tail
        .iter()
        .map(|entry| entry.text.to_string())
        .collect()
}
