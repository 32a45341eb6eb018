//! The program, as the skills describe it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod serve;

use std::fs;
use std::path::Path;
use std::process::Command;

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let file = self.0.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    /// Exit code, stdout and stderr.
    fn gml(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gml"));
        let output = command
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code().unwrap(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    fn check(&self, deck: &str) -> (i32, String) {
        self.write("deck.gml", deck);
        let (code, out, _) = self.gml(&["check", "deck.gml"]);
        (code, out)
    }
}

/// The example of the skill gml-authoring.
fn example() -> String {
    let skill =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../skills/gml-authoring/SKILL.md");
    let text = fs::read_to_string(skill).unwrap();
    let (_, after) = text.split_once("```xml\n").unwrap();
    after.split_once("```").unwrap().0.to_owned()
}

fn deck(cards: &str) -> String {
    format!(
        "<deck title=\"T\">\n<card id=\"a\" layout=\"title\"><heading>H</heading></card>\n{cards}\n</deck>\n"
    )
}

#[test]
fn the_example_of_the_skill_is_good_and_renders() {
    let desk = Desk::new();
    desk.write("images/nest.jpg", b"\xff\xd8");
    desk.write("deck.gml", example());
    assert_eq!(
        desk.gml(&["check", "deck.gml"]),
        (0, "0 errors, 0 warnings\n".to_owned(), String::new())
    );
    let (code, _, _) = desk.gml(&["render", "deck.gml", "-o", "deck.html"]);
    assert_eq!(code, 0);
    let page = fs::read_to_string(desk.0.path().join("deck.html")).unwrap();
    for part in [
        "<html lang=\"en\" class=\"paper\">",
        "<title>Bees in the city</title>",
        "<section class=\"card title\" id=\"cover\">\n<h1>Cities can be good places for bees</h1>",
        "<section class=\"card content\" id=\"count\">",
        "<tr>\n<th>place</th>",
        "<li><strong>Flowers</strong> from March to October</li>",
        "<img src=\"data:image/jpeg;base64,/9g=\" alt=\"A nest in sandy ground, seen from above\">",
        "<aside class=\"notes\" hidden>Counted on six mornings",
        "<footer>Mina, class 7b</footer>",
        "<a href=\"https://example.org/bees\">example.org/bees</a>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert_eq!(page.matches("<section").count(), 4);
    assert!(!page.contains("<script"));
}

#[test]
fn every_fault_has_its_place() {
    let desk = Desk::new();
    desk.write("text.png", "");
    for (cards, expected) in [
        (
            "<card id=\"b\"><heading>H</heading><image src=\"text.png\"/></card>",
            "3:34: error: <image> has no alt",
        ),
        (
            "<card id=\"a\"><heading>H</heading></card>",
            "3:1: error: the id \"a\" is that of the card in line 2",
        ),
        (
            "<card id=\"B\"><heading>H</heading></card>",
            "3:1: error: id of <card> is \"B\"",
        ),
        (
            "<card id=\"b\"><text>T</text></card>",
            "3:1: error: a card begins with a <heading>",
        ),
        (
            "<card id=\"b\"><heading>H</heading><heading>H</heading></card>",
            "a card has one <heading>",
        ),
        (
            "<card id=\"b\"><heading>H</heading><notes>N</notes><text>T</text></card>",
            "the <notes> of a card stand at its end, once",
        ),
        (
            "<card id=\"b\"><heading>H</heading><script>x</script></card>",
            "3:34: error: there is no element <script>",
        ),
        (
            "<card id=\"b\"><heading>H</heading><item>x</item></card>",
            "<item> cannot stand in <card>",
        ),
        (
            "<card id=\"b\"><heading><text>H</text></heading></card>",
            "<text> cannot stand in <heading>",
        ),
        (
            "<card id=\"b\" style=\"x\"><heading>H</heading></card>",
            "<card> has no attribute style",
        ),
        (
            "<card id=\"b\" layout=\"wide\"><heading>H</heading></card>",
            "it is one of title, content, section",
        ),
        (
            "<card id=\"b\">loose<heading>H</heading></card>",
            "3:14: error: <card> holds no text",
        ),
        (
            "<card id=\"b\"><heading> </heading></card>",
            "<heading> has no text",
        ),
        (
            "<card id=\"b\"><heading>H</heading><list/></card>",
            "<list> holds no <item>",
        ),
        (
            "<card id=\"b\"><heading>H</heading><table><row><cell>1</cell></row><row><cell>1</cell><cell>2</cell></row></table></card>",
            "the row has 2 cells, and the first has 1",
        ),
        (
            "<card id=\"b\"><heading>H</heading><columns><column><text>T</text></column></columns></card>",
            "<columns> holds 1 <column>",
        ),
        (
            "<card id=\"b\"><heading>H</heading><text><a href=\"javascript:x\">T</a></text></card>",
            "it begins with http://, https:// or mailto:",
        ),
        (
            "<card id=\"b\"><heading>H</heading><image src=\"gone.png\" alt=\"A\"/></card>",
            "there is no file \"gone.png\"",
        ),
        (
            "<card id=\"b\"><heading>H</heading><image src=\"../x.png\" alt=\"A\"/></card>",
            "no relative path in the deck's folder",
        ),
        (
            "<card id=\"b\"><heading>H</heading><image src=\"/etc/x.png\" alt=\"A\"/></card>",
            "no relative path in the deck's folder",
        ),
        (
            "<card id=\"b\"><heading>H</heading><image src=\"x.exe\" alt=\"A\"/></card>",
            "is no png, jpg, gif, webp or svg",
        ),
        (
            "<x:card xmlns:x=\"y\" id=\"b\"><heading>H</heading></x:card>",
            "there is no element <card>",
        ),
    ] {
        let (code, out) = desk.check(&deck(cards));
        assert_eq!(code, 1, "{cards}\n{out}");
        assert!(out.contains(expected), "{cards}\n{out}");
        let (code, _, _) = desk.gml(&["render", "deck.gml", "-o", "deck.html"]);
        assert_eq!(code, 1);
        assert!(
            !desk.0.path().join("deck.html").exists(),
            "nothing is written"
        );
    }
}

#[test]
fn what_is_hard_to_take_in_is_a_warning() {
    let desk = Desk::new();
    let items = "<item>x</item>".repeat(9);
    let words = "word ".repeat(80);
    let cards = format!(
        "<card id=\"b\"><heading>{}</heading><list>{items}</list></card><card id=\"c\"><heading>H</heading><text>{words}</text></card>",
        "h".repeat(81)
    );
    let (code, out) = desk.check(&deck(&cards));
    assert_eq!(code, 0, "{out}");
    for expected in [
        "the heading has 81 characters",
        "the list has 9 items",
        "the card has 81 words",
        "0 errors, 3 warnings",
    ] {
        assert!(out.contains(expected), "{expected}\n{out}");
    }
    let (_, out) =
        desk.check("<deck title=\"T\"><card id=\"a\"><heading>H</heading></card></deck>");
    assert!(
        out.contains("the first card has not the layout title"),
        "{out}"
    );
}

#[test]
fn what_is_no_deck_is_told_of() {
    let desk = Desk::new();
    for (text, expected) in [
        ("", ": error: "),
        ("<deck title=\"T\">", ": error: "),
        ("<brief/>", "1:1: error: the root is <brief>, not <deck>"),
        ("<deck title=\"T\"/>", "<deck> holds no <card>"),
        (
            "<!DOCTYPE deck [<!ENTITY x SYSTEM \"/etc/passwd\">]><deck title=\"&x;\"/>",
            ": error: ",
        ),
    ] {
        let (code, out) = desk.check(text);
        assert_eq!(code, 1, "{text}\n{out}");
        assert!(out.contains(expected), "{text}\n{out}");
        assert!(!out.contains("root:"));
    }
    let deep = deck(&format!(
        "<card id=\"b\"><heading>{}x{}</heading></card>",
        "<b>".repeat(50_000),
        "</b>".repeat(50_000)
    ));
    assert_eq!(desk.check(&deep).0, 1);
}

#[test]
fn texts_stay_texts() {
    let desk = Desk::new();
    desk.write(
        "deck.gml",
        deck("<card id=\"b\"><heading>a &lt;script&gt; &amp; b</heading><code lang=\"rust\">\n  if a &lt; b {\n}\n</code></card>"),
    );
    assert_eq!(desk.gml(&["render", "-o", "deck.html", "deck.gml"]).0, 0);
    let page = fs::read_to_string(desk.0.path().join("deck.html")).unwrap();
    assert!(page.contains("<h2>a &lt;script&gt; &amp; b</h2>"));
    assert!(
        page.contains("<pre><code>  if a &lt; b {\n}</code></pre>"),
        "{page}"
    );
}

#[test]
fn wrong_use_is_2() {
    let desk = Desk::new();
    for arguments in [
        &[][..],
        &["check"],
        &["check", "gone.gml"],
        &["render", "deck.gml"],
        &["check", "."],
    ] {
        let (code, _, err) = desk.gml(arguments);
        assert_eq!(code, 2, "{arguments:?} {err}");
        assert!(!err.is_empty());
    }
    desk.write("utf16.gml", b"\xff\xfe<\0");
    assert_eq!(desk.gml(&["check", "utf16.gml"]).0, 2);
}
