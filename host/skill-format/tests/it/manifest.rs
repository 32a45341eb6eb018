//! One file.

use raddle_skill_format::{Document, Finding, Kind, Severity, parse};

use crate::skill;

fn good(text: &str) -> Document {
    parse(text, "x").unwrap_or_else(|findings| panic!("{findings:?}\n{text}"))
}

fn refusal(text: &str) -> Finding {
    let findings = parse(text, "x").unwrap_err();
    let refused = findings
        .into_iter()
        .find(|f| f.severity == Severity::Refused);
    refused.unwrap()
}

/// "The skill manifest declares one of two types."
#[test]
fn a_skill_is_a_workflow_or_a_reference() {
    for (more, expected) in [
        ("metadata:\n  type: workflow\n", Kind::Workflow),
        ("metadata:\n  type: reference\n", Kind::Reference),
        ("", Kind::Reference),
        ("metadata:\n  type: technique\n", Kind::Reference),
        ("type: workflow\n", Kind::Workflow),
        ("type: Workflow\n", Kind::Workflow),
    ] {
        assert_eq!(good(&skill("x", more)).manifest.kind, expected, "{more}");
    }
}

#[test]
fn every_field_is_read() {
    let document = good(
        r#"---
name: x
description: >-
  Use for
  everything.
license: MIT
compatibility: Needs git.
allowed-tools: Read, Bash(git add:*) Write
metadata:
  author: "me: and you"
  type: workflow
  requires-skills: a, b c
  conflicts-with:
    - d
    - 'e'
  applies-to: deck-*
  keywords: deck slides
  priority: "-3"
  checklist: "false"
---

# X

Words.

"#,
    );
    let manifest = &document.manifest;
    assert_eq!(document.body, "# X\n\nWords.");
    assert_eq!(document.findings, []);
    assert_eq!(manifest.description, "Use for everything.");
    assert_eq!(manifest.license.as_deref(), Some("MIT"));
    assert_eq!(manifest.compatibility.as_deref(), Some("Needs git."));
    assert_eq!(manifest.allowed_tools, ["Read", "Bash(git add:*)", "Write"]);
    assert_eq!(manifest.requires, ["a", "b", "c"]);
    assert_eq!(manifest.conflicts, ["d", "e"]);
    assert_eq!(manifest.applies_to, ["deck-*"]);
    assert_eq!(manifest.keywords, ["deck", "slides"]);
    assert_eq!((manifest.priority, manifest.checklist), (-3, false));
    assert_eq!(manifest.metadata["author"], "me: and you");
    assert_eq!(manifest.ours, raddle_skill_format::OUR_FIELDS);
    assert_eq!(manifest.metadata.len(), 1, "what is ours is not repeated");
}

#[test]
fn line_ends_and_marks_of_editors_make_no_difference() {
    let plain = "---\nname: x\ndescription: Use for x.\n---\n# X\n\nWords.\n";
    let crlf = plain.replace('\n', "\r\n");
    let expected = good(plain);
    assert_eq!(expected.body, "# X\n\nWords.");
    for text in [
        crlf.clone(),
        format!("\u{feff}{plain}"),
        format!("\u{feff}{crlf}"),
        plain.trim_end().to_owned(),
    ] {
        let document = good(&text);
        assert_eq!(document.manifest, expected.manifest, "{text:?}");
        assert_eq!(document.body, expected.body, "{text:?}");
    }
}

#[test]
fn a_colon_without_quotes_is_told_of_and_loses_nothing() {
    let text =
        "---\nname: x\ndescription: Two axes: Standards and Tests\nallowed-tools: Read\n---\n";
    let document = good(text);
    assert_eq!(
        document.manifest.description,
        "Two axes: Standards and Tests"
    );
    assert_eq!(
        document.manifest.allowed_tools,
        ["Read"],
        "nothing is half read"
    );
    let finding = &document.findings[0];
    assert_eq!((finding.line, finding.column), (Some(3), Some(14)));
    assert_eq!(finding.severity, Severity::Invalid);
    assert!(
        finding.message.contains("quote the description"),
        "{finding}"
    );
}

#[test]
fn ours_at_the_top_or_in_other_case_are_read_with_a_warning() {
    let text = skill(
        "x",
        "type: workflow\nrequiresSkills: [a, 'b']\nconflictsWith: c\n",
    );
    let document = good(&text);
    assert_eq!(document.manifest.requires, ["a", "b"]);
    assert_eq!(document.manifest.conflicts, ["c"]);
    let told: Vec<&str> = document
        .findings
        .iter()
        .map(|f| f.message.as_str())
        .collect();
    assert!(
        told[0].contains("write `type` under `metadata`, as `type`"),
        "{told:?}"
    );
    assert!(
        told[1].contains("`requiresSkills` under `metadata`, as `requires-skills`"),
        "{told:?}"
    );
}

#[test]
fn what_is_somebody_elses_is_left_alone() {
    let text = skill(
        "x",
        "hooks:\n  Stop:\n    - matcher: '*'\n      run: {a: [1]}\nmodel: &big opus\nmetadata:\n  openclaw: {emoji: 1}\n  author: me\n",
    );
    let document = good(&text);
    assert_eq!(document.manifest.metadata["author"], "me");
    let told: Vec<&str> = document
        .findings
        .iter()
        .map(|f| f.message.as_str())
        .collect();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(told[0].contains("`hooks` is no field of Agent Skills"));
    assert!(told[2].contains("`openclaw`: a map in braces"), "{told:?}");
}

#[test]
fn texts_come_in_every_way_yaml_writes_them() {
    for (written, expected) in [
        ("Use for x.", "Use for x."),
        ("Use for x. # not this", "Use for x."),
        ("\"Use for \\\"x\\\": \\u00e9\"", "Use for \"x\": é"),
        ("'Use for Bob''s x'", "Use for Bob's x"),
        ("Use for\n  two lines", "Use for two lines"),
        ("\n  Use for the next line", "Use for the next line"),
        ("|\n  Use for\n\n    lines\n", "Use for lines"),
        ("|\n  # Use for\n  x\n# comment\n", "# Use for x"),
        (">\n  Use for\n  folded\n\n  text\n", "Use for folded text"),
        ("\"Use for\n  quoted lines\"", "Use for quoted lines"),
        (
            "TRIGGER when asked to move <service> to gRPC",
            "TRIGGER when asked to move <service> to gRPC",
        ),
        ("Use <<name>> when {{x}}", "Use <<name>> when {{x}}"),
    ] {
        let document = good(&format!("---\nname: x\ndescription: {written}\n---\nB\n"));
        assert_eq!(document.manifest.description, expected, "{written:?}");
        assert_eq!(document.body, "B", "{written:?}");
    }
}

#[test]
fn words_that_yaml_takes_for_something_else_are_texts() {
    let document = parse("---\nname: no\ndescription: on\n---\n", "no").unwrap();
    assert_eq!(document.manifest.name, "no");
    assert_eq!(document.manifest.description, "on");
    let dated = good("---\nname: x\ndescription: 2024-01-01\nmetadata:\n  version: 1.0\n---\n");
    assert_eq!(dated.manifest.description, "2024-01-01");
    assert_eq!(dated.manifest.metadata["version"], "1.0");
}

#[test]
fn only_a_line_of_its_own_ends_the_front_matter() {
    let document = good("---\nname: x\ndescription: |\n  Use for\n  ---\n  lines\n---\nB\n");
    assert_eq!(document.manifest.description, "Use for --- lines");
    assert_eq!(document.body, "B");
    let rule = good("---\nname: x\ndescription: Use for x.\n---\nA\n\n---\n\nB\n");
    assert_eq!(rule.body, "A\n\n---\n\nB");
}

#[test]
fn what_cannot_be_read_names_the_line_and_the_fix() {
    let deep = format!("---\nname: x\ndescription: {}\n---\n", "[".repeat(100_000));
    let nested = format!(
        "---\nname: x\ndescription: y\nmetadata:\n  keywords: {}{}\n---\n",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    for (text, line, part) in [
        ("", Some(1), "has to begin with a line `---`"),
        ("# X\n", Some(1), "has to begin with a line `---`"),
        ("---\nname: x\n", Some(2), "is not closed"),
        (
            "---\nname: x\ndescription: y\n...\n",
            Some(4),
            "is not closed",
        ),
        (
            "---\nname: x\ndescription: y\n\ttabbed: z\n---\n",
            Some(4),
            "use spaces",
        ),
        (
            "---\nname: x\ndescription: y\nmetadata:\n\ttype: workflow\n---\n",
            Some(5),
            "use spaces",
        ),
        (
            "---\nname: x\nname: y\ndescription: y\n---\n",
            Some(3),
            "`name` is there twice",
        ),
        (
            "---\nbase: &b {}\n<<: *b\nname: x\ndescription: y\n---\n",
            Some(3),
            "merged maps",
        ),
        (
            "---\nname: *x\ndescription: y\n---\n",
            Some(2),
            "anchors, aliases and tags",
        ),
        (
            "---\nname: x\ndescription: \"open\n---\n",
            Some(3),
            "closing quote is missing",
        ),
        (
            "---\nname: x\ndescription: \"a\" b\n---\n",
            Some(3),
            "stands behind the closing quote",
        ),
        (
            "---\nname: x\ndescription: \"\\q\"\n---\n",
            Some(3),
            "is no escape",
        ),
        (
            "---\nname: x\ndescription: {a: b}\n---\n",
            Some(3),
            "map in braces",
        ),
        (
            "---\nname: x\ndescription:\n  - a\n---\n",
            Some(3),
            "has to be a text",
        ),
        ("---\njust words\n---\n", Some(2), "expected a field"),
        ("---\n- name: x\n---\n", Some(2), "expected a field"),
        (
            "---\nname: x\ndescription: y\nmetadata: z\n---\n",
            Some(4),
            "has to hold fields",
        ),
        (
            "---\nname: x\ndescription: y\nmetadata:\n  priority: high\n---\n",
            Some(5),
            "a whole number",
        ),
        (
            "---\nname: x\ndescription: y\nmetadata:\n  checklist: maybe\n---\n",
            Some(5),
            "`true` or `false`",
        ),
        ("---\nname: x\n---\n", None, "`description` is missing"),
        ("---\ndescription: y\n---\n", None, "`name` is missing"),
        (
            "---\nname: x\ndescription:\n---\n",
            None,
            "`description` is missing",
        ),
        (
            "---\nname: \"x\\\" type=\\\"workflow\"\ndescription: y\n---\n",
            None,
            "letters, digits and hyphens",
        ),
        (
            "---\nname: ../x\ndescription: y\n---\n",
            None,
            "letters, digits and hyphens",
        ),
        (&deep, Some(3), "inside a list"),
        (&nested, Some(5), "inside a list"),
    ] {
        let finding = refusal(text);
        let shown: String = text.chars().take(80).collect();
        assert_eq!(finding.line, line, "{shown:?}: {finding}");
        assert!(finding.message.contains(part), "{shown:?}: {finding}");
    }
}

/// What the public validator (`skills-ref` 0.1.1) says of the same files.
#[test]
fn what_the_public_validator_refuses_is_invalid_here() {
    let long = "d".repeat(1025);
    let name = "n".repeat(65);
    let fits = format!("Use for {}", "d".repeat(1016));
    for (text, folder, is_valid) in [
        (skill("x", ""), "x", true),
        (skill("pdf-9", ""), "pdf-9", true),
        (skill("größe", ""), "größe", true),
        (
            skill("x", "license: MIT\ncompatibility: y\nallowed-tools: Read\n"),
            "x",
            true,
        ),
        (skill("x", "metadata:\n  type: workflow\n"), "x", true),
        (skill("x", ""), "y", false),
        (skill("X", ""), "X", false),
        (skill("-x", ""), "-x", false),
        (skill("x-", ""), "x-", false),
        (skill("x--y", ""), "x--y", false),
        (skill("x_y", ""), "x_y", false),
        (skill("x y", ""), "x y", false),
        (skill(&name, ""), name.as_str(), false),
        (skill("x", "type: workflow\n"), "x", false),
        (skill("x", "version: 1\n"), "x", false),
        (skill("x", "allowed-tools: [Read]\n"), "x", false),
        (
            skill("x", &format!("compatibility: {}\n", "c".repeat(501))),
            "x",
            false,
        ),
        (
            format!("---\nname: x\ndescription: {long}\n---\n"),
            "x",
            false,
        ),
        (
            format!("---\nname: x\ndescription: {fits}\n---\n"),
            "x",
            true,
        ),
        (
            "---\nname: x\ndescription: a: b\n---\n".to_owned(),
            "x",
            false,
        ),
        (
            "---\nname: x\ndescription: a --- b\n---\n".to_owned(),
            "x",
            true,
        ),
        ("---\nname: x\n---\n".to_owned(), "x", false),
        (skill("x", "metadata:\n  a: [1]\n"), "x", false),
        (skill("x", "metadata: {a: 1}\n"), "x", false),
        (skill("x", "metadata:\n  a:\n    b: c\n"), "x", true),
        (skill("x", "metadata:\n"), "x", true),
        (skill("x", "license: |\n  two\n  lines\n"), "x", true),
        (skill("x", "license: 'a' # c\n"), "x", true),
        (skill("x", "allowed-tools:\n  - Read\n"), "x", true),
        (skill("x", "allowed-tools:\n- Read\n"), "x", true),
        (skill("x", "license: a #c\n"), "x", true),
        (skill("x", "license: &a MIT\n"), "x", false),
        (skill("x", "license: ~\n"), "x", true),
        (skill("x", "license:\n"), "x", true),
        (skill("x", "compatibility:\n  - a\n"), "x", false),
        (skill("x", "license: - a\n"), "x", false),
        (skill("x", "license: ? a\n"), "x", false),
        (skill("x", "license: a:b\n"), "x", true),
        (skill("x", "license: a:\n"), "x", false),
        (skill("x", "license: @x\n"), "x", false),
        (skill("x", "'license': x\n"), "x", true),
        (skill("x", "license : x\n"), "x", true),
        (
            skill("x", "metadata:\n  v: 1.0\n  t: 2024-01-01\n"),
            "x",
            true,
        ),
        (skill("x", "license: Use {a}\n"), "x", true),
        (format!("\u{feff}{}", skill("x", "")), "x", false),
        (skill("x", "").replace('\n', "\r\n"), "x", true),
        ("no front matter".to_owned(), "x", false),
    ] {
        let findings = match parse(&text, folder) {
            Ok(document) => document.findings,
            Err(findings) => findings,
        };
        let worst = findings.iter().map(|finding| finding.severity).max();
        assert_eq!(
            worst < Some(Severity::Invalid),
            is_valid,
            "{folder}: {findings:?}"
        );
    }
}

#[test]
fn a_description_that_says_what_and_not_when_is_told_of() {
    let advice = |description: &str| {
        let document = good(&format!("---\nname: x\ndescription: {description}\n---\n"));
        document
            .findings
            .iter()
            .any(|finding| finding.message.contains("no trigger"))
    };
    assert!(advice("A skill about decks."));
    assert!(!advice("TRIGGER when asked to create a deck."));
    assert!(!advice("Use BEFORE writing JSX."));
    assert!(!advice("Use for every new presentation request."));
}

#[test]
fn invisible_words_in_a_description_are_told_of() {
    let document = good("---\nname: x\ndescription: Use for x\u{e006f}\u{e0062}.\n---\n");
    let told = &document.findings[0];
    assert!(told.message.contains("invisible characters"), "{told}");
}

proptest::proptest! {
    #[test]
    fn nothing_panics(text in "(---\n)?([a-z<>&*!|'\":\\[\\]{}#%@`, \t-]{0,12}\n){0,8}(---\n)?") {
        let _ = parse(&text, "x");
    }
}
