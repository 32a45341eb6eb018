//! Which notes are pointed to, and what is read of them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_knowledge::notes::{Notes, hints};
use raddle_sdk::types::File;

fn file(path: &str, front: &str, body: &str) -> File {
    File {
        setting: "/roots/0".to_owned(),
        path: path.to_owned(),
        digest: format!("sha256:{path}"),
        text: format!("---\n{front}\n---\n{body}\n"),
    }
}

fn files() -> Vec<File> {
    vec![
        file("notes/always.md", "scope: Everything.", "Be kind."),
        file(
            "notes/images.md",
            "name: Image \"rules\"\nscope: Use for images.\nauthority: user\nkeywords: image, photo",
            "Only photos.",
        ),
        file("notes/tone.md", "scope: Tone.\nkeywords: tone", "Calm."),
        file("notes/broken.md", "nothing: here", "x"),
    ]
}

fn candidates(recent: &[&str]) -> Vec<String> {
    let files = files();
    let notes = Notes::read(&files);
    let recent: Vec<String> = recent.iter().map(|text| (*text).to_owned()).collect();
    let found = notes.candidates(&recent);
    found.iter().map(|known| known.note.id.clone()).collect()
}

#[test]
fn a_note_is_a_candidate_if_a_keyword_stands_in_recent_messages_as_a_whole_word() {
    assert_eq!(candidates(&["Add a PHOTO, please"]), ["images", "always"]);
    assert_eq!(candidates(&["the photograph"]), ["always"]);
    assert_eq!(
        candidates(&["image", "and the tone"]),
        ["images", "tone", "always"]
    );
}

#[test]
fn pointers_are_small_and_escaped_and_blocking() {
    let files = files();
    let notes = Notes::read(&files);
    let found = notes.candidates(&["photo".to_owned()]);
    assert_eq!(
        hints(&found[..1], "workspace").unwrap(),
        "  BLOCKING: Fetch each matching unread note before the first task action.\n  <knowledge\n    \
         id=\"images\"\n    name=\"Image &quot;rules&quot;\"\n    scope=\"Use for images.\"\n    \
         source=\"workspace\"\n  />"
            .trim_start_matches('\n')
    );
    assert_eq!(hints(&[], "workspace"), None);
}

#[test]
fn a_note_is_read_whole_or_as_a_path() {
    let files = files();
    let notes = Notes::read(&files);
    let note = notes.find("images").unwrap();
    let reply = note.reply(100);
    assert_eq!(
        reply.text,
        "<note id=\"images\" name=\"Image &quot;rules&quot;\" authority=\"user\">\nOnly photos.\n</note>"
    );
    let fact: serde_json::Value = serde_json::from_str(&reply.facts[0].value).unwrap();
    assert_eq!(fact["text"], reply.text.as_str());
    assert_eq!(fact["revision"], "sha256:notes/images.md");
    assert!(note.reply(3).text.contains("in the file notes/images.md"));
}

#[test]
fn an_id_is_looked_up_and_is_nothing_else() {
    let files = files();
    let notes = Notes::read(&files);
    for id in ["../images", "/etc/passwd", "", "\0", "broken"] {
        let error = notes.find(id).err().unwrap();
        assert_eq!(error.code, "unknown-note");
    }
}

#[test]
fn a_file_that_is_no_note_costs_only_itself() {
    let files = files();
    let notes = Notes::read(&files);
    let findings: Vec<_> = notes.findings().collect();
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].0, "notes/broken.md");
}
