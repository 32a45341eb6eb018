//! The deployments in `examples/`: their whole prompts, and what their recordings do.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::Home;

#[test]
fn the_prompt_of_minimal_is_known() {
    assert_prompt("minimal", &Home::new());
}

#[test]
fn the_prompt_of_the_coding_agent_is_known() {
    assert_prompt("coding-agent", &with_project());
}

#[test]
fn every_example_passes_its_check() {
    for example in ["minimal", "coding-agent"] {
        let config = folder(example).join("raddle.toml");
        Home::new().good(["check".as_ref(), "-c".as_ref(), config.as_os_str()]);
    }
}

#[test]
fn the_recorded_coding_agent_really_mends_its_project() {
    let home = with_project();
    let config = folder("coding-agent").join("raddle.toml");
    let run = home.run(["run".as_ref(), "-c".as_ref(), config.as_os_str()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stderr.contains("OPENAI_API_KEY"),
        "says why it is recorded"
    );
    assert!(home.read("greet.sh").ends_with("greet \"${1:-world}\"\n"));
    assert!(run.stderr.contains("[exit code: 0]"), "{}", run.stderr);
}

/// The system prompt, the context and the tools, as sent.
fn assert_prompt(example: &str, home: &Home) {
    let folder = folder(example);
    let config = folder.join("raddle.toml");
    let shown = home.good([
        "prompt".as_ref(),
        "--json".as_ref(),
        "-c".as_ref(),
        config.as_os_str(),
    ]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut parts = vec![text(&shown["system"])];
    for entry in shown["context"].as_array().expect("entries") {
        parts.push(text(&entry["text"]));
    }
    for tool in shown["tools"].as_array().expect("tools") {
        parts.push(serde_json::to_string_pretty(tool).expect("JSON"));
    }
    let work = fs::canonicalize(home.work()).expect("the working folder");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let prompt = parts
        .join("\n\n────\n\n")
        .replace(&work.display().to_string(), "[directory]");
    settings.bind(|| insta::assert_snapshot!("prompt", without_today(&prompt)));
}

/// The one line that differs from day to day and from machine to machine.
fn without_today(prompt: &str) -> String {
    let lines = prompt
        .lines()
        .map(|line| match line.starts_with("It is 2") {
            true => "It is [date], on [platform].",
            false => line,
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn with_project() -> Home {
    let home = Home::new();
    for file in fs::read_dir(folder("coding-agent").join("project")).expect("the project") {
        let file = file.expect("a file").path();
        let text = fs::read_to_string(&file).expect("text");
        home.write(&file.file_name().expect("a name").to_string_lossy(), &text);
    }
    home
}

fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(example)
}
