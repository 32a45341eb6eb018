//! The cases of `fixtures/skills_synth`.

use std::fs;
use std::path::{Path, PathBuf};

use raddle_skill_format::{Library, Refusal, Severity, SkillFile, cycles, required, resolve};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/skills_synth")
}

/// The library of these roots.
fn read(roots: &[&str]) -> Library {
    let mut files = Vec::new();
    for (root, name) in roots.iter().enumerate() {
        for entry in fs::read_dir(folder().join(name)).unwrap() {
            let entry = entry.unwrap().file_name().into_string().unwrap();
            let path = format!("{name}/{entry}/SKILL.md");
            let text = fs::read_to_string(folder().join(&path)).unwrap();
            files.push((root, path, text));
        }
    }
    Library::read(files.iter().map(|(root, path, text)| SkillFile {
        root: *root,
        path,
        text,
    }))
}

#[test]
fn dup() {
    let library = read(&["dup/root-a", "dup/root-b"]);
    assert_eq!(
        library.skill("tdd").unwrap().path,
        "dup/root-a/tdd/SKILL.md"
    );
    assert_eq!(
        library.skill("Tdd").unwrap().path,
        "dup/root-b/Tdd/SKILL.md"
    );
    let told = |path: &str, part: &str| {
        let of = library.findings().iter().filter(|(of, _)| of == path);
        of.filter(|(_, finding)| finding.message.contains(part))
            .count()
    };
    for lost in [
        "dup/root-b/tdd/SKILL.md",
        "dup/root-b/other-folder/SKILL.md",
    ] {
        assert_eq!(
            told(lost, "is that of dup/root-a/tdd/SKILL.md"),
            1,
            "{lost}"
        );
    }
    let twins = library
        .findings()
        .iter()
        .filter(|(_, f)| f.message.contains("only capitals"));
    assert_eq!(twins.count(), 1);
}

#[test]
fn graph() {
    let library = read(&["graph"]);
    let names = |name: &str| -> Vec<&str> {
        required(&library, name)
            .iter()
            .map(|s| s.manifest.name.as_str())
            .collect()
    };
    assert_eq!(names("a"), ["a", "b"]);
    assert_eq!(names("b"), ["b", "a"]);
    assert_eq!(cycles(&library), [["a", "b"]]);
    assert_eq!(names("i"), ["i", "a", "b"], "one text is a list of one");

    let refusals = resolve(&library, &["a", "d"], &[]);
    assert_eq!(
        refusals["a"],
        Refusal::Undecided {
            with: "d".to_owned()
        }
    );
    assert_eq!(
        refusals["d"],
        Refusal::Undecided {
            with: "a".to_owned()
        }
    );

    let reason = |name: &str| {
        let path = format!("graph/{name}/SKILL.md");
        let refused = library
            .refused()
            .iter()
            .find(|refused| refused.path == path);
        refused.unwrap().reason.message.clone()
    };
    assert!(reason("c").contains("`ghost`"));
    assert!(reason("e").contains("both requires `a` and conflicts with it"));
    assert!(reason("f").contains("conflicts with itself"));

    let advice = |name: &str, part: &str| {
        library.findings().iter().any(|(path, finding)| {
            *path == format!("graph/{name}/SKILL.md")
                && finding.severity == Severity::Advice
                && finding.message.contains(part)
        })
    };
    assert_eq!(
        library.skill("g").unwrap().manifest.kind.to_string(),
        "reference"
    );
    assert!(advice("g", "`procedure` is neither workflow nor reference"));
    assert_eq!(
        library.skill("h").unwrap().manifest.kind.to_string(),
        "workflow"
    );
    assert!(advice("h", "write the type `Workflow` as `workflow`"));
}

/// The folders of the other cases are not here: they need links, or stand in other tests.
#[test]
fn every_case_is_tested_somewhere() {
    let cases = fs::read_to_string(folder().join("expect.jsonl")).unwrap();
    let tested = [
        "dup",
        // The next three: raddle-wasm, folder.rs.
        "links/file-link",
        "links/loop",
        "links/escape",
        "graph",
        // The next two: the plugin's tests.
        "hostile/dotdot",
        "hostile/vars",
        // The rest: manifest.rs.
        "hostile/deep-nesting",
        "edge/dashes-in-block",
        "edge/norway",
        "edge/tabs",
        "edge/merge-key",
        "edge/three-dots-end",
    ];
    let paths: Vec<String> = cases
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["path"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(paths, tested);
}
