//! Output as text, and the lines that end a result.

use raddle_plugin_bash::call::answer;
use raddle_plugin_bash::output::Raw;
use raddle_plugin_bash::settings::Settings;
use raddle_sdk::process::Completed;

fn shown(bytes: &[u8]) -> String {
    Raw { bytes, omitted: 0 }.shown(1 << 20)
}

fn text(text: &str) -> String {
    shown(text.as_bytes())
}

#[test]
fn text_stays_as_it_is() {
    assert_eq!(text(""), "");
    assert_eq!(text("a\tb\n\n"), "a\tb\n\n");
    assert_eq!(text("no end"), "no end\n");
    assert_eq!(text("a\r\nb\r\n"), "a\nb\n");
}

#[test]
fn every_kind_of_escape_sequence_goes() {
    for sequence in [
        "\x1b[0m",
        "\x1b[38;5;196m",
        "\x1b[?25l",
        "\x1b[1;2H",
        "\x1b[!p",
        "\x1b[>4;1m",
        "\x1b]0;title\x07",
        "\x1b]0;title\x1b\\",
        "\x1b]8;;http://x\x1b\\",
        "\x1bP1$r0m\x1b\\",
        "\x1b_app\x1b\\",
        "\x1b^pm\x1b\\",
        "\x1bXsos\x1b\\",
        "\x1b(B",
        "\x1b)0",
        "\x1b#8",
        "\x1b=",
        "\x1b7",
        "\x1bM",
        "\x1bc",
        "\u{9b}1m",
        "\u{9d}0;t\u{9c}",
        "\x07",
        "\x0e",
        "\x7f",
    ] {
        assert_eq!(
            text(&format!("a{sequence}b text\n")),
            "ab text\n",
            "{sequence:?}"
        );
    }
}

#[test]
fn a_sequence_that_is_cut_short_takes_nothing_along() {
    assert_eq!(text("text\x1b"), "text\n");
    assert_eq!(text("text\x1b[3"), "text\n");
    assert_eq!(text("text\x1b[3\nnext\n"), "text\nnext\n");
    assert_eq!(text("text\x1b]0;title\nnext\n"), "text0;title\nnext\n");
    assert_eq!(text("text\x1b]0;a\x1b[31mred\n"), "textred\n");
    // Many unfinished strings in one line are looked at once.
    let many = "\x1bP".repeat(200_000);
    assert_eq!(
        text(&format!("some text{many} and more\n")),
        "some text and more\n"
    );
}

#[test]
fn progress_is_shown_as_it_ended() {
    assert_eq!(text("10%\r50%\r100%\ndone\n"), "100%\ndone\n");
    assert_eq!(text("10%\r100%\r\n"), "100%\n");
    assert_eq!(text("10%\r\x1b[Kdone\n"), "done\n");
    assert_eq!(text("10%\r\x1b[K\nnext\n"), "\nnext\n");
    assert_eq!(text("10%\x1b[2K\rdone\n"), "done\n");
    assert_eq!(text("kept\x1b[K\n"), "kept\n");
    assert_eq!(text("ab\x08c\n\x08d\n"), "ac\nd\n");
    assert_eq!(text("last\r"), "last\n");
}

#[test]
fn what_is_not_utf8_is_replaced_in_what_is_shown() {
    assert_eq!(
        shown(b"caf\xE9 au lait, encore du caf\xE9\n"),
        "caf\u{FFFD} au lait, encore du caf\u{FFFD}\n"
    );
    assert_eq!(text("a \u{FFFD} of its own\n"), "a \u{FFFD} of its own\n");
    assert_eq!(
        text("name one\0name two\0"),
        "name one\u{2400}name two\u{2400}\n"
    );
}

#[test]
fn binary_is_named_with_its_whole_size() {
    let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0x9C; 100]].concat();
    assert_eq!(shown(&png), "[binary output of 116 bytes, not shown]\n");
    let cut = Raw {
        bytes: &[0; 100],
        omitted: 900,
    };
    assert_eq!(
        cut.shown(1000),
        "[binary output of 1000 bytes, not shown]\n"
    );
}

#[test]
fn the_middle_is_cut_out_and_counted() {
    let raw = Raw {
        bytes: b"0123456789",
        omitted: 0,
    };
    assert_eq!(raw.shown(10), "0123456789\n");
    assert_eq!(raw.shown(4), "01\n[6 bytes left out]\n89\n");
    let raw = Raw {
        bytes: b"line\nmore\n",
        omitted: 100,
    };
    assert_eq!(raw.shown(100), "line\n[100 bytes left out]\nmore\n");
    assert_eq!(raw.shown(4), "li\n[106 bytes left out]\ne\n");
}

#[test]
fn what_the_host_cut_inside_a_character_is_not_shown_as_damage() {
    let text = "語".repeat(40);
    let bytes = text.as_bytes();
    for (first, last) in [(60, 60), (61, 61), (62, 62)] {
        let kept = [&bytes[..first], &bytes[bytes.len() - last..]].concat();
        let shown = Raw {
            bytes: &kept,
            omitted: 3,
        }
        .shown(1000);
        assert!(!shown.contains('\u{FFFD}'), "{shown}");
        assert_eq!(shown.matches('語').count(), 40, "{shown}");
    }
}

#[test]
fn no_limit_breaks_anything() {
    let text = "語\x1b[1mé\r\nx\u{1F600}".repeat(50);
    for limit in 0..text.len() + 4 {
        for omitted in [0, 7] {
            let raw = Raw {
                bytes: text.as_bytes(),
                omitted,
            };
            let shown = raw.shown(limit);
            assert!(shown.len() <= limit + 40, "{limit}");
        }
    }
}

#[test]
fn a_timeout_and_a_signal_have_their_conventional_codes() {
    let settings = Settings::default();
    let completed = |signal, timed_out| Completed {
        code: None,
        signal,
        timed_out,
        output: b"so far".to_vec(),
        errors: Vec::new(),
        omitted: 0,
    };
    let timeout = answer(&completed(None, true), 5, &settings);
    assert_eq!(
        timeout.text,
        "so far\n[ended after 5 seconds: timeout]\n[exit code: 124]"
    );
    assert!(timeout.details.timed_out);
    let signal = answer(&completed(Some(9), false), 5, &settings);
    assert_eq!(signal.text, "so far\n[ended by signal 9]\n[exit code: 137]");
    assert_eq!(
        serde_json::to_string(&signal.details).unwrap(),
        r#"{"exitCode":137,"signal":9,"timedOut":false,"omitted":0}"#
    );
}
