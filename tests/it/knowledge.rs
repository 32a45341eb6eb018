//! What is told with a run: pointers to notes, preloaded skills, required skills, and what watchers
//! see.

use std::sync::{Arc, Mutex};

use raddle_core::agent::{Action, Cancel, Requirement, Rule};
use raddle_core::plugins::{Fact, LoadedSkill, Moment, Occasion, Outcome, Reply};
use raddle_core::session::EventData;
use raddle_core::session::injection::Subject;
use raddle_core::session::skills::{SkillKind, SkillStep, StepState};
use raddle_core::session::tasks::{Task, TaskStatus, TaskStep};
use serde_json::{Value, json};

use crate::support::{MemoryPlugin, Model, Stage, Turn, said};

const WORK: (&str, &str) = ("work", "{}");

fn work() -> MemoryPlugin {
    MemoryPlugin::new("work").tool("work", &[("kind", "edit")], |_| async {
        Ok(Outcome::Done(Reply {
            text: "worked".to_owned(),
            artifact: Some(Subject {
                path: Some("a.txt".to_owned()),
                revision: Some("sha256:1".to_owned()),
                reference: None,
            }),
            ..Reply::default()
        }))
    })
}

fn stage(plugins: impl IntoIterator<Item = MemoryPlugin>) -> Stage {
    let mut stage = Stage::with(plugins);
    stage.rules = vec![Rule::new("**", None, Action::Allow).unwrap()];
    stage
}

fn deck() -> LoadedSkill {
    let step = |number, text: &str| SkillStep {
        number,
        text: text.to_owned(),
        optional: false,
    };
    LoadedSkill {
        name: "deck".to_owned(),
        kind: SkillKind::Workflow,
        path: "skills/deck/SKILL.md".to_owned(),
        required_by: None,
        text: "<skill name=\"deck\">\nSteps.\n</skill>".to_owned(),
        steps: vec![step(1, "Write."), step(2, "Look.")],
    }
}

/// "The harness injects small pointers before it injects complete knowledge bodies."
#[tokio::test]
async fn pointers_to_notes_are_a_trusted_message_before_the_users_words() {
    let asked: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let notes = Arc::clone(&asked);
    let plugin = MemoryPlugin::new("knowledge").hinting(move |recent| {
        notes.lock().unwrap().push(recent.to_vec());
        let last = recent.last().unwrap();
        last.contains("image")
            .then(|| "<knowledge id=\"images\"/>".to_owned())
    });
    let stage = stage([plugin]);
    let model = Model::told([Turn::Say("one"), Turn::Say("two")]);
    let mut agent = stage.start(&model).await;
    agent.run("hello", &Cancel::new()).await.unwrap();
    agent.run("an image", &Cancel::new()).await.unwrap();
    assert_eq!(
        *asked.lock().unwrap(),
        [vec!["hello"], vec!["hello", "one", "an image"]]
    );
    let sent = model.sent();
    let messages = sent[1]["messages"].as_array().unwrap();
    let last: Vec<(&str, &str)> = messages[2..]
        .iter()
        .map(|message| {
            (
                message["role"].as_str().unwrap(),
                message["text"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        last,
        [
            (
                "developer",
                "<knowledge_hints>\n<knowledge id=\"images\"/>\n</knowledge_hints>"
            ),
            ("user", "an image"),
        ]
    );
}

/// A note that was read stays active until it is discarded, also for another process.
#[tokio::test]
async fn notes_are_state_of_the_session() {
    let fact = |name: &str, value: Value| Fact {
        name: name.to_owned(),
        value: value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned),
    };
    let reply = |fact| {
        Ok(Outcome::Done(Reply {
            facts: vec![fact],
            ..Reply::default()
        }))
    };
    let plugin = MemoryPlugin::new("knowledge")
        .tool("read", &[], move |_| async move {
            let note = json!({"id": "n", "revision": "r1", "text": "Only photos."});
            reply(fact("note-read", note))
        })
        .tool("discard", &[], move |_| async move {
            reply(fact("note-discarded", json!("n")))
        });
    let stage = stage([plugin]);
    let model = Model::told([
        Turn::Call(vec![("read", "{}")]),
        Turn::Say("read"),
        Turn::Call(vec![("discard", "{}")]),
        Turn::Say("discarded"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("one", &Cancel::new()).await.unwrap();
    drop(agent);
    let mut agent = stage.open(&model).await;
    let notes = &agent.controller().state().knowledge;
    assert_eq!(notes.len(), 1);
    let text = stage.store.text(notes[0].text).await.unwrap();
    assert_eq!(text.as_deref(), Some("Only photos."));
    agent.run("two", &Cancel::new()).await.unwrap();
    assert!(agent.controller().state().knowledge.is_empty());
}

/// "A preloaded workflow skill has the same contract": it is active from the beginning, once.
#[tokio::test]
async fn preloaded_skills_are_active_state_like_any_other() {
    let mut stage = stage([MemoryPlugin::new("skills").skills([deck()])]);
    stage.settings.preload = vec!["deck".to_owned()];
    let model = Model::told([Turn::Say("one"), Turn::Say("two")]);
    let mut agent = stage.start(&model).await;
    agent.run("one", &Cancel::new()).await.unwrap();
    drop(agent);
    let mut agent = stage.open(&model).await;
    agent.run("two", &Cancel::new()).await.unwrap();
    let events = stage.seen.all();
    let activated = events
        .iter()
        .filter(|event| matches!(event, EventData::SkillActivated(_)));
    assert_eq!(activated.count(), 1);
    let active = agent.controller().skills().get("deck").unwrap();
    assert!(active.skill.is_preloaded() && active.skill.before_task_tools);
    assert_eq!(active.checklist().len(), 2);
}

/// "The harness can require deck-generation for each new deck request."
#[tokio::test]
async fn a_required_skill_holds_the_first_task_tool_until_it_is_loaded() {
    let skill = MemoryPlugin::new("skills").tool("skill", &[("protocol", "true")], |_| async {
        Ok(Outcome::Done(Reply {
            facts: vec![Fact {
                name: "skill-activated".to_owned(),
                value: json!({"name": "deck", "type": "workflow", "path": "p", "text": "t"})
                    .to_string(),
            }],
            ..Reply::default()
        }))
    });
    let mut stage = stage([skill, work()]);
    stage.settings.requirements = vec![Requirement {
        words: vec!["Deck".to_owned()],
        skill: "deck".to_owned(),
    }];
    let model = Model::told([
        Turn::Call(vec![WORK]),
        Turn::Call(vec![("skill", "{}")]),
        Turn::Call(vec![WORK]),
        Turn::Say("done"),
        Turn::Say("other"),
    ]);
    let mut agent = stage.start(&model).await;
    agent.run("Make a deck.", &Cancel::new()).await.unwrap();
    let results = stage.seen.results();
    assert!(
        results[0].contains("skill-required") && results[0].contains("`deck`"),
        "{results:?}"
    );
    assert_eq!(results[2], "worked");
}

#[test]
fn a_requirement_is_about_whole_words_in_any_case() {
    let requirement = Requirement {
        words: vec!["deck".to_owned(), "Folien".to_owned()],
        skill: "deck".to_owned(),
    };
    for (request, matches) in [
        ("A DECK, please", true),
        ("mach folien!", true),
        ("the decks", false),
        ("", false),
    ] {
        assert_eq!(requirement.matches(request), matches, "{request}");
    }
}

/// Tasks that are steps of a workflow move its checklist; a deviation explains one.
#[tokio::test]
async fn the_checklist_follows_the_tasks() {
    let mut stage = stage([MemoryPlugin::new("skills").skills([deck()])]);
    stage.settings.preload = vec!["deck".to_owned()];
    let model = Model::told([Turn::Say("one"), Turn::Say("two")]);
    let mut agent = stage.start(&model).await;
    agent.run("one", &Cancel::new()).await.unwrap();
    let task = |status| Task {
        id: "t".to_owned(),
        label: "Write the deck".to_owned(),
        status,
        note: None,
        step: Some(TaskStep {
            skill: "deck".to_owned(),
            number: 1,
        }),
    };
    let session = agent.session().unwrap();
    session
        .replace_tasks(0, vec![task(TaskStatus::Complete)])
        .unwrap();
    // A list without the task does not undo what was done.
    session.replace_tasks(1, Vec::new()).unwrap();
    agent.run("two", &Cancel::new()).await.unwrap();
    let changed: Vec<Vec<StepState>> = stage
        .seen
        .all()
        .into_iter()
        .filter_map(|event| match event {
            EventData::ChecklistChanged { steps, .. } => {
                Some(steps.into_iter().map(|step| step.state).collect())
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        changed,
        [
            vec![StepState::Open, StepState::Open],
            vec![StepState::Complete, StepState::Open],
        ]
    );
}

/// Watchers look before every request, and are told once of what ended and what went wrong.
#[tokio::test]
async fn watchers_are_told_what_happened_since_they_last_looked() {
    let seen: Arc<Mutex<Vec<Occasion>>> = Arc::default();
    let notes = Arc::clone(&seen);
    let watcher = MemoryPlugin::new("watch").observing(move |occasion| {
        notes.lock().unwrap().push(occasion.clone());
        Ok(())
    });
    let faulty = MemoryPlugin::new("faulty").tool("fail", &[], |_| async {
        Err(raddle_core::plugins::PluginError {
            plugin: "faulty".to_owned(),
            interface: "tools".to_owned(),
            function: "call".to_owned(),
            fault: raddle_core::plugins::Fault::Trap {
                message: "unreachable".to_owned(),
            },
        })
    });
    let stage = stage([
        watcher,
        work(),
        faulty,
        MemoryPlugin::new("ok").tool("ok", &[], |_| async { said("ok") }),
    ]);
    let model = Model::told([Turn::Call(vec![WORK, ("fail", "{}")]), Turn::Say("done")]);
    let mut agent = stage.start(&model).await;
    agent.run("go", &Cancel::new()).await.unwrap();
    let seen = seen.lock().unwrap();
    let moments: Vec<(Moment, bool)> = seen.iter().map(|o| (o.moment, o.first)).collect();
    assert_eq!(
        moments,
        [
            (Moment::Step, true),
            (Moment::Step, false),
            (Moment::Idle, false)
        ]
    );
    let mut names: Vec<&str> = seen[1]
        .calls
        .iter()
        .map(|call| call.name.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["fail", "work"]);
    let work = seen[1]
        .calls
        .iter()
        .find(|call| call.name == "work")
        .unwrap();
    assert_eq!(work.kind, "edit");
    assert_eq!(
        work.artifact.as_ref().unwrap().path.as_deref(),
        Some("a.txt")
    );
    assert_eq!(seen[1].faults.len(), 1);
    assert!(seen[1].faults[0].message.contains("unreachable"));
    assert!(seen[2].calls.is_empty() && seen[2].faults.is_empty());
}
