//! Components built against the releases of the contract, beside the standard plugins, which are built
//! against the newest.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Home;
use crate::script::Script;

/// The releases, and what is new in each.
const RELEASES: [(&str, &str); 2] = [("0-1-0", "nothing newer"), ("0-1-1", "an echo")];

#[test]
fn a_component_of_each_release_does_all_that_its_release_has() {
    for (release, new) in RELEASES {
        let home = Home::new();
        home.write("name.txt", "loom");
        let component = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .with_file_name("guests")
            .join(format!("release-{release}.wasm"));
        let config = format!(
            r#"
            [model]
            provider = "openai-responses"
            name = "recorded"

            [agent]
            default = "old-agent"

            [plugins.old]
            source = {component:?}
            settings.name = "old"
            grants.workspace = [{{ dir = "<session>", mode = "ro" }}]
            grants.process = {{ programs = ["cat"], cwd = "<session>" }}
            grants.model = {{ max_tokens = 100 }}
            grants.sessions = {{ depth = 1 }}

            [plugins.todo]
            source = "std:todo"

            [[permission.rule]]
            tool = "*"
            action = "allow"
            "#
        );
        home.write("raddle.toml", &config);
        home.good(["check"]);

        let mut script = Script::default();
        let task = json!({"id": "t", "label": "Look", "status": "in_progress"});
        let todo = json!({ "tasks": [task] });
        let words = "Fixed, of the word of old_word.";
        script.call(
            "main/1/1",
            &[("1", "todo", todo)],
            &[("/instructions", words)],
        );
        let told = [("/input", "Look")];
        script.call("main/1/2", &[("2", "old", json!({}))], &told);
        script.say("main/1/3", "end", &[("/input", "loom")]);
        home.write("model.jsonl", script.text());
        let done = home.run(["exec", "--json", "--recording", "model.jsonl", "Go."]);
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        let events = done
            .stdout
            .lines()
            .map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
        let results: Vec<Value> = events
            .filter(|event| event["type"] == "tool.result")
            .collect();
        let last = results.last().expect("a result");
        let expected = format!(
            "files 0, state kept, tasks 1, skills 0, sent old-1, read loom, ran loom, model \
             max-tokens, child did \"little\", step 2; {new}"
        );
        assert_eq!(last["data"]["text"], expected, "{release}");
    }
}
