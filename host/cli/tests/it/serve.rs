//! Conversations over HTTP.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::{Value, json};

use crate::harness::Home;
use crate::http::{Answer, Sent, Served};
use crate::script::Script;

const DEPLOYMENT: &str = r#"
[model]
provider = "openai-chat"
name = "recorded"

[store]
path = "sessions.db"

[plugins.injections]
source = "std:injections"

[plugins.yield]
source = "std:yield"

[[permission.rule]]
tool = "*"
action = "allow"
"#;

fn home(more: &str, script: &Script) -> Home {
    let home = Home::new();
    home.write("raddle.toml", &format!("{DEPLOYMENT}{more}"));
    home.write("model.jsonl", script.text());
    home
}

/// One answer.
fn hello() -> Script {
    let mut script = Script::default();
    script.say("main/1/1", "Hello.", &[("/input", "Hi")]);
    script
}

fn serve(home: &Home) -> Served {
    Served::start(home, &["--recording", "model.jsonl"], &[])
}

fn say(served: &Served, body: Value) -> Answer {
    let answer = served.post("/api/converse", &[], &body);
    assert_eq!(answer.status, 200, "{}", answer.head);
    answer
}

fn logged(events: &[Sent]) -> Vec<u64> {
    events.iter().filter_map(|sent| sent.id).collect()
}

fn one_after_the_other(numbers: &[u64]) -> bool {
    numbers.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// A model service that says a piece of its answer whenever it is told to.
struct Model {
    url: String,
    pieces: Sender<String>,
}

impl Model {
    /// Serves `answers` requests, one after the other.
    fn start(answers: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (pieces, said): (Sender<String>, Receiver<String>) = channel();
        std::thread::spawn(move || {
            for _ in 0..answers {
                let Ok((mut stream, _)) = listener.accept() else {
                    return;
                };
                let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).expect("a line");
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
                        length = value.trim().parse().expect("a number");
                    }
                    if line.trim().is_empty() {
                        break;
                    }
                }
                reader.read_exact(&mut vec![0; length]).expect("a body");
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                            Connection: close\r\n\r\n";
                stream.write_all(head.as_bytes()).expect("sent");
                for piece in said.iter() {
                    let (delta, finish) = match piece.as_str() {
                        "" => (json!({}), json!("stop")),
                        text => (json!({ "content": text }), Value::Null),
                    };
                    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
                    let chunk = json!({"id": "1", "choices": [choice]});
                    // It may have been cancelled.
                    let _ = stream.write_all(format!("data: {chunk}\n\n").as_bytes());
                    if piece.is_empty() {
                        let _ = stream.write_all(b"data: [DONE]\n\n");
                        break;
                    }
                }
            }
        });
        Self { url, pieces }
    }

    /// The next piece; an empty one ends the answer.
    fn say(&self, piece: &str) {
        self.pieces.send(piece.to_owned()).expect("a model");
    }

    fn home(&self) -> Home {
        let home = Home::new();
        let url = format!("name = \"recorded\"\nbase_url = \"{}\"", self.url);
        let config = DEPLOYMENT.replace("name = \"recorded\"", &url);
        home.write("raddle.toml", &config);
        home
    }
}

#[test]
fn a_conversation_goes_on_in_its_session_and_says_what_it_was_about() {
    let mut script = Script::default();
    script.say("main/1/1", "Hello.", &[("/input", "Hi")]);
    let blocking = json!({"message": "Which one?", "blockOnUser": true, "intent": "question"});
    let call = [("a", "message_user", blocking)];
    script.call("main/2/1", &call, &[("/input", "Hello.")]);
    let home = home("", &script);
    let served = serve(&home);
    let events = say(&served, json!({ "message": "Hi" })).events("");
    let kinds: Vec<&str> = events.iter().map(|sent| &*sent.event).collect();
    assert_eq!(
        kinds,
        [
            "run.started",
            "generation",
            "message.user",
            "text.delta",
            "message.assistant",
            "run.ended",
            "done"
        ]
    );
    assert!(one_after_the_other(&logged(&events)));
    let done = events.last().expect("an event");
    assert_eq!(
        done.data["data"],
        json!({"message": "Hello.", "intent": "answer"})
    );
    let session = done.data["session"].as_str().expect("an id");

    let events = say(&served, json!({"session": session, "message": "More."})).events("");
    let done = events.last().expect("an event");
    let about = json!({"message": "Which one?", "intent": "question"});
    assert_eq!(done.data["data"], about);
    let shown = served.get(&format!("/api/sessions/{session}"), &[]).json();
    assert_eq!(shown["running"], false);
    let list = served.get("/api/sessions", &[]).json();
    assert_eq!(list[0]["id"], session);
    assert_eq!(list[0]["title"], "Hi");
    home.good(["session", "verify", session]);
}

/// "Disconnect mid-run, reconnect with and without Last-Event-ID; two subscribers": the run goes on,
/// what was missed comes exactly once, what the answer said so far comes once, an unknown id gives one
/// `resync`.
#[test]
fn who_comes_back_misses_nothing_and_hears_nothing_twice() {
    let model = Model::start(1);
    let home = model.home();
    let served = Served::start(&home, &[], &[]);
    let mut first = say(&served, json!({ "message": "Hi" }));
    model.say("One, ");
    let events = first.events("text.delta");
    let session = events[0].data["session"]
        .as_str()
        .expect("an id")
        .to_owned();
    let seen = logged(&events);
    // It hangs up; nobody listens, and the run goes on.
    drop(first);
    model.say("two, ");

    let path = format!("/api/sessions/{session}/events");
    let last = seen.last().expect("events").to_string();
    let follow = |headers: &[(&str, &str)], query: &str| {
        let answer = served.get(&format!("{path}{query}"), headers);
        assert_eq!(answer.status, 200, "{}", answer.head);
        answer
    };
    // Until both pieces have arrived there.
    loop {
        let mut looking = follow(&[("Last-Event-ID", &last)], "");
        let piece = looking.event().expect("an event");
        if piece.data["data"]["text"] == "One, two, " {
            break;
        }
    }
    let mut back = follow(&[("Last-Event-ID", &last)], "");
    let mut anew = follow(&[], "");
    let mut all = follow(&[], "?after=0");
    let mut lost = follow(&[("Last-Event-ID", "99999")], "");
    let mut odd = follow(&[("Last-Event-ID", "banana")], "");
    let told = |answer: &mut Answer| answer.events("text.delta");
    let heard = [&mut back, &mut anew, &mut all, &mut lost, &mut odd].map(told);
    for events in &heard {
        let piece = events.last().expect("a piece");
        assert_eq!(piece.data["data"], json!({"text": "One, two, ", "at": 0}));
        assert_eq!(piece.id, None);
    }
    model.say("three.");
    model.say("");
    let rest =
        [&mut back, &mut anew, &mut all, &mut lost, &mut odd].map(|answer| answer.events("done"));
    for (events, more) in heard.iter().zip(&rest) {
        let pieces = more.iter().filter(|sent| sent.event == "text.delta");
        let pieces: Vec<&Value> = pieces.map(|sent| &sent.data["data"]).collect();
        assert_eq!(pieces, [&json!({"text": "three.", "at": 10})]);
        let numbers = [logged(events), logged(more)].concat();
        assert!(one_after_the_other(&numbers), "{numbers:?}");
    }
    assert_eq!(logged(&rest[0])[0], seen.last().expect("events") + 1);
    assert_eq!(logged(&heard[1])[0], 1);
    assert_eq!(logged(&heard[2])[0], 1);
    for events in &heard[3..] {
        assert_eq!(events[0].event, "resync");
        assert_eq!(logged(events)[0], 1);
    }
}

/// Nobody reads, and more is told than anything holds: afterwards the log is told, each event once.
#[test]
fn who_reads_too_slowly_is_told_from_the_log() {
    let model = Model::start(1);
    let home = model.home();
    let served = Served::start(&home, &[], &[]);
    let mut slow = say(&served, json!({ "message": "Hi" }));
    let session = slow.event().expect("an event").data["session"].clone();
    let session = session.as_str().expect("an id");
    let piece = "x".repeat(2000);
    for _ in 0..20_000 {
        model.say(&piece);
    }
    model.say("");
    let mut quick = served.get(&format!("/api/sessions/{session}/events?after=0"), &[]);
    let whole = quick.events("done");
    let events = slow.events("");
    assert_eq!(events.last().expect("an event").event, "done");
    assert_eq!(logged(&events), logged(&whole)[1..]);
    let mut said = String::new();
    for sent in events.iter().filter(|sent| sent.event == "text.delta") {
        let data = &sent.data["data"];
        let at = data["at"].as_u64().expect("a place");
        // What it missed comes again as one, from the beginning.
        if at == 0 {
            said.clear();
        }
        assert_eq!(at, said.len() as u64);
        said.push_str(data["text"].as_str().expect("a text"));
    }
    let pieces = events.iter().filter(|sent| sent.event == "text.delta");
    assert!(pieces.count() < 20_000);
}

#[test]
fn two_hundred_conversations_at_once_are_each_whole_and_in_order() {
    let mut script = Script::default();
    let call = [(
        "a",
        "message_user",
        json!({"message": "At work.", "blockOnUser": false}),
    )];
    script.call("main/1/1", &call, &[("/input", "I am")]);
    script.say("main/1/2", "Done.", &[("/input", "I am")]);
    let home = home("", &script);
    let served = serve(&home);
    let sessions: Vec<String> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..200)
            .map(|number| {
                let served = &served;
                scope.spawn(move || {
                    let message = format!("I am {number}.");
                    let events = say(served, json!({ "message": message })).events("");
                    assert!(one_after_the_other(&logged(&events)));
                    assert_eq!(logged(&events)[0], 1);
                    assert_eq!(events.last().expect("an event").event, "done");
                    let session = events[0].data["session"].as_str().expect("an id");
                    assert!(events.iter().all(|sent| sent.data["session"] == session));
                    let own = events.iter().filter(|sent| sent.event == "message.user");
                    let own: Vec<&Value> = own.map(|sent| &sent.data["data"]["text"]).collect();
                    assert_eq!(own, [&json!(message)]);
                    let told = events.iter().filter(|sent| sent.event == "yield");
                    assert_eq!(told.count(), 1);
                    session.to_owned()
                })
            })
            .collect();
        let ended = clients
            .into_iter()
            .map(|client| client.join().expect("good"));
        ended.collect()
    });
    let different: BTreeSet<&String> = sessions.iter().collect();
    assert_eq!(different.len(), 200);
    for session in sessions.iter().step_by(50) {
        home.good(["session", "verify", session]);
    }
}

#[test]
fn what_clients_send_is_checked() {
    let mut script = Script::default();
    script.say("main/1/1", "Hello.", &[("/input", "Hi")]);
    let home = home("", &script);
    let served = serve(&home);
    let json = ("Content-Type", "application/json");
    let long = json!({ "message": "x".repeat(500_000) }).to_string();
    let huge = json!({ "message": "x".repeat(3_000_000) }).to_string();
    for (method, path, headers, body, status, code) in [
        ("POST", "/api/converse", vec![json], "", 400, "invalid"),
        ("POST", "/api/converse", vec![json], "[]", 400, "invalid"),
        (
            "POST",
            "/api/converse",
            vec![json],
            "{\"message\": 1}",
            400,
            "invalid",
        ),
        (
            "POST",
            "/api/converse",
            vec![json],
            "{\"message\": \" \"}",
            400,
            "invalid",
        ),
        (
            "POST",
            "/api/converse",
            vec![json],
            "{\"message\": \"Hi\", \"x\": 1}",
            400,
            "invalid",
        ),
        (
            "POST",
            "/api/converse",
            vec![json],
            "{\"message\": \"Hi\", \"variant\": \"x\"}",
            400,
            "invalid",
        ),
        (
            "POST",
            "/api/converse",
            vec![json],
            "{\"message\": \"Hi\", \"session\": \"../x\"}",
            404,
            "not-found",
        ),
        (
            "POST",
            "/api/converse",
            vec![],
            "{\"message\": \"Hi\"}",
            415,
            "media-type",
        ),
        ("POST", "/api/converse", vec![json], &long, 400, "invalid"),
        ("POST", "/api/converse", vec![json], &huge, 413, "too-large"),
        ("GET", "/api/converse", vec![], "", 405, "method"),
        (
            "GET",
            "/api/sessions/..%2F..%2Fetc",
            vec![],
            "",
            404,
            "not-found",
        ),
        ("GET", "/../../etc/passwd", vec![], "", 404, "not-found"),
        ("GET", "/api/sessions?skip=-1", vec![], "", 400, "invalid"),
        (
            "GET",
            "/api/sessions",
            vec![("Host", "evil.example")],
            "",
            403,
            "forbidden",
        ),
        (
            "GET",
            "/api/sessions",
            vec![("Origin", "https://evil.example")],
            "",
            403,
            "forbidden",
        ),
        (
            "POST",
            "/api/sessions/nobody/injections",
            vec![json],
            "{}",
            404,
            "not-found",
        ),
        (
            "POST",
            "/api/sessions/nobody/cancel",
            vec![json],
            "{}",
            404,
            "not-found",
        ),
    ] {
        let answer = served.ask(method, path, &headers, body);
        assert_eq!(answer.status, status, "{method} {path} {}", answer.head);
        let kind = "content-type: application/problem+json";
        assert!(answer.head.contains(kind), "{}", answer.head);
        assert_eq!(answer.json()["code"], code, "{method} {path}");
    }
    // It is still there.
    assert_eq!(
        served.get("/api/health", &[]).json(),
        json!({"status": "ok"})
    );
    let events = say(&served, json!({ "message": "Hi" })).events("");
    assert_eq!(events.last().expect("an event").event, "done");
}

#[test]
fn a_token_is_good_for_its_scopes_and_its_own_sessions() {
    const TOKENS: &str = r#"
[[serve.token]]
name = "web"
env = "WEB_TOKEN"
scopes = ["converse"]

[[serve.token]]
name = "phone"
env = "PHONE_TOKEN"
scopes = ["converse"]

[[serve.token]]
name = "ops"
env = "OPS_TOKEN"
scopes = ["inspect", "inject"]
"#;
    let mut script = Script::default();
    script.say("main/1/1", "Hello.", &[("/input", "Hi")]);
    let home = home(TOKENS, &script);
    let secrets = [
        ("WEB_TOKEN", "0123456789abcdef-web"),
        ("PHONE_TOKEN", "0123456789abcdef-phone"),
        ("OPS_TOKEN", "0123456789abcdef-ops"),
    ];
    let served = Served::start(&home, &["--recording", "model.jsonl"], &secrets);
    let [web, phone, ops] = secrets.map(|(_, secret)| format!("Bearer {secret}"));
    let ask = |token: &str, path: &str| served.get(path, &[("Authorization", token)]).status;
    assert_eq!(served.get("/api/sessions", &[]).status, 401);
    assert_eq!(ask("Bearer 0123456789abcdef", "/api/sessions"), 401);
    assert_eq!(ask("Basic 0123456789abcdef-web", "/api/sessions"), 401);

    let body = json!({ "message": "Hi" });
    let forbidden = served.post("/api/converse", &[("Authorization", &ops)], &body);
    assert_eq!(forbidden.status, 403);
    let mut answer = served.post("/api/converse", &[("Authorization", &web)], &body);
    assert_eq!(answer.status, 200);
    let events = answer.events("");
    let session = events[0].data["session"].as_str().expect("an id");
    for (path, as_web, as_phone, as_ops) in [
        (format!("/api/sessions/{session}"), 200, 404, 200),
        (format!("/api/sessions/{session}/events"), 200, 404, 200),
        ("/api/metrics".to_owned(), 403, 403, 200),
        ("/api/sessions".to_owned(), 200, 200, 200),
    ] {
        let statuses = (ask(&web, &path), ask(&phone, &path), ask(&ops, &path));
        assert_eq!(statuses, (as_web, as_phone, as_ops), "{path}");
    }
    let list = |token: &str| {
        let list = served
            .get("/api/sessions", &[("Authorization", token)])
            .json();
        list.as_array().expect("a list").len()
    };
    assert_eq!((list(&web), list(&phone), list(&ops)), (1, 0, 1));
    let go_on = json!({"session": session, "message": "Hi"});
    let foreign = served.post("/api/converse", &[("Authorization", &phone)], &go_on);
    assert_eq!(foreign.status, 404);
    // A client cannot tell the agent what happened outside.
    let inject = |token: &str| {
        let path = format!("/api/sessions/{session}/injections");
        let headers = [("Authorization", token)];
        served
            .post(&path, &headers, &injection("evt_1", "system_note"))
            .status
    };
    assert_eq!((inject(&web), inject(&ops), inject(&ops)), (403, 202, 202));
}

fn injection(id: &str, kind: &str) -> Value {
    json!({
        "id": id, "kind": kind, "occurredAt": "2026-03-01T09:30:00Z", "source": "server",
        "requiresDecision": false, "summary": "The build is green.", "subject": {}, "origin": {},
    })
}

#[test]
fn without_a_token_nobody_else_is_served() {
    let home = home("", &hello());
    let done = home.run([
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--recording",
        "model.jsonl",
    ]);
    assert_eq!(done.code, Some(2), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("[[serve.token]]"), "{}", done.stderr);
    home.write(
        "raddle.toml",
        &format!(
            "{DEPLOYMENT}[[serve.token]]\nname = \"a\"\nenv = \"NO_SUCH_TOKEN\"\n\
             scopes = [\"converse\"]\n"
        ),
    );
    let done = home.run([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--recording",
        "model.jsonl",
    ]);
    assert_eq!(done.code, Some(3), "{}{}", done.stdout, done.stderr);
    assert!(done.stderr.contains("NO_SUCH_TOKEN"), "{}", done.stderr);
}

#[test]
fn what_happens_outside_is_told_and_wakes_who_has_to_decide() {
    let mut script = Script::default();
    script.say("main/1/1", "Hello.", &[("/input", "Hi")]);
    script.say("main/2/1", "Good.", &[("/input", "The build is green.")]);
    let home = home("", &script);
    let served = serve(&home);
    let events = say(&served, json!({ "message": "Hi" })).events("");
    let session = events[0].data["session"].as_str().expect("an id");
    let path = format!("/api/sessions/{session}/injections");
    for (body, status) in [
        (injection("evt_1", "no_such_kind"), 400),
        (json!({"id": "evt_1"}), 400),
        (json!("evt_1"), 400),
        (injection("evt_1", "system_note"), 202),
        (injection("evt_1", "system_note"), 202),
    ] {
        assert_eq!(served.post(&path, &[], &body).status, status, "{body}");
    }
    let events = say(&served, json!({"session": session, "message": "And?"})).events("");
    let told = events
        .iter()
        .filter(|sent| sent.event == "injection.delivered");
    assert_eq!(told.count(), 1);
}

#[test]
fn one_answer_at_a_time_and_it_can_be_cancelled() {
    let model = Model::start(2);
    let home = model.home();
    let served = Served::start(&home, &[], &[]);
    let mut first = say(&served, json!({ "message": "Hi" }));
    model.say("One, ");
    let events = first.events("text.delta");
    let session = events[0].data["session"].as_str().expect("an id");
    let more = json!({"session": session, "message": "More."});
    let busy = served.post("/api/converse", &[], &more);
    assert_eq!(
        (busy.status, busy.json()["code"].clone()),
        (409, json!("busy"))
    );
    let other = home.run(["exec", "--resume", session, "Me too."]);
    assert_eq!(other.code, Some(3), "{}", other.stderr);
    assert!(other.stderr.contains("in use"), "{}", other.stderr);

    let path = format!("/api/sessions/{session}/cancel");
    assert_eq!(
        served.post(&path, &[], &json!({})).json(),
        json!({"cancelled": true})
    );
    let rest = first.events("");
    let ended = rest.iter().find(|sent| sent.event == "run.ended");
    assert_eq!(ended.expect("an end").data["data"]["cause"], "cancelled");
    assert_eq!(rest.last().expect("an event").event, "done");
    assert_eq!(
        served.post(&path, &[], &json!({})).json(),
        json!({"cancelled": false})
    );
    model.say("");
    model.say("Two.");
    model.say("");
    let events = say(&served, more).events("");
    let done = &events.last().expect("an event").data["data"];
    assert_eq!(done["message"], "Two.");
}

/// A run may end before the process does; what has not ended by then is cancelled, in order.
#[test]
fn who_is_told_to_end_ends_what_has_begun() {
    for (grace, cause) in [("60", "answered"), ("0", "cancelled")] {
        let model = Model::start(1);
        let home = model.home();
        let mut served = Served::start(&home, &["--grace", grace], &[]);
        let mut answer = say(&served, json!({ "message": "Hi" }));
        model.say("One, ");
        let events = answer.events("text.delta");
        let session = events[0].data["session"].as_str().expect("an id");
        served.signal("TERM");
        if cause == "answered" {
            model.say("two.");
            model.say("");
        }
        let rest = answer.events("");
        let ended = rest.iter().find(|sent| sent.event == "run.ended");
        assert_eq!(ended.expect("an end").data["data"]["cause"], cause);
        assert_eq!(served.code(), Some(0));
        home.good(["session", "verify", session]);
    }
}

#[test]
fn a_changed_deployment_is_taken_over_with_the_next_message() {
    let style = "[plugins.style]\nsource = \"std:text\"\n\
                 settings.sections = [{ name = \"style\", order = 9, file = \"style.md\" }]\n";
    let mut script = Script::default();
    script.say("main/1/1", "One.", &[("/instructions", "Be brief.")]);
    script.say("main/2/1", "Two.", &[("/instructions", "Be kind.")]);
    let home = home(style, &script);
    home.write("style.md", "Be brief.");
    let mut command = home.command([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--recording",
        "model.jsonl",
    ]);
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut notices = BufReader::new(child.stderr.take().expect("stderr"));
    let served = Served::of(child);
    let events = say(&served, json!({ "message": "Hi" })).events("");
    let session = events[0].data["session"]
        .as_str()
        .expect("an id")
        .to_owned();
    home.write("style.md", "Be kind.");
    let mut line = String::new();
    while !line.contains("reloaded: `style` changed") {
        line.clear();
        assert_ne!(notices.read_line(&mut line).expect("a line"), 0);
    }
    let events = say(&served, json!({"session": session, "message": "More."})).events("");
    let broken = events.iter().find(|sent| sent.event == "cache.break");
    let broken = &broken.expect("a cache break").data["data"];
    assert_eq!(broken["plugin"], "style");
    assert_eq!(
        events.last().expect("an event").data["data"]["message"],
        "Two."
    );
}

#[test]
fn the_description_is_made_from_what_is_served() {
    let home = home("", &hello());
    let served = serve(&home);
    let description = served.get("/api/openapi.json", &[]).json();
    let paths = description["paths"].as_object().expect("paths");
    for path in [
        "/api/converse",
        "/api/health",
        "/api/metrics",
        "/api/sessions",
        "/api/sessions/{id}",
        "/api/sessions/{id}/cancel",
        "/api/sessions/{id}/events",
        "/api/sessions/{id}/injections",
    ] {
        assert!(paths.contains_key(path), "{path}");
    }
    let text = served.get("/api/metrics", &[]).text();
    assert!(
        text.contains("raddle_requests_total{status=\"200\"}"),
        "{text}"
    );
}
