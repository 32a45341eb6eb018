//! Conversations in a terminal: util-linux's `script` provides one.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Home;
use crate::script::Script;

const CODER: &str = include_str!("../fixtures/coder.toml");
const RECORDING: &str = include_str!("../fixtures/recording.jsonl");

/// The binary in a terminal.
struct Terminal {
    child: std::process::Child,
    keyboard: ChildStdin,
    output: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(home: &Home) -> Self {
        let raddle = home.command(["run"]);
        let mut command = Command::new("script");
        command
            .args(["--quiet", "--return", "--echo", "never", "--command"])
            .arg(format!("exec {} run", env!("CARGO_BIN_EXE_raddle")))
            .arg("/dev/null")
            .current_dir(home.work())
            .env_clear()
            .envs(
                raddle
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .expect("`script` of util-linux is installed");
        let keyboard = child.stdin.take().expect("stdin");
        let mut stdout = child.stdout.take().expect("stdout");
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            keyboard,
            output,
            seen: String::new(),
        }
    }

    /// Waits until `text` stands on the screen, and forgets what stood before it.
    fn see(&mut self, text: &str) {
        loop {
            if let Some(at) = self.seen.find(text) {
                self.seen.drain(..at + text.len());
                return;
            }
            let more = self.output.recv_timeout(Duration::from_secs(60));
            let more = more.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&more));
        }
    }

    fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("typed");
        self.keyboard.flush().expect("typed");
    }

    fn code(mut self) -> Option<i32> {
        let status = self.child.wait().expect("ended");
        drop(self.keyboard);
        status.code()
    }
}

fn recorded(rule: &str) -> Home {
    let home = Home::new();
    let config = CODER
        .replace(
            "name = \"test-model\"\n",
            "name = \"test-model\"\nrecording = \"recording.jsonl\"\n",
        )
        .replace("echo *", rule);
    home.write("raddle.toml", &config);
    home.write("recording.jsonl", RECORDING);
    home
}

#[test]
fn the_recorded_message_stands_ready() {
    let home = recorded("echo *");
    let mut terminal = Terminal::start(&home);
    terminal.see("coder · test-model · replay · 4 plugins");
    terminal.see("Say hello.");
    terminal.type_in("\u{15}Something else\r");
    terminal.see("answers only what stands ready");
    terminal.see("set the environment variable OPENAI_API_KEY");
    terminal.see("Say hello.");
    terminal.type_in("\r");
    terminal.see("● bash echo hello");
    terminal.see("It said hello.");
    terminal.see("> ");
    terminal.type_in("/tools\r");
    terminal.see("Runs a command line in bash");
    terminal.type_in("/prompt\r");
    terminal.see("You are coder, powered by test-model.");
    terminal.type_in("/plugin\r");
    terminal.see("did you mean `/plugins`?");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn the_user_is_asked_for_what_no_rule_allows() {
    let home = recorded("never");
    let mut terminal = Terminal::start(&home);
    terminal.see("Say hello.");
    terminal.type_in("\r");
    terminal.see("bash of plugin bash wants to run");
    terminal.see("command: echo hello");
    terminal.see("[n]o? ");
    terminal.type_in("y\r");
    terminal.see("It said hello.");
    terminal.see("> ");
    terminal.type_in("\u{4}");
    assert_eq!(terminal.code(), Some(0));
}

#[test]
fn a_no_is_told_to_the_model() {
    let home = recorded("never");
    home.write(
        "recording.jsonl",
        &RECORDING.replace("\"contains\": \"hello\\n\"", "\"contains\": \"denied\""),
    );
    let mut terminal = Terminal::start(&home);
    terminal.see("Say hello.");
    terminal.type_in("\r");
    terminal.see("[n]o? ");
    terminal.type_in("n\r");
    terminal.see("bash is not permitted (user)");
    terminal.see("It said hello.");
    terminal.see("> ");
    terminal.type_in("\u{3}");
    assert_eq!(terminal.code(), Some(130));
}

#[test]
fn ctrl_c_cancels_the_run_and_not_the_conversation() {
    let home = recorded("echo started; sleep 20");
    home.write(
        "recording.jsonl",
        &RECORDING.replace("echo hello", "echo started; sleep 20"),
    );
    let mut terminal = Terminal::start(&home);
    terminal.see("Say hello.");
    terminal.type_in("\r");
    terminal.see("  started");
    terminal.type_in("\u{3}");
    terminal.see("[cancelled]");
    terminal.see("> ");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.code(), Some(0));
}

/// Words, plugins and code can be changed under a conversation: what is good is taken over with the
/// next message, what is bad is refused with the reason, and the words before go on.
#[test]
fn a_changed_deployment_is_taken_over_with_the_next_message() {
    const DEPLOYMENT: &str = r#"
[model]
provider = "openai-responses"
name = "test-model"
recording = "recording.jsonl"

[plugins.style]
source = "std:text"
settings.sections = [{ name = "style", order = 10, file = "style.md" }]
"#;
    const PROVIDER: &str = r#"
[plugins.spawn]
source = "std:spawn"
grants.sessions = { depth = 1 }
"#;
    const TOOL: &str = r#"
[plugins.subagent]
source = "std:subagent"
settings.provider = "spawn"
grants.sessions = { depth = 1 }
"#;
    let home = Home::new();
    home.write("raddle.toml", &format!("{DEPLOYMENT}{PROVIDER}{TOOL}"));
    home.write("style.md", "Be brief.");
    let answers = [
        ("one", "Be brief.", "does not see this conversation"),
        ("two", "Be kind.", "does not see this conversation"),
        ("three", "Be kind.", "inherits the completed turns"),
    ];
    let messages: Vec<&str> = answers.iter().map(|(word, ..)| *word).collect();
    let mut lines = vec![json!({"recording": 1, "message": messages})];
    for (run, (word, style, tool)) in answers.iter().enumerate() {
        lines.push(json!({
            "key": format!("main/{}/1", run + 1),
            "chunks": [{"text": format!("Answer {word}.")}, {"finish": "stop"}],
            "expect": [
                {"pointer": "/instructions", "contains": style},
                {"pointer": "/tools", "contains": tool},
            ],
        }));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    home.write("recording.jsonl", &lines.join("\n"));

    let mut terminal = Terminal::start(&home);
    terminal.see("one");
    terminal.type_in("\r");
    terminal.see("Answer one.");
    terminal.see("two");
    home.write("style.md", "Be kind.");
    terminal.see("[reloaded: `style` changed; from the next message on]");
    terminal.type_in("\r");
    terminal.see("[cache break: `style` of style, byte 3 of system]");
    terminal.see("Answer two.");
    terminal.see("three");

    home.write(
        "raddle.toml",
        &format!("{DEPLOYMENT}{PROVIDER}{TOOL}[plugin.x]"),
    );
    terminal.see("not reloaded: raddle.toml:");
    terminal.see("unknown key `plugin`");
    let fork = PROVIDER.replace("std:spawn", "std:fork");
    let fork = fork.replace("grants", "settings.provider = \"spawn\"\ngrants");
    home.write("raddle.toml", &format!("{DEPLOYMENT}{fork}{TOOL}"));
    terminal.see("[reloaded: `spawn` changed; from the next message on]");
    terminal.type_in("\r");
    terminal.see("[cache break: `subagent` of subagent");
    terminal.see("Answer three.");
    terminal.see("> ");
    home.write("raddle.toml", &format!("{DEPLOYMENT}{TOOL}"));
    terminal.see("[reloaded: `spawn` is gone");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.code(), Some(0));
}

const ASIDE: &str = r#"
[model]
provider = "openai-responses"
name = "test-model"
recording = "recording.jsonl"

[[permission.rule]]
tool = "*"
action = "allow"
"#;

/// "A provider that takes seconds to activate delays nobody else and loses nothing."
#[test]
fn a_provider_that_is_late_delays_nobody_and_is_there_when_it_is() {
    let home = Home::new();
    let guests = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("guests");
    let plugins = format!(
        r#"
[plugins.slow]
source = {:?}
late = true
settings.rounds = 500000000
limits.timeout = "600s"

[plugins.subagent]
source = "std:subagent"
settings.provider = "slow"
grants.sessions = {{ depth = 1 }}

[plugins.todo]
source = "std:todo"
"#,
        guests.join("slow.wasm")
    );
    home.write("raddle.toml", &format!("{ASIDE}{plugins}"));
    let mut script = Script::of_all(&["one", "two"]);
    script.say("main/1/1", "Answer one.", &[("/tools", "todo")]);
    let ask = [("a", "subagent", json!({ "prompt": "it." }))];
    script.call("main/2/1", &ask, &[("/tools", "\"subagent\"")]);
    script.say("main/2/2", "Answer two.", &[("/input", "Did it.")]);
    home.write("recording.jsonl", script.text());

    let mut terminal = Terminal::start(&home);
    terminal.see("still to come: `slow`");
    terminal.see("one");
    terminal.type_in("\r");
    terminal.see("Answer one.");
    terminal.see("two");
    terminal.see("[reloaded: `slow` is new; from the next message on]");
    terminal.type_in("\r");
    terminal.see("[cache break: `subagent` of subagent");
    terminal.see("Answer two.");
    terminal.see("> ");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.code(), Some(0));
}

/// One that keeps failing is left out, if the deployment can do without it: from the next message on.
#[test]
fn an_optional_plugin_that_keeps_failing_is_left_out() {
    let home = Home::new();
    let guests = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("guests");
    let fickle = format!(
        "[plugins.todo]\nsource = \"std:todo\"\n[plugins.fickle]\nsource = {:?}\n\
         optional = true\nlimits.strikes = 2\n",
        guests.join("fickle.wasm")
    );
    home.write("raddle.toml", &format!("{ASIDE}{fickle}"));
    let mut script = Script::of_all(&["one", "two"]);
    let fail = |id| [(id, "fickle", json!({ "fail": true }))];
    script.call("main/1/1", &fail("a"), &[("/tools", "\"fickle\"")]);
    script.call("main/1/2", &fail("b"), &[("/input", "plugin-fault")]);
    script.say("main/1/3", "Answer one.", &[("/input", "plugin-fault")]);
    script.say("main/2/1", "Answer two.", &[("/tools", "todo")]);
    home.write("recording.jsonl", script.text());

    let mut terminal = Terminal::start(&home);
    terminal.see("one");
    terminal.type_in("\r");
    terminal.see("[fickle kept failing and is not called any more]");
    terminal.see("[reloaded: `fickle` is gone; from the next message on]");
    terminal.see("two");
    terminal.type_in("\r");
    terminal.see("[cache break: `fickle` of fickle");
    terminal.see("Answer two.");
    terminal.see("> ");
    // Whatever else changes, it stays out; when it is mended, it is there again.
    home.write("raddle.toml", &format!("{ASIDE}{fickle}# more\n"));
    terminal.see("[reloaded: raddle.toml changed");
    let mended = fickle.replace("strikes = 2", "strikes = 3");
    home.write("raddle.toml", &format!("{ASIDE}{mended}"));
    terminal.see("[reloaded: `fickle` is new");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.code(), Some(0));
}

/// "Add, edit and remove a skill file during a session": the system prompt stays, the edited body is
/// served with the next activation, and what was removed is not there any more.
#[test]
fn edited_skills_are_served_without_touching_the_prefix() {
    const DEPLOYMENT: &str = r#"
[model]
provider = "openai-responses"
name = "test-model"
recording = "recording.jsonl"

[plugins.skills]
source = "std:skills"
settings.roots = ["skills"]
"#;
    let skill = |name: &str, body: &str| {
        format!("---\nname: {name}\ndescription: Use for {name}.\n---\n{body}\n")
    };
    let home = Home::new();
    home.write("raddle.toml", DEPLOYMENT);
    home.write("skills/tea/SKILL.md", &skill("tea", "Boil the water."));
    home.write("skills/soup/SKILL.md", &skill("soup", "Cut the onions."));
    let load = |name: &str| json!({"call": {"name": "skill", "arguments": {"name": name}}});
    let calls = json!({"finish": "toolCalls"});
    let says = |text: &str| json!([{"text": text}, {"finish": "stop"}]);
    let holds = |text: &str| json!([{"pointer": "/input", "contains": text}]);
    let lines = [
        json!({"recording": 1, "message": ["one", "two"]}),
        json!({"key": "main/1/1", "chunks": says("Answer one."), "expect": holds("one")}),
        json!({"key": "main/2/1", "chunks": [load("tea"), load("soup"), calls],
               "expect": [{"pointer": "/instructions", "contains": "Use for soup."}]}),
        json!({"key": "main/2/2", "chunks": says("Answer two."), "expect": [
            {"pointer": "/input/5/output", "contains": "Warm the pot."},
            {"pointer": "/input/6/output", "contains": "soup"},
        ]}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    home.write("recording.jsonl", &lines.join("\n"));
    let mut terminal = Terminal::start(&home);
    terminal.see("one");
    terminal.type_in("\r");
    terminal.see("Answer one.");
    terminal.see("two");
    home.write("skills/tea/SKILL.md", &skill("tea", "Warm the pot."));
    home.write("skills/cake/SKILL.md", &skill("cake", "Beat the eggs."));
    std::fs::remove_dir_all(home.work().join("skills/soup")).expect("removed");
    terminal.see("[new texts of `skills`: read when they are used next]");
    terminal.type_in("\r");
    terminal.see("Answer two.");
    terminal.see("> ");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.code(), Some(0));
    let list: Value =
        serde_json::from_str(&home.good(["session", "list", "--json"])).expect("JSON");
    let id = list[0]["id"].as_str().expect("an id");
    let log = home.good(["session", "export", id]);
    assert!(!log.contains("cache.break"), "{log}");
    home.good(["session", "verify", id]);
}
