//! Sessions whose log is damaged, or partly of a newer release.

use serde_json::Value;

use crate::harness::Home;

const CODER: &str = include_str!("../fixtures/coder.toml");
const RECORDING: &str = include_str!("../fixtures/recording.jsonl");

/// Lines that `session show` prints before the events.
const HEAD: usize = 4;

/// A recorded session after its log was changed, and its id.
fn changed(change: &str) -> (Home, String) {
    let home = Home::new();
    home.write("raddle.toml", CODER);
    home.write("recording.jsonl", RECORDING);
    home.good(["exec", "Say hello.", "--recording", "recording.jsonl"]);
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let id = list[0]["id"].as_str().expect("an id").to_owned();
    let log = rusqlite::Connection::open(home.data().join("raddle/sessions.db")).expect("a log");
    assert_eq!(log.execute(change, []).expect("a change"), 1);
    (home, id)
}

/// Where the first event of a type stands.
fn first(kind: &str) -> String {
    format!("seq = (SELECT min(seq) FROM event WHERE type = '{kind}')")
}

#[test]
fn a_damaged_event_costs_no_more_than_itself() {
    let damage = format!(
        "UPDATE event SET data = '{{}}' WHERE {}",
        first("tool.result")
    );
    let (home, id) = changed(&damage);
    let shown = home.good(["session", "show", &id]);
    let damaged: Vec<&str> = shown
        .lines()
        .filter(|line| line.contains("damaged: "))
        .collect();
    assert_eq!(damaged.len(), 1, "{shown}");
    assert!(
        damaged[0].ends_with("damaged: missing field `callId`"),
        "{shown}"
    );
    assert!(
        shown.contains("message.user") && shown.contains("It said hello."),
        "{shown}"
    );
    let seq = damaged[0].split_whitespace().next().expect("a number");

    let done = home.run(["session", "replay", &id]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stderr
            .contains(&format!("[event {seq} is skipped: missing field `callId`]")),
        "{}",
        done.stderr
    );
    assert!(done.stdout.contains("It said hello."), "{}", done.stdout);

    let done = home.run(["session", "export", &id]);
    assert_eq!(done.code, Some(1));
    let left_out =
        format!("error: session `{id}`, event {seq} is left out: missing field `callId`\n");
    assert_eq!(done.stderr, left_out);
    let exported = done.stdout.lines().count();
    assert_eq!(exported + 1, shown.lines().count() - HEAD);

    let done = home.run(["session", "verify", &id]);
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.stderr,
        format!("error: event {seq}: missing field `callId`\n")
    );

    // Nothing is built on a log with a gap.
    let resume = ["run", "--recording", "recording.jsonl", "--resume", &id];
    for refused in [&resume[..], &["prompt", "--session", &id]] {
        let done = home.run(refused);
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        let told = format!("session `{id}`, event {seq}: missing field `callId`");
        assert!(done.stderr.contains(&told), "{}", done.stderr);
    }
}

#[test]
fn a_lost_first_event_of_the_prompt_is_a_fault_and_not_an_empty_session() {
    let (home, id) = changed(&format!("DELETE FROM event WHERE {}", first("generation")));
    let done = home.run(["session", "verify", &id]);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stderr, "error: event 2: missing\n");
    let shown = home.good(["session", "show", &id]);
    assert!(shown.contains("    2  damaged: missing\n"), "{shown}");
}

#[test]
fn an_event_of_a_newer_release_hurts_nobody() {
    let newer = format!(
        r#"UPDATE event SET type = 'usage.detailed', data = '{{"z":1,"a":"b\nc"}}' WHERE {}"#,
        first("usage")
    );
    let (home, id) = changed(&newer);
    let shown = home.good(["session", "show", &id]);
    assert!(
        shown.contains(r#" usage.detailed       {"z":1,"a":"b\nc"}"#),
        "{shown}"
    );
    let exported = home.good(["session", "export", &id]);
    let line = exported
        .lines()
        .find(|line| line.contains("usage.detailed"));
    let line = line.expect("the event");
    assert!(
        line.contains(r#""type":"usage.detailed","data":{"z":1,"a":"b\nc"},"display":false"#),
        "{line}"
    );
    assert_eq!(exported.lines().count(), shown.lines().count() - HEAD);
    let replayed = home.good(["session", "replay", &id]);
    assert!(replayed.contains("It said hello."), "{replayed}");
    let verified = home.good(["session", "verify", &id]);
    assert!(verified.starts_with("2 requests rebuilt"), "{verified}");

    // What it says may matter to the model.
    let done = home.run(["run", "--recording", "recording.jsonl", "--resume", &id]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .contains("its type `usage.detailed` is not known here: use the newer release"),
        "{}",
        done.stderr
    );
}
