//! What is shown, on files in memory.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use raddle_plugin_gamma::show::{Host, deck, file};
use raddle_sdk::Error;

#[derive(Default)]
struct Files {
    files: RefCell<BTreeMap<String, Vec<u8>>>,
    shown: RefCell<Vec<String>>,
}

impl Files {
    fn with(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Self {
            files: RefCell::new(files.collect()),
            shown: RefCell::default(),
        }
    }
}

impl Host for Files {
    fn read(&self, path: &str, most: usize) -> Result<(Vec<u8>, String), Error> {
        let files = self.files.borrow();
        let bytes = files.get(path).cloned();
        let bytes = bytes.ok_or_else(|| Error::not_found("missing", format!("no {path}")))?;
        if bytes.len() > most {
            return Err(Error::limit("size", "too large"));
        }
        let digest = format!("sha256:{}", bytes.len());
        Ok((bytes, digest))
    }

    fn digest(&self, path: &str) -> Result<String, Error> {
        self.read(path, usize::MAX).map(|(_, digest)| digest)
    }

    fn replace(&self, path: &str, bytes: &[u8], base: Option<&str>) -> Result<(), Error> {
        assert_eq!(self.digest(path).ok().as_deref(), base);
        self.files
            .borrow_mut()
            .insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn show(&self, path: &str) {
        self.shown.borrow_mut().push(path.to_owned());
    }
}

const DECK: &str = "<deck title=\"T\"><card id=\"a\" layout=\"title\"><heading>Bees do well</heading>\
    <image src=\"bee.png\" alt=\"A bee\"/></card></deck>";

#[test]
fn a_good_deck_is_rendered_beside_it_and_shown() {
    let files = Files::with(&[("out/bees.gml", DECK), ("out/bee.png", "png")]);
    for _ in 0..2 {
        let reply = deck(&files, "out/bees.gml").unwrap();
        assert_eq!(reply.text, "out/bees.html is rendered (1 cards) and shown");
        let artifact = reply.artifact.unwrap();
        assert_eq!(artifact.path.as_deref(), Some("out/bees.gml"));
        assert!(artifact.revision.is_some());
    }
    let page = String::from_utf8(files.files.borrow()["out/bees.html"].clone()).unwrap();
    assert!(page.contains("Bees do well") && page.contains("data:image/png;base64,cG5n"));
    assert_eq!(*files.shown.borrow(), ["out/bees.html", "out/bees.html"]);
}

#[test]
fn every_defect_of_a_bad_deck_is_listed_and_nothing_is_shown() {
    let bad = "<deck title=\"T\">\n<card id=\"a\"><heading>H</heading><image src=\"../x.png\"/></card>\n<slide/></deck>";
    let files = Files::with(&[("bees.gml", bad)]);
    let error = deck(&files, "bees.gml").unwrap_err();
    assert_eq!(error.code, "deck");
    for line in [
        "bees.gml:2:",
        "has no alt",
        "no relative path",
        "bees.gml:3:1: error:",
    ] {
        assert!(error.message.contains(line), "{line}: {}", error.message);
    }
    let broken = Files::with(&[("bees.gml", "<deck")]);
    assert!(
        deck(&broken, "bees.gml")
            .unwrap_err()
            .message
            .contains("bees.gml:1:")
    );
    assert!(files.shown.borrow().is_empty());
    assert_eq!(files.files.borrow().len(), 1);
}

#[test]
fn a_file_is_shown_as_it_is() {
    let files = Files::with(&[("notes.md", "x")]);
    let reply = file(&files, "notes.md").unwrap();
    assert_eq!(reply.text, "notes.md is shown");
    assert_eq!(
        reply.artifact.unwrap().revision.as_deref(),
        Some("sha256:1")
    );
    assert_eq!(file(&files, "other").unwrap_err().code, "missing");
}

/// What is no deck is not read as one, and what is no page of a deck is not written over.
#[test]
fn nothing_else_is_overwritten() {
    let files = Files::with(&[
        ("x.html", DECK),
        (
            "a.gml",
            "<deck title=\"T\"><card id=\"a\"><heading>H</heading></card></deck>",
        ),
        ("a.html", "<p>mine</p>"),
    ]);
    assert_eq!(deck(&files, "x.html").unwrap_err().code, "deck");
    assert_eq!(deck(&files, "a.gml").unwrap_err().code, "exists");
    assert_eq!(files.files.borrow()["a.html"], b"<p>mine</p>");
    let large = "x".repeat(5 << 20);
    let files = Files::with(&[("a.gml", &large)]);
    assert_eq!(deck(&files, "a.gml").unwrap_err().code, "size");
}
