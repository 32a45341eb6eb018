//! Finding files and lines.

use std::time::Duration;

use raddle_core::plugins::ErrorKind;
use raddle_wasm::imports::workspace::Workspace;
use tokio::time::timeout;

use super::{Scratch, refused};

async fn found(workspace: &Workspace, glob: &str) -> Vec<String> {
    let items = workspace.find(glob, 1000).await.unwrap();
    items.into_iter().map(|item| item.path).collect()
}

async fn lines(workspace: &Workspace, pattern: &str, glob: Option<&str>) -> Vec<String> {
    let matches = workspace.search(pattern, glob, 1000).await.unwrap();
    matches
        .into_iter()
        .map(|found| format!("{}:{}:{}", found.path, found.line, found.text))
        .collect()
}

fn project() -> Scratch {
    let scratch = Scratch::new();
    for path in [
        "src/main.rs",
        "src/lib.rs",
        "src/lib/inner.rs",
        "src/lib/data.json",
        "tests/main.rs",
        "Cargo.toml",
        ".github/workflows/ci.yml",
    ] {
        scratch.write(&format!("ws/{path}"), format!("// {path}\n"));
    }
    scratch
}

#[tokio::test]
async fn globs_match_names_or_paths() {
    let scratch = project();
    let workspace = scratch.workspace();
    let all_rust = [
        "src/lib/inner.rs",
        "src/lib.rs",
        "src/main.rs",
        "tests/main.rs",
    ];
    assert_eq!(found(&workspace, "*.rs").await, all_rust);
    assert_eq!(found(&workspace, "**/*.rs").await, all_rust);
    assert_eq!(
        found(&workspace, "main.rs").await,
        ["src/main.rs", "tests/main.rs"]
    );
    assert_eq!(
        found(&workspace, "src/*.rs").await,
        ["src/lib.rs", "src/main.rs"]
    );
    assert_eq!(
        found(&workspace, "./src/*.rs").await,
        ["src/lib.rs", "src/main.rs"]
    );
    assert_eq!(found(&workspace, "src/main.rs").await, ["src/main.rs"]);
    assert_eq!(
        found(&workspace, "src/lib/").await,
        ["src/lib/data.json", "src/lib/inner.rs"]
    );
    assert_eq!(
        found(&workspace, "{src,tests}/m*.rs").await,
        ["src/main.rs", "tests/main.rs"]
    );
    assert_eq!(
        found(&workspace, "*.{toml,json}").await,
        ["Cargo.toml", "src/lib/data.json"]
    );
    assert_eq!(
        found(&workspace, "*.yml").await,
        [".github/workflows/ci.yml"]
    );
    assert_eq!(found(&workspace, "*.py").await, [""; 0]);
    let absolute = scratch.path("ws/src").to_str().unwrap().to_owned();
    let paths = found(&workspace, &format!("{absolute}/*.rs")).await;
    assert_eq!(
        paths,
        [format!("{absolute}/lib.rs"), format!("{absolute}/main.rs")]
    );
}

#[tokio::test]
async fn results_come_in_one_order_and_up_to_a_limit() {
    let scratch = Scratch::new();
    for name in ["b", "a", "c", "a/../d", "e/z", "e/y", "ä", "B"] {
        scratch.write(&format!("ws/{name}.txt"), "x\nx\n");
    }
    let workspace = scratch.workspace();
    let all = [
        "B.txt", "a.txt", "b.txt", "c.txt", "d.txt", "e/y.txt", "e/z.txt", "ä.txt",
    ];
    assert_eq!(found(&workspace, "*").await, all);
    for limit in 0..=all.len() {
        let items = workspace.find("*", limit as u32).await.unwrap();
        let paths: Vec<_> = items.into_iter().map(|item| item.path).collect();
        assert_eq!(paths, all[..limit]);
    }
    let matches = workspace.search("x", None, 3).await.unwrap();
    let places: Vec<_> = matches
        .iter()
        .map(|at| (at.path.as_str(), at.line))
        .collect();
    assert_eq!(places, [("B.txt", 1), ("B.txt", 2), ("a.txt", 1)]);
    assert_eq!(workspace.search("x", None, 0).await.unwrap(), []);
}

#[tokio::test]
async fn ignore_files_are_respected() {
    let scratch = project();
    scratch.write("ws/.gitignore", "/target\n*.log\n!keep.log\n# comment\n[\n");
    scratch.write("ws/.ignore", "secret.txt\n");
    scratch.write("ws/src/.gitignore", "generated/\n!debug.log\n");
    for path in [
        "target/out.rs",
        "src/target/kept.rs",
        "a.log",
        "keep.log",
        "src/debug.log",
        "src/other.log",
        "src/generated/code.rs",
        "generated/kept.rs",
        "secret.txt",
        ".git/config.rs",
        "sub/.git",
    ] {
        scratch.write(&format!("ws/{path}"), "here\n");
    }
    let workspace = scratch.workspace();
    assert_eq!(
        found(&workspace, "*.log").await,
        ["keep.log", "src/debug.log"]
    );
    let kept = [
        "generated/kept.rs",
        "keep.log",
        "src/debug.log",
        "src/target/kept.rs",
    ];
    let matches = workspace.search("^here$", None, 100).await.unwrap();
    assert_eq!(
        matches
            .iter()
            .map(|at| at.path.as_str())
            .collect::<Vec<_>>(),
        kept
    );
    assert_eq!(found(&workspace, "secret.txt").await, [""; 0]);
    // Rules of the folders above hold below, too.
    assert_eq!(found(&workspace, "src/*.log").await, ["src/debug.log"]);
    // What is asked for by its name is meant.
    assert_eq!(found(&workspace, "target/*.rs").await, ["target/out.rs"]);
}

#[tokio::test]
async fn only_ignore_files_inside_the_grant_count() {
    let scratch = project();
    scratch.write(".gitignore", "*.rs\n");
    scratch.write("rules", "*.toml\n");
    scratch.link(scratch.path("rules"), "ws/.ignore");
    let workspace = scratch.workspace();
    assert_eq!(found(&workspace, "*.rs").await.len(), 4);
    assert_eq!(found(&workspace, "*.toml").await.len(), 1);
}

#[tokio::test]
async fn lines_are_matched_one_by_one() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "fn one() {\r\n  two\r\n\r\nfn three\r\n");
    scratch.write("ws/b.txt", "last line fn");
    scratch.write("ws/latin.txt", b"caf\xe9 fn\n");
    let workspace = scratch.workspace();
    let matches = lines(&workspace, "fn", None).await;
    assert_eq!(
        matches,
        [
            "a.txt:1:fn one() {",
            "a.txt:4:fn three",
            "b.txt:1:last line fn",
            "latin.txt:1:caf\u{fffd} fn"
        ]
    );
    assert_eq!(lines(&workspace, "^fn", None).await.len(), 2);
    assert_eq!(lines(&workspace, "two$", None).await, ["a.txt:2:  two"]);
    assert_eq!(
        lines(&workspace, r"\{$", None).await,
        ["a.txt:1:fn one() {"]
    );
    assert_eq!(
        lines(&workspace, "(?i)FN THREE", None).await,
        ["a.txt:4:fn three"]
    );
    assert_eq!(lines(&workspace, r"two\s+fn", None).await, [""; 0]);
    assert_eq!(
        lines(&workspace, "fn", Some("b*")).await,
        ["b.txt:1:last line fn"]
    );
    assert_eq!(lines(&workspace, r"\s+$", None).await, [""; 0]);
}

#[tokio::test]
async fn binary_and_huge_files_are_left_out() {
    let scratch = Scratch::new();
    scratch.write("ws/binary", b"needle\0needle\n");
    scratch.write("ws/text", "needle\n");
    scratch.write("ws/huge", "needle\n".repeat(5_000_000));
    let workspace = scratch.workspace();
    assert_eq!(lines(&workspace, "needle", None).await, ["text:1:needle"]);
}

#[tokio::test]
async fn a_long_line_shows_its_match() {
    let scratch = Scratch::new();
    let line = format!("{}needle{}", "語".repeat(100_000), "é".repeat(100_000));
    scratch.write("ws/min.js", &line);
    let matches = scratch.workspace().search("needle", None, 9).await.unwrap();
    let text = &matches[0].text;
    assert!(text.contains("needle") && text.len() < 600, "{text}");
    assert!(text.starts_with("…語") && text.ends_with("é…"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_meant_is_invalid() {
    let scratch = project();
    let workspace = scratch.workspace();
    for glob in ["", "[", "src/{a", "a\\"] {
        refused(workspace.find(glob, 9).await, ErrorKind::Invalid, "glob");
        let searched = workspace.search("x", Some(glob), 9).await;
        refused(searched, ErrorKind::Invalid, "glob");
    }
    for pattern in ["(", "[", "a{9999}{9999}", r"\p{Nonsense}"] {
        refused(
            workspace.search(pattern, None, 9).await,
            ErrorKind::Invalid,
            "pattern",
        );
    }
    refused(
        workspace.find("missing/*.rs", 9).await,
        ErrorKind::NotFound,
        "missing",
    );
    refused(
        workspace.find("../*", 9).await,
        ErrorKind::Denied,
        "outside",
    );
    refused(
        workspace.find("/etc/*", 9).await,
        ErrorKind::Denied,
        "outside",
    );
    refused(workspace.find("/*", 9).await, ErrorKind::Denied, "outside");
    refused(
        workspace.find("Cargo.toml/*", 9).await,
        ErrorKind::Invalid,
        "not-a-folder",
    );
}

#[tokio::test]
async fn a_pattern_that_backtracking_would_hang_on_does_not() {
    let scratch = Scratch::new();
    scratch.write("ws/a.txt", "a".repeat(100_000));
    let workspace = scratch.workspace();
    let search = workspace.search("(a+)+$b", None, 9);
    let matches = timeout(Duration::from_secs(10), search).await.unwrap();
    assert_eq!(matches.unwrap(), []);
}

#[tokio::test]
async fn folders_without_end_are_walked_as_deep_as_is_sane() {
    let scratch = Scratch::new();
    let path = format!("ws/{}", "d/".repeat(300));
    std::fs::create_dir_all(scratch.path(&path)).unwrap();
    scratch.write("ws/d/d/near.txt", "x");
    scratch.write(&format!("{path}far.txt"), "x");
    let paths = found(&scratch.workspace(), "*.txt").await;
    assert_eq!(paths, ["d/d/near.txt"]);
}
