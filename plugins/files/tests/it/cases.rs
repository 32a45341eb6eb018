//! `fixtures/edit/edits.jsonl`: files with their digests before and after an edit.

use raddle_plugin_files::edit::apply;
use serde::Deserialize;

use crate::folder::digest;

#[derive(Deserialize)]
struct Case {
    file: String,
    before_sha256: String,
    old: String,
    new: String,
    expect: String,
    after_sha256: String,
    #[serde(default)]
    replace_all: bool,
}

/// Words that the error must have, for what the case calls it.
const ERRORS: [(&str, &[&str]); 6] = [
    ("error: not valid UTF-8", &["not valid UTF-8"]),
    ("error: UTF-16/binary", &["UTF-16"]),
    ("error: old text is empty", &["old text is empty"]),
    ("error: no change", &["no change"]),
    (
        "error with hint: line-number column pasted from read output",
        &["not found", "line-number column"],
    ),
    (
        "error: not found (hint: different Unicode normal form)",
        &["not found", "Unicode normal form"],
    ),
];

#[test]
fn every_case_ends_as_it_says() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/edit");
    let cases = std::fs::read_to_string(format!("{folder}/edits.jsonl")).unwrap();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let name = &case.file;
        let bytes = std::fs::read(format!("{folder}/files/{name}")).unwrap();
        assert_eq!(
            digest(&bytes),
            format!("sha256:{}", case.before_sha256),
            "{name}: the fixture itself has changed"
        );
        match apply(&bytes, &case.old, &case.new, case.replace_all) {
            Ok(edited) => {
                assert!(case.expect.starts_with("ok"), "{name}: {}", case.expect);
                assert_eq!(
                    digest(&edited.bytes),
                    format!("sha256:{}", case.after_sha256),
                    "{name}"
                );
            }
            Err(error) => {
                let message = error.to_string();
                let (_, words) = ERRORS
                    .iter()
                    .find(|(expected, _)| *expected == case.expect)
                    .unwrap_or_else(|| panic!("{name}: {message}, not {}", case.expect));
                for word in *words {
                    assert!(message.contains(word), "{name}: {message}");
                }
                assert!(message.len() < 400, "{name}: {message}");
            }
        }
    }
}
