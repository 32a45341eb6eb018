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

/// What `raddle check` says about a config, one line each.
fn told(config: &str) -> Vec<String> {
    let home = Home::new();
    home.write("raddle.toml", config);
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    done.stderr.lines().map(str::to_owned).collect()
}

#[test]
fn each_fault_is_told_once() {
    let model = "[model]\nprovider = \"openai-chat\"\nname = \"m\"\n";
    for (config, fault) in [
        (
            "[plugins.gone]\nsource = \"gone.wasm\"\n".to_owned(),
            "2:10: `source` in [plugins.gone]: gone.wasm: there is no such file",
        ),
        (
            "[plugins.bash]\nsource = \"std:bash\"\ngrants.process = { programs = [\"bash\"], cwd = 1 }\n"
                .to_owned(),
            "3:47: `cwd` in [plugins.bash.grants.process] must be a string, found an integer",
        ),
        (
            "[plugins.files]\nsource = \"std:files\"\ngrants.workspace = \"<session>\"\n".to_owned(),
            "3:20: `workspace` in [plugins.files.grants] must be a list, found a string",
        ),
        (
            format!("{model}base_url = \"api.example.com\"\n"),
            "4:12: base URL `api.example.com`: expected http:// or https:// and a host",
        ),
        (
            format!("{model}base_url = \"ftp://api.example.com\"\n"),
            "4:12: base URL `ftp://api.example.com/`: expected http:// or https:// and a host",
        ),
        (
            format!("{model}base_url = \"http://a b/\"\n"),
            "4:12: base URL `http://a b/`: invalid international domain name",
        ),
        (
            format!("{model}headers = {{ \"X Team\" = \"a\" }}\n"),
            "4:13: header `X Team`: not a name a header can have",
        ),
        (
            format!("{model}headers = {{ X-Team = \"a\\nb${{TEAM}}\" }}\n"),
            "4:13: header `X-Team`: its value holds characters no header can carry",
        ),
        (
            format!("{model}headers = {{ X-Team = \"a\", x-team = \"b\" }}\n"),
            "4:27: `x-team` in [model.headers] stands there already",
        ),
        (
            format!("{model}recording = \"gone.jsonl\"\n"),
            "4:13: `recording` in [model]: gone.jsonl: there is no such file",
        ),
        (
            "[plugins.files]\nsource = \"std:files\"\ngrants.workspace = [{ dir = \"<session>\", mode = \"ro\" }, { dir = \"<session>\", mode = \"rw\" }]\n"
                .to_owned(),
            "3:65: `dir` in [[plugins.files.grants.workspace]] is granted already",
        ),
    ] {
        let told = told(&config);
        let expected = format!("error: raddle.toml:{fault}");
        assert!(told.len() == 1 && told[0].starts_with(&expected), "{told:#?}");
    }
}

#[test]
fn faults_of_one_place_stay_in_the_order_of_the_text() {
    let told = told(
        "[plugins.text]\nsource = \"std:text\"\nsettings.sections = [{ name = \"a\", order = 1, text = \"\"\"\n<<b>>\n<<a>>\n\n\n\n\n\n\n\n<<c>>\"\"\" }]\n",
    );
    let names = told.iter().map(|fault| fault.split('`').nth(5));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [Some("<<b>>"), Some("<<a>>"), Some("<<c>>")],
        "{told:#?}"
    );
}

#[test]
fn a_line_of_a_recording_that_is_no_object_is_named() {
    let home = Home::new();
    home.write(
        "raddle.toml",
        "[model]\nprovider = \"replay\"\nname = \"m\"\nrecording = \"talk.jsonl\"\n",
    );
    home.write("talk.jsonl", "{\"recording\": 1}\n[1, 2]\n");
    let done = home.run(["check"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.stderr.starts_with(
            "error: raddle.toml:4:13: talk.jsonl:2: a line is a JSON object, a step such as \
             `{\"key\": \"main/1/1\","
        ) && done.stderr.ends_with("; found a list\n"),
        "{}",
        done.stderr
    );
}
