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
fn the_prompt_of_gamma_is_known() {
    assert_prompt("gamma", &Home::new());
}

/// "A small number of prompt variants": the common root prefix is the same, byte for byte, until the
/// variant begins.
#[test]
fn the_variants_of_gamma_share_the_root_prefix() {
    let config = folder("gamma").join("raddle.toml");
    let prompt = |variant: &str| {
        let arguments = ["prompt", "--json", "--variant", variant, "-c"];
        let arguments = arguments
            .iter()
            .map(AsRef::as_ref)
            .chain([config.as_os_str()]);
        let shown: Value = serde_json::from_str(&home_of("gamma").good(arguments)).expect("JSON");
        (
            shown["system"].as_str().expect("a text").to_owned(),
            shown["tools"].clone(),
        )
    };
    let home = |text: &str| {
        // Each is asked in a folder of its own, which the persona names.
        let start = text.find("You work in ").expect("the persona");
        let end = start + text[start..].find(".\n").expect("its end");
        format!("{}{}", &text[..start], &text[end..])
    };
    let (base, tools) = prompt("base");
    let base = home(&base);
    for (variant, skill) in [("deck-generation", "Deck generation"), ("import", "Import")] {
        let (text, same) = prompt(variant);
        let text = home(&text);
        assert_eq!(same, tools);
        let added = text.strip_prefix(base.as_str()).expect("the root prefix");
        assert!(
            added
                .trim_start()
                .starts_with("This workflow skill is active because"),
            "{added}"
        );
        assert!(added.contains(&format!("# {skill}")), "{added}");
    }
}

/// The whole protocol in one recorded session: skills loaded in parallel, tasks, a brief that somebody
/// changes meanwhile and that is read again, a repaired deck, a compaction, a completion that
/// accounts for every step.
#[test]
fn the_recorded_gamma_makes_a_deck() {
    let home = home_of("gamma");
    let config = folder("gamma").join("raddle.toml");
    let run = home.run(["run".as_ref(), "-c".as_ref(), config.as_os_str()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let page = home.read("decks/bees.html");
    assert!(page.contains("four weeks in spring"), "the repaired cell");
    assert!(
        home.read("decks/brief.xml")
            .contains("teachers of ten to twelve")
    );
    let list = home.good(["session", "list", "--json"]);
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let id = list[0]["header"]["id"]
        .as_str()
        .or(list[0]["id"].as_str())
        .expect("an id");
    let shown = home.good(["session", "show", id]);
    for line in [
        "deck-generation (workflow) in batch 1/1, before the task tools",
        "gml-authoring (reference, required by deck-generation) in batch 1/1",
        "ask-user-questions (reference) in batch 1/1",
        "artifact-0 artifact_update",
        "injection.delivered",
        "messages cut",
        "deck-generation: 9 of 11 complete, 1 blocked",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    assert!(!shown.contains("cache.break"), "{shown}");
    home.good(["session", "verify", id]);
}

#[test]
fn every_example_passes_its_check() {
    for example in ["minimal", "coding-agent", "gamma"] {
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
    home_of("coding-agent")
}

/// A copy of the example's project.
fn home_of(example: &str) -> Home {
    let home = Home::new();
    for file in fs::read_dir(folder(example).join("project")).expect("the project") {
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

/// Two subagents in parallel, then a fork that knows what they found: sessions of their own, in a
/// tree, while the prefix of their parent stays as it is.
#[test]
fn the_recorded_subagents_are_sessions_in_a_tree() {
    let home = with_project();
    let folder = folder("coding-agent");
    let (config, recording) = (folder.join("raddle.toml"), folder.join("subagents.jsonl"));
    let arguments = ["run", "-c"].map(AsRef::as_ref).into_iter();
    let arguments = arguments
        .chain([config.as_os_str(), "--recording".as_ref()])
        .chain([recording.as_os_str()]);
    let done = home.run(arguments);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let listed = home.good(["session", "list"]);
    let children = listed.lines().filter(|line| line.starts_with("└ "));
    assert_eq!(children.count(), 3, "{listed}");
    let id = listed.split_whitespace().next().expect("an id").to_owned();
    let log = home.good(["session", "export", &id]);
    assert!(!log.contains("cache.break"), "{log}");
    for session in listed.lines() {
        let id = session.trim_start_matches("└ ");
        let id = id.split_whitespace().next().expect("an id");
        home.good(["session", "verify", id]);
    }
}
