//! Encodings.

use raddle_plugin_web::charset::decode;

#[test]
fn the_encoding_is_found_where_it_is_said() {
    let text = |bytes: &[u8], declared| decode(bytes, declared).unwrap();
    assert_eq!(text("é".as_bytes(), None), "é");
    assert_eq!(text("é".as_bytes(), Some("UTF-8")), "é");
    assert_eq!(text(b"\xE9", None), "é");
    assert_eq!(text(b"\xE9 \x80", Some("iso-8859-1")), "é €");
    assert_eq!(text(b"\xEF\xBB\xBFx", Some("iso-8859-1")), "x");
    assert_eq!(text(b"\xFF\xFEh\0i\0", None), "hi");
    assert_eq!(text(b"\xFE\xFF\0h\0i", None), "hi");
    assert_eq!(text(b"h\0i\0", Some("utf-16le")), "hi");
    assert_eq!(
        text(b"<meta charset=\"latin1\">\xE9", None),
        "<meta charset=\"latin1\">é"
    );
    assert_eq!(
        text("<meta charset=utf-16>é".as_bytes(), None),
        "<meta charset=utf-16>é"
    );
    assert_eq!(text(b"a\xFFb", Some("utf-8")), "a\u{FFFD}b");
}

#[test]
fn another_encoding_is_named() {
    assert_eq!(decode(b"x", Some("Shift_JIS")), Err("Shift_JIS".to_owned()));
    assert_eq!(
        decode(b"<META CHARSET='gb2312'>", None),
        Err("gb2312".to_owned())
    );
}
