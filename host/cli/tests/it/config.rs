//! What `raddle check` says about a config.

use serde_json::Value;

use crate::harness::Home;

const TEN_FAULTS: &str = include_str!("../fixtures/ten-faults.toml");

#[test]
fn ten_faults_are_ten_lines() {
    let home = Home::new();
    home.write("raddle.toml", TEN_FAULTS);
    home.write("empty.wasm", "");
    home.write("text.wasm", "(component)");
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stderr.lines().count(), 10, "{}", done.stderr);
    insta::assert_snapshot!("ten_faults", done.stderr);
}

#[test]
fn the_json_form_says_the_same() {
    let home = Home::new();
    home.write("raddle.toml", TEN_FAULTS);
    home.write("empty.wasm", "");
    home.write("text.wasm", "(component)");
    let done = home.run(["check", "--json"]);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.stderr, "");
    let report: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(report["good"], false);
    let findings = report["findings"].as_array().expect("a list");
    assert_eq!(findings.len(), 10);
    for finding in findings {
        assert_eq!(finding["file"], "raddle.toml");
        assert!(
            finding["line"].is_u64() && finding["column"].is_u64(),
            "{finding}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_placed() {
    let home = Home::new();
    std::fs::write(home.work().join("raddle.toml"), b"# fine\n# \xff\n").expect("written");
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr
            .starts_with("error: raddle.toml:2:3: this is not UTF-8"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_permission_rule_that_can_match_no_call_is_a_fault() {
    let home = Home::new();
    home.write(
        "raddle.toml",
        r#"
[model]
provider = "openai-chat"
name = "any"

[plugins.files]
source = "std:files"
grants.workspace = [{ dir = "<session>", mode = "rw" }]

[[permission.rule]]
tool = "raed"
action = "deny"

[[permission.rule]]
tool = "read"
argument = "pth"
match = "secret"
action = "deny"

[[permission.rule]]
tool = "w*"
action = "allow"
"#,
    );
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(1));
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", done.stderr);
    assert!(
        lines[0].contains("`raed`") && lines[0].contains("`read`"),
        "{}",
        lines[0]
    );
    assert!(lines[1].contains("`pth`"), "{}", lines[1]);
}
