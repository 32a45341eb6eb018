//! The queue's rules, each as the seed's section "Coalescing and ordering" or "Duplicate
//! suppression" says it.

use raddle_core::message::ToolCall;
use raddle_core::session::injection::{Coalescing, Delivery, Injection, Kind, Moment, Queue};
use raddle_core::session::{Event, EventData};
use serde_json::{Value, json};

struct Log {
    queue: Queue,
    kinds: Vec<Kind>,
    seq: u64,
}

impl Log {
    fn new() -> Self {
        let kind = |name: &str, coalescing| Kind {
            name: name.to_owned(),
            delivery: Delivery::Steer,
            coalescing,
            passive: name == "client_view",
            attributed: false,
        };
        Self {
            queue: Queue::default(),
            kinds: vec![
                kind("artifact_update", Coalescing::SameSubject),
                kind("client_view", Coalescing::SameKind),
                kind("system_update", Coalescing::KeepAll),
            ],
            seq: 0,
        }
    }

    fn record(&mut self, data: EventData) {
        self.seq += 1;
        self.queue.apply(&Event {
            seq: self.seq,
            time: String::new(),
            session: "s".to_owned(),
            run: 1,
            step: 2,
            data,
            display: false,
        });
    }

    fn accept(&mut self, injection: &Injection) {
        assert_eq!(injection.faults(&self.kinds), []);
        for event in self.queue.accept(injection.clone(), &self.kinds) {
            self.record(event);
        }
    }

    fn deliver(&mut self) -> Vec<String> {
        let due = self.queue.due(Moment::Step, &self.kinds);
        let ids: Vec<String> = due.iter().map(|injection| injection.id.clone()).collect();
        for id in &ids {
            self.record(EventData::InjectionDelivered {
                id: id.clone(),
                kind: String::new(),
                text: String::new(),
            });
        }
        ids
    }

    fn told(&self, id: &str) -> String {
        self.queue.receipt(id).unwrap().to_string()
    }
}

/// An `artifact_update` about path `a`, and what is different.
fn update(id: &str, second: u32, different: Value) -> Injection {
    let mut value = json!({
        "id": id,
        "kind": "artifact_update",
        "occurredAt": format!("2026-01-31T10:00:{second:02}Z"),
        "source": "workspace",
        "summary": "saved",
        "subject": {"path": "a"},
    });
    let Value::Object(different) = different else {
        panic!("an object");
    };
    value.as_object_mut().unwrap().extend(different);
    serde_json::from_value(value).unwrap()
}

fn revision(revision: &str) -> Value {
    json!({"subject": {"path": "a", "revision": revision}})
}

#[test]
fn the_latest_revision_replaces_an_older_unsent_one_in_whatever_order_they_come() {
    for order in [[0, 1], [1, 0]] {
        let mut log = Log::new();
        let updates = [
            update("e1", 1, revision("r1")),
            update("e2", 2, revision("r2")),
        ];
        for index in order {
            log.accept(&updates[index]);
        }
        assert_eq!(log.told("e1"), "coalesced into e2");
        assert_eq!(log.deliver(), ["e2"]);
        assert_eq!(log.told("e2"), "delivered at 1/2");
    }
}

#[test]
fn updates_of_other_paths_and_kinds_are_kept() {
    let mut log = Log::new();
    log.accept(&update("e1", 1, json!({})));
    log.accept(&update("e2", 2, json!({"subject": {"path": "b"}})));
    log.accept(&update("e3", 3, json!({"kind": "system_update"})));
    log.accept(&update("e4", 4, json!({"kind": "system_update"})));
    assert_eq!(log.deliver(), ["e1", "e2", "e3", "e4"]);
}

#[test]
fn events_that_each_need_a_decision_are_not_coalesced() {
    let mut log = Log::new();
    log.accept(&update("e1", 1, json!({"requiresDecision": true})));
    log.accept(&update("e2", 2, json!({"requiresDecision": true})));
    log.accept(&update("e3", 3, json!({})));
    assert_eq!(log.deliver(), ["e1", "e2", "e3"]);
}

#[test]
fn a_change_that_a_tool_result_reports_is_not_told_again() {
    let call = || EventData::ToolCall {
        call: ToolCall {
            id: "call_9".to_owned(),
            name: "write".to_owned(),
            arguments: "{}".to_owned(),
        },
        plugin: None,
    };
    let mut log = Log::new();
    let own = json!({"origin": {"actor": "agent", "toolCallId": "call_9"}});
    log.accept(&update("before", 1, own.clone()));
    assert_eq!(log.deliver(), ["before"], "no such call is known");
    log.record(call());
    log.accept(&update("e1", 1, own));
    assert_eq!(log.told("e1"), "suppressed because of call_9");
    // A job that the call started ends after it: that is news.
    let job = json!({"origin": {"actor": "service", "toolCallId": "call_9"}});
    log.accept(&update("e2", 2, job));
    assert_eq!(log.deliver(), ["e2"]);
}

#[test]
fn a_revision_the_model_knows_is_not_told_again_until_there_was_another() {
    let mut log = Log::new();
    log.record(EventData::ToolResult {
        call_id: "call_1".to_owned(),
        text: String::new(),
        is_error: false,
        details: None,
        artifact: serde_json::from_value(json!({"path": "a", "revision": "r1"})).unwrap(),
    });
    log.accept(&update("e1", 1, revision("r1")));
    assert_eq!(log.told("e1"), "suppressed because of call_1");
    log.accept(&update("e2", 2, revision("r2")));
    assert_eq!(log.deliver(), ["e2"]);
    log.accept(&update("e3", 3, revision("r2")));
    assert_eq!(log.told("e3"), "suppressed because of e2");
    log.accept(&update("e4", 4, revision("r1")));
    assert_eq!(log.deliver(), ["e4"], "it changed back");
}

#[test]
fn an_old_revision_that_comes_late_is_not_told_as_the_current_one() {
    let mut log = Log::new();
    log.accept(&update("e2", 5, revision("r2")));
    assert_eq!(log.deliver(), ["e2"]);
    log.accept(&update("e1", 1, revision("r1")));
    assert_eq!(log.told("e1"), "dropped: older than e2");
    assert_eq!(log.deliver(), [""; 0]);
}

#[test]
fn one_id_or_one_key_is_one_event() {
    let mut log = Log::new();
    let key = json!({"dedupeKey": "k", "kind": "system_update"});
    log.accept(&update("e1", 1, key.clone()));
    log.accept(&update("e1", 1, key.clone()));
    log.accept(&update("e2", 2, key.clone()));
    assert_eq!(log.told("e2"), "suppressed because of e1");
    assert_eq!(log.deliver(), ["e1"]);
    log.accept(&update("e1", 3, key.clone()));
    log.accept(&update("e3", 3, key));
    assert_eq!(log.told("e3"), "suppressed because of e1");
    assert_eq!(log.deliver(), [""; 0]);
}

#[test]
fn only_steering_that_needs_a_decision_for_an_active_task_wakes_an_idle_session() {
    for (different, wakes) in [
        (json!({}), false),
        (json!({"requiresDecision": true}), true),
        (
            json!({"requiresDecision": true, "kind": "client_view"}),
            false,
        ),
        (
            json!({"requiresDecision": true, "delivery": "next_turn"}),
            false,
        ),
    ] {
        let mut log = Log::new();
        log.accept(&update("e1", 1, different.clone()));
        assert_eq!(log.queue.wakes(true, &log.kinds), wakes, "{different}");
        assert!(!log.queue.wakes(false, &log.kinds), "{different}");
    }
}

#[test]
fn every_fault_of_an_envelope_is_named() {
    let mut bad = update("e1", 1, json!({"kind": "system_override", "summary": " "}));
    bad.occurred_at = "10:00:01".to_owned();
    let told: Vec<String> = bad
        .faults(&Log::new().kinds)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "unknown kind `system_override`: there are `artifact_update`, `client_view`, \
             `system_update`",
            "`10:00:01` is not a time: write RFC 3339, such as `2026-01-31T12:00:00Z`",
            "`summary` must have 1 to 16384 bytes of text, it has 0",
        ]
    );
}

#[test]
fn a_file_has_one_spelling_inside_of_the_session() {
    use raddle_core::session::injection::Subject;
    for (written, path) in [
        ("a/b.xml", "a/b.xml"),
        ("./a/./b.xml", "a/b.xml"),
        ("/srv/project/a/b.xml", "a/b.xml"),
        ("/srv/project2/b.xml", "/srv/project2/b.xml"),
        ("../b.xml", "../b.xml"),
    ] {
        let subject = Subject {
            path: Some(written.to_owned()),
            ..Subject::default()
        };
        for directory in ["/srv/project", "/srv/project/"] {
            let inside = subject.clone().inside(Some(directory));
            assert_eq!(inside.path.as_deref(), Some(path), "{written}");
        }
    }
}

/// Two report the same edit: whoever saw it, and the editor that knows which cards it was. The one that
/// says more is told, whichever comes first.
#[test]
fn of_two_that_tell_of_the_same_state_the_one_that_says_more_is_told() {
    let state = |details: Value| json!({"subject": {"path": "deck.gml", "revision": "sha256:1"}, "details": details});
    let seen = update("seen", 1, state(json!({"change": "content_saved"})));
    let edited = update(
        "edited",
        2,
        state(json!({"change": "cards_edited", "cards": ["pot"]})),
    );
    for order in [[&seen, &edited], [&edited, &seen]] {
        let mut log = Log::new();
        for injection in order {
            log.accept(injection);
        }
        assert_eq!(log.deliver(), ["edited"]);
    }
    // Of equals the first one; of another state the newer one.
    let again = update("again", 3, state(json!({"change": "content_saved"})));
    let mut log = Log::new();
    log.accept(&seen);
    log.accept(&again);
    assert_eq!(log.told("again"), "suppressed because of seen");
    let later = json!({"subject": {"path": "deck.gml", "revision": "sha256:2"}});
    log.accept(&update("later", 4, later));
    assert_eq!(log.deliver(), ["later"]);
}
