//! The pure edit: line ends, marks, ambiguity, and hints.

use raddle_plugin_files::edit::{EditError, apply};
use raddle_plugin_files::hint::Hint;

fn edited(file: &str, old: &str, new: &str) -> String {
    String::from_utf8(apply(file.as_bytes(), old, new, false).unwrap().bytes).unwrap()
}

fn refused(file: &str, old: &str) -> EditError {
    apply(file.as_bytes(), old, "something else", false).unwrap_err()
}

fn hint(file: &str, old: &str) -> Option<Hint> {
    match refused(file, old) {
        EditError::NotFound(hint) => hint,
        other => panic!("{other}"),
    }
}

#[test]
fn new_lines_get_the_line_ends_of_their_surroundings() {
    assert_eq!(edited("a\r\nb\r\n", "b", "b\nc"), "a\r\nb\r\nc\r\n");
    assert_eq!(edited("a\r\nb", "b", "b\nc"), "a\r\nb\r\nc");
    assert_eq!(edited("a\nb\n", "b", "b\nc"), "a\nb\nc\n");
    assert_eq!(edited("a", "a", "a\nb"), "a\nb");
    assert_eq!(edited("a\nb\r\nc\n", "b", "x\ny"), "a\nx\r\ny\r\nc\n");
    assert_eq!(
        edited("a\r\nb\r\n", "a\nb", "a\r\nx\r\nb"),
        "a\r\nx\r\nb\r\n"
    );
}

#[test]
fn lines_that_stay_in_the_replaced_text_keep_their_line_ends() {
    assert_eq!(
        edited("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nB\nc\nd"),
        "a\r\nB\nc\r\nd\n"
    );
    assert_eq!(
        edited("a\nb\r\nc\nd\r\n", "b\nc\nd", "1\n2\n3"),
        "a\n1\r\n2\n3\r\n"
    );
}

#[test]
fn a_match_may_begin_and_end_at_a_line_end() {
    assert_eq!(edited("a\r\nb\r\nc\r\n", "\nb", ""), "a\r\nc\r\n");
    assert_eq!(edited("a\r\nb\r\nc\r\n", "b\n", ""), "a\r\nc\r\n");
    assert_eq!(edited("\r\n\r\nx\r\n", "\n\nx", "x"), "x\r\n");
}

#[test]
fn a_lone_carriage_return_is_a_character_like_any_other() {
    assert_eq!(edited("a\rb\nc", "b", "B"), "a\rB\nc");
    assert_eq!(edited("a\rb\r\nc", "a\rb\nc", "a\rb\nC"), "a\rb\r\nC");
}

#[test]
fn deleting_everything_leaves_the_mark() {
    let edited = apply(b"\xEF\xBB\xBFx", "x", "", false).unwrap();
    assert_eq!(edited.bytes, b"\xEF\xBB\xBF");
}

#[test]
fn every_byte_outside_the_match_stays() {
    // A small generator keeps the texts the same on every run.
    let mut seed = 7_u32;
    let mut next = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % below
    };
    let pieces = ["a", "b", "\n", "\r\n", "é", "語", " "];
    for _ in 0..2000 {
        let mut text = |length: u32| -> String {
            (0..next(length))
                .map(|_| pieces[next(pieces.len() as u32) as usize])
                .collect()
        };
        let (before, old, after, new) = (text(12), text(6), text(12), text(6));
        // A match cannot begin between the two halves of a line end.
        let file = format!("{before}|{old}|{after}");
        let Ok(edited) = apply(
            file.as_bytes(),
            &format!("|{old}|"),
            &format!("|{new}|"),
            false,
        ) else {
            assert_eq!(
                old.replace("\r\n", "\n"),
                new.replace("\r\n", "\n"),
                "{file:?}"
            );
            continue;
        };
        let result = String::from_utf8(edited.bytes).unwrap();
        assert!(result.starts_with(&format!("{before}|")), "{result:?}");
        assert!(result.ends_with(&format!("|{after}")), "{result:?}");
        assert_eq!(
            result.replace("\r\n", "\n"),
            format!("{before}|{new}|{after}").replace("\r\n", "\n")
        );
    }
}

#[test]
fn an_ambiguous_match_lists_its_lines() {
    let error = refused("x\ny\nx\nx\n", "x");
    assert_eq!(
        error,
        EditError::Ambiguous {
            lines: vec![1, 3, 4],
            count: 3
        }
    );
    let message = error.to_string();
    assert!(message.contains("lines 1, 3, 4"), "{message}");
    assert!(message.contains("replace_all"), "{message}");

    let many = refused(&"x\n".repeat(5000), "x").to_string();
    assert!(many.contains("1000 or more"), "{many}");
    assert!(many.len() < 400, "{many}");
}

#[test]
fn places_that_overlap_are_ambiguous_too() {
    assert!(matches!(
        refused("aaa", "aa"),
        EditError::Ambiguous { count: 2, .. }
    ));
    let all = apply(b"aaaa", "aa", "b", true).unwrap();
    assert_eq!(all.bytes, b"bb");
}

#[test]
fn only_the_line_ends_differ_is_no_change() {
    assert_eq!(
        apply(b"a\r\nb", "a\nb", "a\r\nb", false),
        Err(EditError::OnlyLineEnds)
    );
}

#[test]
fn a_column_of_line_numbers_is_named() {
    let file = "alpha\n\tbeta\n";
    for old in [
        "2\t\tbeta",
        "     2\t\tbeta",
        "1\talpha\n2\t\tbeta",
        "     2→\tbeta",
        "2: \tbeta",
        "2|\tbeta",
        "1\tanother\n2\tword",
    ] {
        assert_eq!(hint(file, old), Some(Hint::LineNumbers), "{old:?}");
    }
    assert_eq!(hint("a: 1\nb: 2\n", "b: 3"), None);
}

#[test]
fn text_that_is_almost_there_is_pointed_at() {
    let file = "fn main() {\n    let café = \"a\";\n    call(x);\n}\n";
    assert_eq!(
        hint(file, "\tlet café = \"a\";"),
        Some(Hint::WhiteSpace {
            line: 2,
            found: "    let café = \"a\";".to_owned()
        })
    );
    assert_eq!(
        hint(file, "let cafe\u{301} = \"a\";"),
        Some(Hint::NormalForm { line: 2 })
    );
    for (composed, decomposed) in [
        (
            "Ångström ế ё",
            "A\u{30A}ngstro\u{308}m e\u{302}\u{301} е\u{308}",
        ),
        (
            "かがぱ 한글",
            "か\u{304B}\u{3099}\u{306F}\u{309A} \u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}",
        ),
    ] {
        assert_eq!(
            hint(composed, decomposed),
            Some(Hint::NormalForm { line: 1 })
        );
        assert_eq!(
            hint(decomposed, composed),
            Some(Hint::NormalForm { line: 1 })
        );
    }
    assert_eq!(hint("è", "é"), None);
    assert_eq!(
        hint(file, "let café = “a”;"),
        Some(Hint::Punctuation { line: 2 })
    );
    assert_eq!(hint(file, "CALL(x);"), Some(Hint::Case { line: 3 }));
    assert_eq!(hint("a\tb\nc", "a\\tb\\nc"), Some(Hint::Escapes));
    assert_eq!(
        hint(file, "main() {\n    let café = \"a\";\n    call(y);\n}"),
        Some(Hint::Beginning {
            line: 3,
            found: "    call(x);".to_owned()
        })
    );
    assert_eq!(hint(file, "nothing like it"), None);
}

#[test]
fn no_hint_quotes_a_long_line() {
    let file = format!("{}\tend\n", "k".repeat(300_000));
    let message = refused(&file, &format!("{} end", "k".repeat(300_000))).to_string();
    assert!(message.contains("white space"), "{message}");
    assert!(message.len() < 400, "{}", message.len());
}

#[test]
fn what_is_not_text_is_refused_by_its_kind() {
    let refused = |bytes: &[u8]| apply(bytes, "a", "b", false).unwrap_err().to_string();
    assert!(refused(b"\xFF\xFEa\0").contains("UTF-16"));
    assert!(refused(b"\0a\0b\0c\0d").contains("UTF-16"));
    assert!(refused(b"a\0b\0c\0d\0").contains("UTF-16"));
    assert!(refused(b"\x7FELF\x02\x01\x01\0\0\0\0a").contains("binary"));
    assert!(refused(b"ok\ncaf\xE9 a").contains("not valid UTF-8 (first in line 2)"));
}
