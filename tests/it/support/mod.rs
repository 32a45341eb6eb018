//! Parts the tests share: a plugin in memory, a model that says what it is told to say.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{BoxStream, StreamExt as _};
use raddle_core::agent::{Agent, AgentSettings, Asker, Controller, Observer, Permissions, Rule};
use raddle_core::digest::Digest;
use raddle_core::message::{AssistantMessage, Finish, Message, Part, ToolCall};
use raddle_core::plugins::{
    Caller, Content, Context, Environment, Fact, InjectionKind, Invocation, Lifetime, LoadedSkill,
    Occasion, Offer, Outcome, Plugin, PluginError, PluginInfo, Pressure, Question, Reply, Section,
    SkillEntry, Tool, Variable,
};
use raddle_core::prompt::{Dynamic, Prompt, PromptOptions};
use raddle_core::provider::{
    Body, Completion, Conversation, Provider, ProviderError, Request, RequestKey, StreamEvent,
};
use raddle_core::registry::{RegistryOptions, contributions};
use raddle_core::session::injection::Kind;
use raddle_core::session::{Event, EventData};
use raddle_core::store::{SessionHeader, Store};
use raddle_core::surroundings::Surroundings;
use raddle_store::SqliteStore;
use serde_json::{Value, json};

type Answering =
    Box<dyn Fn(&Question, &Context) -> Result<Option<String>, PluginError> + Send + Sync>;
type Serving =
    Arc<dyn Fn(Value, Caller) -> BoxFuture<'static, Result<Outcome, PluginError>> + Send + Sync>;

/// A plugin in memory.
pub(crate) struct MemoryPlugin {
    info: PluginInfo,
    offer: Offer,
    answering: Answering,
    serving: BTreeMap<String, Serving>,
    compacting: Option<Compacting>,
    loads: Vec<LoadedSkill>,
    hints: Option<Hinting>,
    observing: Option<Observing>,
}

/// Decides about compaction, and summarizes.
struct Compacting {
    decide: Deciding,
    summarize: Summarizing,
}

type Deciding = Box<dyn Fn(&Pressure) -> Option<usize> + Send + Sync>;
type Summarizing =
    Box<dyn Fn(Vec<Message>) -> BoxFuture<'static, Result<String, PluginError>> + Send + Sync>;
type Hinting = Box<dyn Fn(&[String]) -> Option<String> + Send + Sync>;
type Observing = Box<dyn Fn(&Occasion) -> Result<(), PluginError> + Send + Sync>;

impl MemoryPlugin {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            info: PluginInfo {
                id: id.to_owned(),
                source: format!("memory:{id}"),
                digest: Digest::of(id),
                configuration: Digest::of(""),
                data: Digest::of(""),
                exports: Vec::new(),
                imports: Vec::new(),
            },
            offer: Offer::default(),
            answering: Box::new(|_, _| Ok(None)),
            serving: BTreeMap::new(),
            compacting: None,
            loads: Vec::new(),
            hints: None,
            observing: None,
        }
    }

    pub(crate) fn compacting<F>(
        mut self,
        decide: impl Fn(&Pressure) -> Option<usize> + Send + Sync + 'static,
        summarize: impl Fn(Vec<Message>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<String, PluginError>> + Send + 'static,
    {
        self.info.exports.push("compaction".to_owned());
        self.compacting = Some(Compacting {
            decide: Box::new(decide),
            summarize: Box::new(move |messages| summarize(messages).boxed()),
        });
        self
    }

    /// Skills that the host can make active by itself.
    pub(crate) fn skills(mut self, skills: impl IntoIterator<Item = LoadedSkill>) -> Self {
        self.info.exports.push("skills".to_owned());
        for skill in skills {
            self.offer.skills.push(SkillEntry {
                name: skill.name.clone(),
                description: format!("Use for {}.", skill.name),
                kind: skill.kind,
                path: skill.path.clone(),
                metadata: Vec::new(),
            });
            self.loads.push(skill);
        }
        self
    }

    pub(crate) fn hinting(
        mut self,
        hint: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.info.exports.push("knowledge".to_owned());
        self.hints = Some(Box::new(hint));
        self
    }

    pub(crate) fn observing(
        mut self,
        observe: impl Fn(&Occasion) -> Result<(), PluginError> + Send + Sync + 'static,
    ) -> Self {
        self.info.exports.push("watchers".to_owned());
        self.observing = Some(Box::new(observe));
        self
    }

    pub(crate) fn section(mut self, name: &str, lifetime: Lifetime, text: &str) -> Self {
        self.offer.sections.push(Section {
            name: name.to_owned(),
            order: 100,
            verbatim: false,
            lifetime,
            content: Content::Fixed(text.to_owned()),
        });
        self
    }

    pub(crate) fn computed_section(mut self, name: &str, lifetime: Lifetime) -> Self {
        self.offer.sections.push(Section {
            name: name.to_owned(),
            order: 100,
            verbatim: false,
            lifetime,
            content: Content::Computed,
        });
        self
    }

    pub(crate) fn variable(mut self, name: &str, lifetime: Lifetime) -> Self {
        self.offer.variables.push(Variable {
            name: name.to_owned(),
            lifetime,
            content: Content::Computed,
        });
        self
    }

    pub(crate) fn answering(
        mut self,
        answering: impl Fn(&Question, &Context) -> Result<Option<String>, PluginError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.answering = Box::new(answering);
        self
    }

    pub(crate) fn injections(mut self, kinds: impl IntoIterator<Item = Kind>) -> Self {
        let offered = kinds.into_iter().map(|kind| InjectionKind {
            meaning: format!("What {} means.", kind.name),
            order: 210,
            kind,
        });
        self.offer.injections.extend(offered);
        self
    }

    pub(crate) fn tool<F>(
        self,
        name: &str,
        hints: &[(&str, &str)],
        serve: impl Fn(Value) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Outcome, PluginError>> + Send + 'static,
    {
        self.tool_in_session(name, hints, move |arguments, _| serve(arguments))
    }

    /// A tool that does something to the session that calls it.
    pub(crate) fn tool_in_session<F>(
        mut self,
        name: &str,
        hints: &[(&str, &str)],
        serve: impl Fn(Value, Caller) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Outcome, PluginError>> + Send + 'static,
    {
        self.offer.tools.push(Tool {
            name: name.to_owned(),
            description: format!("Serves {name}."),
            parameters: json!({
                "type": "object",
                "properties": { "path": { "type": "string" }, "count": { "type": "integer" } },
            }),
            guidance: None,
            hints: hints
                .iter()
                .map(|(name, value)| Fact {
                    name: (*name).to_owned(),
                    value: (*value).to_owned(),
                })
                .collect(),
        });
        let serve: Serving = Arc::new(move |value, caller| serve(value, caller).boxed());
        self.serving.insert(name.to_owned(), serve);
        self
    }
}

impl Plugin for MemoryPlugin {
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
        async move {
            questions
                .iter()
                .map(|question| (self.answering)(question, context))
                .collect()
        }
        .boxed()
    }

    fn call<'a>(
        &'a self,
        invocation: &'a Invocation,
        _context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, PluginError>> {
        let arguments = serde_json::from_str(&invocation.call.arguments).unwrap();
        (self.serving[&invocation.call.name])(arguments, caller.clone())
    }

    fn decide<'a>(
        &'a self,
        pressure: &'a Pressure,
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Option<usize>, PluginError>> {
        let compacting = self.compacting.as_ref().unwrap();
        async { Ok((compacting.decide)(pressure)) }.boxed()
    }

    fn summarize<'a>(
        &'a self,
        messages: &'a [Message],
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<String, PluginError>> {
        (self.compacting.as_ref().unwrap().summarize)(messages.to_vec())
    }

    fn load_skills<'a>(
        &'a self,
        names: &'a [String],
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<LoadedSkill>, PluginError>> {
        let loads = self
            .loads
            .iter()
            .filter(|skill| names.contains(&skill.name));
        let loads = loads.cloned().collect();
        async { Ok(loads) }.boxed()
    }

    fn hint<'a>(
        &'a self,
        recent: &'a [String],
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        async { Ok((self.hints.as_ref().unwrap())(recent)) }.boxed()
    }

    fn observe<'a>(
        &'a self,
        occasion: &'a Occasion,
        _context: &'a Context,
        _caller: &'a Caller,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        async { (self.observing.as_ref().unwrap())(occasion) }.boxed()
    }
}

pub(crate) fn said(text: &str) -> Result<Outcome, PluginError> {
    Ok(Outcome::Done(Reply {
        text: text.to_owned(),
        ..Reply::default()
    }))
}

/// What the model does in one step.
pub(crate) enum Turn {
    Say(&'static str),
    Call(Vec<(&'static str, &'static str)>),
    /// A call whose arguments were made during the test.
    Made(String, String),
    SayAndCall(&'static str, Vec<(&'static str, &'static str)>),
    /// Calls, but the answer was cut.
    Cut(Vec<(&'static str, &'static str)>),
    /// Says something, then fails.
    Break(&'static str, ProviderError),
    /// Says something, then nothing more.
    Hang(&'static str),
    /// Something else happens first.
    After(BoxFuture<'static, ()>, Box<Turn>),
}

/// A model that does what it is told, and keeps what it was sent.
#[derive(Clone, Default)]
pub(crate) struct Model {
    turns: Arc<Mutex<VecDeque<Turn>>>,
    sent: Arc<Mutex<Vec<Value>>>,
    calls: Arc<AtomicUsize>,
}

impl Model {
    pub(crate) fn told(turns: impl IntoIterator<Item = Turn>) -> Self {
        let model = Self::default();
        model.then(turns);
        model
    }

    pub(crate) fn then(&self, turns: impl IntoIterator<Item = Turn>) {
        self.turns.lock().unwrap().extend(turns);
    }

    pub(crate) fn forget_turns(&self) {
        self.turns.lock().unwrap().clear();
    }

    /// Requests sent so far: `{system, tools, messages}`.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.sent.lock().unwrap().clone()
    }

    fn calls(&self, calls: Vec<(&str, &str)>) -> Vec<Part> {
        calls
            .into_iter()
            .map(|(name, arguments)| {
                Part::Call(ToolCall {
                    id: format!("c{}", self.calls.fetch_add(1, Ordering::Relaxed)),
                    name: name.to_owned(),
                    arguments: arguments.to_owned(),
                })
            })
            .collect()
    }
}

impl Provider for Model {
    fn conversation(&self) -> Box<dyn Conversation> {
        Box::new(self.clone())
    }
}

impl Conversation for Model {
    fn encode(&mut self, request: &Request<'_>) -> Body {
        let bytes = serde_json::to_vec(&json!({
            "system": request.system,
            "tools": request.tools,
            "messages": request.messages.iter().map(|message| json!(**message)).collect::<Vec<_>>(),
        }))
        .unwrap();
        Body {
            digest: Digest::of(&bytes),
            bytes: bytes.into(),
        }
    }

    fn send(
        &mut self,
        body: Body,
        _key: &RequestKey,
    ) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let request = serde_json::from_slice(&body.bytes).unwrap();
        self.sent.lock().unwrap().push(request);
        let turn = self
            .turns
            .lock()
            .unwrap()
            .pop_front()
            .expect("another step");
        let (first, turn) = match turn {
            Turn::After(first, turn) => (first, *turn),
            turn => (async {}.boxed(), turn),
        };
        let events = Self::events(self, turn);
        first
            .into_stream()
            .map(|()| None)
            .chain(events.map(Some))
            .filter_map(|event| async { event })
            .boxed()
    }
}

impl Model {
    fn events(&self, turn: Turn) -> BoxStream<'static, Result<StreamEvent, ProviderError>> {
        let done = |parts, finish| {
            Ok(StreamEvent::Done(Completion {
                message: AssistantMessage { parts, finish },
                usage: None,
                model: None,
            }))
        };
        let text = |text: &str| Ok(StreamEvent::Text(text.to_owned()));
        let part = |text: &str| Part::Text {
            text: text.to_owned(),
        };
        match turn {
            Turn::Say(words) => {
                futures::stream::iter([text(words), done(vec![part(words)], Finish::Stop)]).boxed()
            }
            Turn::SayAndCall(words, calls) => {
                let parts = std::iter::once(part(words)).chain(self.calls(calls));
                let done = done(parts.collect(), Finish::ToolCalls);
                futures::stream::iter([text(words), done]).boxed()
            }
            Turn::Made(name, arguments) => {
                let calls = self.calls(vec![(&name, &arguments)]);
                futures::stream::iter([done(calls, Finish::ToolCalls)]).boxed()
            }
            Turn::Call(calls) => {
                futures::stream::iter([done(self.calls(calls), Finish::ToolCalls)]).boxed()
            }
            Turn::Cut(calls) => {
                futures::stream::iter([done(self.calls(calls), Finish::Length)]).boxed()
            }
            Turn::Break(words, error) => futures::stream::iter([text(words), Err(error)]).boxed(),
            Turn::Hang(words) => futures::stream::iter([text(words)])
                .chain(futures::stream::pending())
                .boxed(),
            Turn::After(..) => futures::stream::empty().boxed(),
        }
    }
}

/// A world in which nothing changes.
pub(crate) struct Still;

impl Surroundings for Still {
    fn now(&self) -> String {
        "2026-01-31T12:00:00.000Z".to_owned()
    }

    fn platform(&self) -> String {
        "linux x86_64".to_owned()
    }

    fn branch(&self, _directory: &Path) -> Option<String> {
        None
    }

    fn new_id(&self) -> Option<String> {
        None
    }

    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        tokio::time::sleep(time).boxed()
    }
}

/// Keeps every event it sees.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<Event>>>);

impl Observer for Seen {
    fn event(&self, event: &Event) {
        self.0.lock().unwrap().push(event.clone());
    }
}

impl Seen {
    pub(crate) fn all(&self) -> Vec<EventData> {
        let events = self.0.lock().unwrap();
        events.iter().map(|event| event.data.clone()).collect()
    }

    /// Text of each tool result, in the order the events came.
    pub(crate) fn results(&self) -> Vec<String> {
        self.all()
            .into_iter()
            .filter_map(|event| match event {
                EventData::ToolResult { text, .. } => Some(text),
                _ => None,
            })
            .collect()
    }
}

/// A session's setting: everything but the agent itself.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) seen: Seen,
    pub(crate) plugins: Vec<Arc<dyn Plugin>>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) dynamic: Dynamic,
    pub(crate) settings: AgentSettings,
}

impl Stage {
    pub(crate) fn with(plugins: impl IntoIterator<Item = MemoryPlugin>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("sessions.db")).unwrap();
        Self {
            folder,
            store: Arc::new(store),
            seen: Seen::default(),
            plugins: plugins
                .into_iter()
                .map(|plugin| Arc::new(plugin) as Arc<dyn Plugin>)
                .collect(),
            rules: Vec::new(),
            asker: None,
            dynamic: Dynamic::default(),
            settings: AgentSettings::default(),
        }
    }

    pub(crate) async fn start(&self, model: &Model) -> Agent {
        let header = SessionHeader {
            id: "s1".to_owned(),
            created: Still.now(),
            parent: None,
            directory: Some("/srv/project".to_owned()),
            variant: "base".to_owned(),
            deployment: None,
            owner: None,
        };
        let controller = Controller::start(
            Arc::clone(&self.store),
            header,
            Arc::new(Still),
            Arc::new(self.seen.clone()),
        );
        self.agent(controller.await.unwrap(), model).await
    }

    pub(crate) async fn open(&self, model: &Model) -> Agent {
        let controller = Controller::open(
            Arc::clone(&self.store),
            "s1",
            Arc::new(Still),
            Arc::new(self.seen.clone()),
        );
        self.agent(controller.await.unwrap(), model).await
    }

    async fn agent(&self, controller: Controller, model: &Model) -> Agent {
        let registry = contributions(
            &self.plugins,
            &Environment::default(),
            &RegistryOptions::default(),
        )
        .await
        .unwrap();
        let registry = Arc::new(registry);
        let options = PromptOptions {
            dynamic: self.dynamic,
            ..PromptOptions::default()
        };
        let prompt = Prompt::new(Arc::clone(&registry), None, options).unwrap();
        let settings = AgentSettings {
            provider: "told".to_owned(),
            model: "told".to_owned(),
            ..self.settings.clone()
        };
        let provider: Arc<dyn Provider> = Arc::new(model.clone());
        let permissions = Permissions::new(self.rules.clone().into(), self.asker.clone());
        Agent::new(
            settings,
            controller,
            registry,
            prompt,
            &provider,
            permissions,
        )
    }
}
