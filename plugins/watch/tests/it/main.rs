//! What the plugin tells, on files in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use raddle_plugin_watch::{Host, Settings, observe};
use raddle_sdk::Error;
use raddle_sdk::inject::{Actor, Injection};
use raddle_sdk::types::Subject;
use raddle_sdk::watchers::{EndedCall, Moment, Occasion, RuntimeFault};
use raddle_sdk::workspace::{Item, Node};

#[derive(Default)]
struct Files {
    files: BTreeMap<String, String>,
    state: BTreeMap<String, String>,
    sent: Vec<Injection>,
}

impl Host for Files {
    fn digest(&self, path: &str) -> Result<Option<String>, Error> {
        Ok(self.files.get(path).map(|text| format!("sha256:{text}")))
    }

    fn find(&self, glob: &str) -> Result<Vec<Item>, Error> {
        let end = glob.trim_start_matches('*');
        let found = self.files.iter().filter(|(path, _)| path.ends_with(end));
        let item = |(path, text): (&String, &String)| Item {
            path: path.clone(),
            node: Node::File,
            size: u32::try_from(text.len()).unwrap(),
            modified: Some(text.clone()),
        };
        Ok(found.map(item).collect())
    }

    fn get(&self, key: &str) -> Result<Option<String>, Error> {
        Ok(self.state.get(key).cloned())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        self.state.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn send(&mut self, injection: Injection) -> Result<(), Error> {
        self.sent.push(injection);
        Ok(())
    }
}

impl Files {
    fn write(&mut self, path: &str, text: &str) {
        self.files.insert(path.to_owned(), text.to_owned());
    }

    /// What a look finds: path, change, actor.
    fn look(&mut self, settings: &Settings, calls: Vec<EndedCall>) -> Vec<(String, String, Actor)> {
        let occasion = Occasion {
            moment: Moment::Step,
            first: false,
            calls,
            faults: Vec::new(),
        };
        self.sent.clear();
        observe(self, settings, &occasion).unwrap();
        let told = self.sent.iter().map(|injection| {
            let details = injection.details.as_deref().unwrap();
            let details: serde_json::Value = serde_json::from_str(details).unwrap();
            (
                injection.subject.clone().unwrap().path.unwrap(),
                details["change"].as_str().unwrap().to_owned(),
                injection.origin.clone().unwrap().actor.unwrap(),
            )
        });
        told.collect()
    }
}

/// A call of a file tool that left `path` in a state.
fn touched(path: &str, text: &str) -> EndedCall {
    EndedCall {
        id: "call".to_owned(),
        name: "write".to_owned(),
        kind: "edit".to_owned(),
        artifact: Some(Subject {
            reference: None,
            path: Some(path.to_owned()),
            revision: Some(format!("sha256:{text}")),
        }),
    }
}

#[test]
fn a_change_of_somebody_else_is_told_once_with_its_revision() {
    let mut files = Files::default();
    let settings = Settings::default();
    files.write("brief.xml", "one");
    assert_eq!(files.look(&settings, vec![touched("brief.xml", "one")]), []);
    files.write("brief.xml", "two");
    let told = files.look(&settings, Vec::new());
    assert_eq!(
        told,
        [(
            "brief.xml".to_owned(),
            "content_saved".to_owned(),
            Actor::User
        )]
    );
    let subject = files.sent[0].subject.clone().unwrap();
    assert_eq!(subject.revision.as_deref(), Some("sha256:two"));
    assert_eq!(files.look(&settings, Vec::new()), []);
    files.files.clear();
    let told = files.look(&settings, Vec::new());
    assert_eq!(told[0].1, "deleted");
}

#[test]
fn going_back_to_an_earlier_state_is_a_change_of_its_own() {
    let mut files = Files::default();
    let settings = Settings::default();
    files.write("a", "one");
    files.look(&settings, vec![touched("a", "one")]);
    let mut ids = Vec::new();
    for text in ["two", "one", "two"] {
        files.write("a", text);
        files.look(&settings, Vec::new());
        ids.push(files.sent[0].id.clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn what_the_agent_did_itself_is_not_told_as_somebody_elses() {
    let mut files = Files::default();
    let settings = Settings::default();
    files.write("a", "one");
    files.look(&settings, vec![touched("a", "one")]);
    files.write("a", "two");
    assert_eq!(files.look(&settings, vec![touched("a", "two")]), []);
    files.write("a", "three");
    let ran = EndedCall {
        kind: "execute".to_owned(),
        artifact: None,
        ..touched("a", "")
    };
    let told = files.look(&settings, vec![ran]);
    assert_eq!(told[0].2, Actor::Agent, "by origin: the host suppresses it");
    let origin = files.sent[0].origin.clone().unwrap();
    assert_eq!(origin.tool_call_id.as_deref(), Some("call"));
}

#[test]
fn files_of_a_glob_are_followed_from_the_beginning_and_new_ones_are_told() {
    let mut files = Files::default();
    let settings = Settings {
        artifacts: vec!["*.xml".to_owned()],
        ..Settings::default()
    };
    files.write("brief.xml", "one");
    assert_eq!(files.look(&settings, Vec::new()), [], "it was there before");
    files.write("brief.xml", "two");
    files.write("other.xml", "new");
    let mut told = files.look(&settings, Vec::new());
    told.sort_by(|a, b| a.0.cmp(&b.0));
    let told: Vec<_> = told
        .iter()
        .map(|(path, change, _)| (&**path, &**change))
        .collect();
    assert_eq!(
        told,
        [("brief.xml", "content_saved"), ("other.xml", "created")]
    );
    assert_eq!(files.look(&settings, Vec::new()), []);
}

#[test]
fn the_workspace_is_told_of_in_one_update() {
    let mut files = Files::default();
    let settings = Settings {
        workspace: vec!["*.md".to_owned()],
        ..Settings::default()
    };
    files.write("AGENTS.md", "one");
    let occasion = Occasion {
        moment: Moment::Idle,
        first: true,
        calls: Vec::new(),
        faults: Vec::new(),
    };
    observe(&mut files, &settings, &occasion).unwrap();
    assert!(files.sent.is_empty());
    files.write("AGENTS.md", "two");
    files.write("skills.md", "new");
    observe(&mut files, &settings, &occasion).unwrap();
    assert_eq!(files.sent.len(), 1);
    assert_eq!(files.sent[0].kind, "workspace_update");
    assert!(files.sent[0].summary.contains("AGENTS.md, skills.md"));
}

#[test]
fn a_fault_of_the_runtime_is_a_system_update() {
    let mut files = Files::default();
    let occasion = Occasion {
        moment: Moment::Step,
        first: false,
        calls: Vec::new(),
        faults: vec![RuntimeFault {
            id: "call-1".to_owned(),
            code: "plugin".to_owned(),
            message: "it trapped".to_owned(),
        }],
    };
    observe(&mut files, &Settings::default(), &occasion).unwrap();
    assert_eq!(files.sent[0].kind, "system_update");
    assert!(files.sent[0].summary.contains("(plugin): it trapped"));
}
