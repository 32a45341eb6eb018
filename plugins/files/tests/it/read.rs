//! Pages of a file.

use raddle_plugin_files::text::{Caps, Text};
use serde_json::json;

use crate::folder::Folder;

const CAPS: Caps = Caps {
    lines: 3,
    line_characters: 5,
    bytes: 60,
};

fn page(file: &str, offset: usize, limit: Option<usize>) -> String {
    Text::of(file.as_bytes())
        .unwrap()
        .page(offset, limit, CAPS)
        .text
}

#[test]
fn a_short_file_is_its_numbered_lines_and_nothing_else() {
    assert_eq!(page("a\n\tb\n", 1, None), "1\ta\n2\t\tb\n");
}

#[test]
fn notes_say_what_is_left_out() {
    assert_eq!(
        page("a\nb\nc\nd\n", 1, None),
        "1\ta\n2\tb\n3\tc\n[lines 1-3 of 4]\n"
    );
    assert_eq!(
        page("a\nb\nc\nd\n", 2, Some(2)),
        "2\tb\n3\tc\n[lines 2-3 of 4]\n"
    );
    assert_eq!(page("a\nb\n", 9, None), "[no such line: the file has 2]\n");
    assert_eq!(page("", 1, None), "[the file is empty]\n");
    assert_eq!(
        page("a", 1, None),
        "1\ta\n[no line end after the last line]\n"
    );
    assert_eq!(
        page("a\r\nb\r\n", 1, None),
        "1\ta\n2\tb\n[line ends: CRLF]\n"
    );
    assert_eq!(
        page("a\r\nb\n", 1, None),
        "1\ta\n2\tb\n[line ends: mixed]\n"
    );
}

#[test]
fn long_lines_are_cut_at_a_character() {
    assert_eq!(
        page("語語語語語語語\n", 1, None),
        "1\t語語語語語 [+2 characters]\n[1 long lines are cut]\n"
    );
}

#[test]
fn a_page_ends_before_it_is_too_large_but_is_never_empty() {
    let wide = Caps {
        lines: 100,
        line_characters: 1000,
        bytes: 20,
    };
    let text = Text::of(b"0123456789012345678901234567890\nb\n").unwrap();
    let page = text.page(1, None, wide);
    assert_eq!((page.first, page.last), (1, 1));
    assert!(page.text.ends_with("[lines 1-1 of 2]\n"), "{}", page.text);
}

#[test]
fn the_mark_is_not_shown_and_a_replacement_character_is_text() {
    assert_eq!(page("\u{FEFF}a\n", 1, None), "1\ta\n");
    assert_eq!(page("\u{FFFD}\n", 1, None), "1\t\u{FFFD}\n");
}

#[test]
fn what_is_not_text_is_refused_with_its_kind_and_size() {
    let folder = Folder::new();
    folder.put("latin", b"caf\xE9\n");
    folder.put("wide", b"\xFF\xFEh\0");
    folder.put("binary", b"\x7FELF\0\0\0\x01\x02");
    for (path, kind) in [
        ("latin", "not valid UTF-8"),
        ("wide", "UTF-16"),
        ("binary", "binary"),
    ] {
        let error = folder.call("read", json!({ "path": path })).unwrap_err();
        assert_eq!(error.code, "not-text");
        assert!(error.message.contains(kind), "{}", error.message);
        assert!(error.message.contains("bytes"), "{}", error.message);
    }
}

#[test]
fn a_folder_and_a_missing_file_are_told_apart() {
    let folder = Folder::new();
    folder.put("src/Main.rs", "x");
    let error = folder.call("read", json!({ "path": "src" })).unwrap_err();
    assert_eq!(error.code, "folder");
    let error = folder
        .call("read", json!({ "path": "src/main.rs" }))
        .unwrap_err();
    assert!(error.message.contains("src/Main.rs"), "{}", error.message);
    let error = folder.call("read", json!({ "path": "none" })).unwrap_err();
    assert_eq!(error.code, "no-entry");
}

#[test]
fn a_file_of_several_pieces_is_read_whole() {
    let folder = Folder::new();
    let text = "0123456789abcde\n".repeat(5 << 16);
    folder.put("big", &text);
    let answer = folder
        .call("read", json!({ "path": "big", "offset": 5 << 16 }))
        .unwrap();
    assert!(
        answer.text.starts_with("327680\t0123456789abcde\n"),
        "{}",
        answer.text
    );

    folder.put("huge", vec![b'x'; (8 << 20) + 1]);
    let error = folder.call("read", json!({ "path": "huge" })).unwrap_err();
    assert_eq!(error.code, "too-large");
}
