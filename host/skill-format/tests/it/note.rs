//! Notes as files.

use raddle_skill_format::{Authority, note};

#[test]
fn a_note_has_a_scope_and_words_that_bring_it_up() {
    let text = "---\r\nname: Image rules\r\nscope: Use for images.\r\nauthority: user\r\nkeywords: image, photo\r\n---\r\nOnly photos.\r\n";
    let note = note("brand-images", text).unwrap();
    assert_eq!(note.id, "brand-images");
    assert_eq!(note.name, "Image rules");
    assert_eq!(note.scope, "Use for images.");
    assert_eq!(note.authority, Authority::User);
    assert_eq!(note.keywords, ["image", "photo"]);
    assert_eq!(note.body, "Only photos.");
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    for (text, expected) in [
        ("no front matter", "---"),
        ("---\nname: a\n---\nbody", "no `scope`"),
        ("---\nscope: a\n---\n \n", "no text"),
        ("---\nscope: a\nkeyword: b\n---\nbody", "`keyword`"),
        ("---\nscope: a\nauthority: me\n---\nbody", "`authority`"),
        ("---\nscope: a\nid: a b\n---\nbody", "`id`"),
    ] {
        let error = note("n", text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
    }
}
