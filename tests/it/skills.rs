//! Active skills: what the session keeps of them.

use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use raddle_core::agent::{Action, Cancel, Rule};
use raddle_core::plugins::{
    Caller, Context, Environment, Fact, Invocation, Offer, Outcome, Plugin, PluginError,
    PluginInfo, Question, Reply,
};
use raddle_core::session::EventData;
use raddle_core::session::skills::{ActiveSkills, SkillActivation, SkillKind};
use serde_json::json;
use tokio::sync::Barrier;

use crate::support::{MemoryPlugin, Model, Stage, Turn, said};

/// A result that says `name` is active, with `text`.
fn active(name: &str, text: &str) -> Result<Outcome, PluginError> {
    let fact = json!({
        "name": name, "type": "workflow", "path": format!("skills/{name}/SKILL.md"), "text": text,
        "steps": [{"number": 1, "text": "Write."}, {"number": 2, "text": "Look.", "optional": true}],
    });
    Ok(Outcome::Done(Reply {
        text: text.to_owned(),
        facts: vec![Fact {
            name: "skill-activated".to_owned(),
            value: fact.to_string(),
        }],
        ..Reply::default()
    }))
}

/// The tool `skill`: its `path` is the name, and its `count` goes into the text.
fn skills() -> MemoryPlugin {
    MemoryPlugin::new("skills").tool("skill", &[("protocol", "true")], |arguments| async move {
        let name = arguments["path"].as_str().unwrap();
        active(name, &format!("body of {name} {}\n", arguments["count"]))
    })
}

/// The tool `work`, which is of the task.
fn work() -> MemoryPlugin {
    MemoryPlugin::new("work").tool("work", &[], |_| async { said("worked") })
}

fn stage(plugins: impl IntoIterator<Item = MemoryPlugin>) -> Stage {
    let mut stage = Stage::with(plugins);
    stage.rules = vec![Rule::new("**", None, Action::Allow).unwrap()];
    stage
}

fn activations(stage: &Stage) -> Vec<SkillActivation> {
    let all = stage.seen.all().into_iter();
    all.filter_map(|event| match event {
        EventData::SkillActivated(skill) => Some(*skill),
        _ => None,
    })
    .collect()
}

fn names(skills: &ActiveSkills) -> Vec<(&str, (u32, u32))> {
    let skills = skills.iter();
    skills
        .map(|active| (active.skill.name.as_str(), active.batch))
        .collect()
}

const DECK: (&str, &str) = ("skill", r#"{"path":"deck","count":1}"#);
const GML: (&str, &str) = ("skill", r#"{"path":"gml","count":1}"#);
const WORK: (&str, &str) = ("work", "{}");

/// "The model can load all matching skills in one tool batch." "Load matching skills in parallel."
#[tokio::test]
async fn matching_skills_load_in_parallel_in_one_batch() {
    let barrier = Arc::new(Barrier::new(2));
    let plugin =
        MemoryPlugin::new("skills").tool("skill", &[("protocol", "true")], move |arguments| {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                active(arguments["path"].as_str().unwrap(), "body")
            }
        });
    let stage = stage([plugin]);
    let model = Model::told([Turn::Call(vec![DECK, GML]), Turn::Say("both")]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let mut names = names(agent.controller().skills());
    names.sort_unstable();
    assert_eq!(names, [("deck", (1, 1)), ("gml", (1, 1))]);
    assert!(
        activations(&stage)
            .iter()
            .all(|skill| skill.before_task_tools)
    );
}

/// "Record the skill as active." What the model was told of it can be told again, verbatim.
#[tokio::test]
async fn an_active_skill_outlives_the_process_with_its_text() {
    let stage = stage([skills()]);
    let model = Model::told([
        Turn::Call(vec![DECK]),
        Turn::Call(vec![GML]),
        Turn::Call(vec![("skill", r#"{"path":"deck","count":2}"#)]),
        Turn::Say("done"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    drop(agent);

    let agent = stage.open(&model).await;
    let skills = agent.controller().skills();
    assert_eq!(
        names(skills),
        [("deck", (1, 3)), ("gml", (1, 2))],
        "each once, as it is now"
    );
    let deck = &skills.get("deck").unwrap().skill;
    assert_eq!(
        (deck.kind, deck.path.as_str()),
        (SkillKind::Workflow, "skills/deck/SKILL.md")
    );
    assert_eq!(deck.steps.len(), 2);
    assert!(deck.steps[1].optional);
    let text = stage.store.text(deck.text).await.unwrap();
    assert_eq!(text.as_deref(), Some("body of deck 2\n"));
}

/// "Deferred selection is a skill-selection error."
#[tokio::test]
async fn a_load_after_the_task_began_is_recorded_as_a_selection_error() {
    let progress =
        MemoryPlugin::new("say").tool("say", &[("protocol", "true")], |_| async { said("told") });
    let stage = stage([skills(), work(), progress]);
    let model = Model::told([
        // A cut answer begins nothing, and neither does a message.
        Turn::Cut(vec![WORK]),
        Turn::Call(vec![("say", "{}"), DECK, WORK, GML]),
        Turn::Call(vec![DECK]),
        Turn::Say("done"),
        Turn::Call(vec![DECK]),
        Turn::Say("done"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    agent.run("again", &Cancel::new()).await.unwrap();
    let mut in_time: Vec<(String, String, bool)> = activations(&stage)
        .into_iter()
        .map(|skill| (skill.call_id.unwrap(), skill.name, skill.before_task_tools))
        .collect();
    in_time.sort();
    let shown: Vec<(&str, bool)> = in_time
        .iter()
        .map(|(_, name, time)| (name.as_str(), *time))
        .collect();
    assert_eq!(
        shown,
        [
            ("deck", true),
            ("gml", false),
            ("deck", false),
            ("deck", true)
        ],
        "each run chooses anew"
    );
}

#[tokio::test]
async fn a_fact_that_is_no_skill_activates_nothing() {
    let plugin = MemoryPlugin::new("odd").tool("odd", &[], |_| async {
        Ok(Outcome::Done(Reply {
            facts: vec![Fact {
                name: "skill-activated".to_owned(),
                value: "deck".to_owned(),
            }],
            ..Reply::default()
        }))
    });
    let stage = stage([plugin]);
    let model = Model::told([Turn::Call(vec![("odd", "{}")]), Turn::Say("done")]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    assert!(activations(&stage).is_empty());
}

/// A plugin that keeps what it was called with.
struct Listening(MemoryPlugin, Arc<Mutex<Vec<Invocation>>>);

impl Plugin for Listening {
    fn info(&self) -> &PluginInfo {
        self.0.info()
    }

    fn offer<'a>(
        &'a self,
        environment: &'a Environment,
    ) -> BoxFuture<'a, Result<Offer, PluginError>> {
        self.0.offer(environment)
    }

    fn answer<'a>(
        &'a self,
        questions: &'a [Question],
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Vec<Option<String>>, PluginError>> {
        self.0.answer(questions, context, caller)
    }

    fn call<'a>(
        &'a self,
        invocation: &'a Invocation,
        context: &'a Context,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, PluginError>> {
        self.1.lock().unwrap().push(invocation.clone());
        self.0.call(invocation, context, caller)
    }
}

#[tokio::test]
async fn a_plugin_hears_what_is_asked_of_its_own_tools_and_not_of_others() {
    let mut stage = stage([]);
    let heard: Arc<Mutex<Vec<Invocation>>> = Arc::default();
    stage.plugins = vec![
        Arc::new(Listening(skills(), Arc::clone(&heard))),
        Arc::new(Listening(work(), Arc::clone(&heard))),
    ];
    let secret = ("work", r#"{"path":"secret"}"#);
    let model = Model::told([Turn::Call(vec![DECK, secret, GML]), Turn::Say("done")]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let heard = heard.lock().unwrap();
    let of = |id: &str| -> Vec<(String, String)> {
        let invocation = heard.iter().find(|invocation| invocation.call.id == id);
        let others = invocation.unwrap().batch.iter();
        others
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect()
    };
    let call = |name: &str, arguments: &str| (name.to_owned(), arguments.to_owned());
    assert_eq!(of("c0"), [call("work", "{}"), call(GML.0, GML.1)]);
    assert_eq!(of("c1"), [call("skill", "{}"), call("skill", "{}")]);
}
