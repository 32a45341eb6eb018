//! Fetching over an `Http` that answers from a table. Real requests are tested with the host.

use std::collections::BTreeMap;

use raddle_plugin_web::address::Address;
use raddle_plugin_web::fetch::{Answer, Arguments, Http, Response, fetch};
use raddle_plugin_web::settings::Settings;
use raddle_sdk::{Error, ErrorKind};

/// Responses by address, and the addresses that were asked for.
#[derive(Default)]
struct Site {
    pages: BTreeMap<String, Response>,
    asked: Vec<String>,
}

impl Site {
    fn page(mut self, address: &str, kind: &str, body: impl AsRef<[u8]>) -> Self {
        self.pages
            .insert(address.to_owned(), response(200, kind, body.as_ref()));
        self
    }

    fn redirect(mut self, address: &str, location: &str) -> Self {
        let mut response = response(302, "", b"");
        response.location = Some(location.to_owned());
        self.pages.insert(address.to_owned(), response);
        self
    }

    fn fetch(&mut self, url: &str, offset: usize) -> Result<Answer, Error> {
        let arguments = Arguments {
            url: url.to_owned(),
            offset,
        };
        let settings = Settings {
            output_bytes: 20,
            page_bytes: 1000,
            ..Settings::default()
        };
        fetch(self, &arguments, &settings)
    }

    fn text(&mut self, url: &str) -> String {
        self.fetch(url, 0).unwrap().text
    }
}

impl Http for Site {
    fn get(&mut self, address: &Address, limit: usize) -> Result<Response, Error> {
        let address = address.to_string();
        self.asked.push(address.clone());
        let mut response = self
            .pages
            .get(&address)
            .cloned()
            .ok_or_else(|| Error::denied("not-granted", format!("{address} is not granted")))?;
        response.more = response.body.len() > limit;
        response.body.truncate(limit);
        Ok(response)
    }
}

fn response(status: u16, kind: &str, body: &[u8]) -> Response {
    Response {
        status,
        location: None,
        content_type: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
        content_encoding: None,
        body: body.to_vec(),
        more: false,
    }
}

#[test]
fn a_page_comes_with_its_address_and_title() {
    let mut site = Site::default().page(
        "http://a/",
        "text/html; charset=\"UTF-8\"",
        "<title>T</title><p>Words",
    );
    assert_eq!(site.text("http://a"), "URL: http://a/\nTitle: T\n\nWords\n");
}

#[test]
fn other_text_comes_as_it_is() {
    let mut site = Site::default()
        .page("http://a/j", "application/ld+json", "{\"a\": \"<b>\"}")
        .page("http://a/t", "text/plain", "<b>\n")
        .page("http://a/l", "text/plain; charset=ISO-8859-1", b"caf\xE9\n")
        .page("http://a/none", "", "<!doctype html><p>x")
        .page("http://a/bare", "", "<x");
    assert_eq!(
        site.text("http://a/j"),
        "URL: http://a/j\n\n{\"a\": \"<b>\"}\n"
    );
    assert_eq!(site.text("http://a/t"), "URL: http://a/t\n\n<b>\n");
    assert_eq!(site.text("http://a/l"), "URL: http://a/l\n\ncafé\n");
    assert_eq!(site.text("http://a/none"), "URL: http://a/none\n\nx\n");
    assert_eq!(site.text("http://a/bare"), "URL: http://a/bare\n\n<x\n");
}

#[test]
fn a_long_page_comes_in_parts() {
    let mut site = Site::default().page("http://a/", "text/plain", "語".repeat(10));
    let first = site.fetch("http://a/", 0).unwrap().text;
    assert_eq!(
        first,
        "URL: http://a/\n\n語語語語語語\n[characters 0 to 6 of 10]\n"
    );
    let second = site.fetch("http://a/", 6).unwrap().text;
    assert_eq!(
        second,
        "URL: http://a/\n\n語語語語\n[characters 6 to 10 of 10]\n"
    );
    let past = site.fetch("http://a/", 99).unwrap().text;
    assert_eq!(past, "URL: http://a/\n\n[characters 10 to 10 of 10]\n");
}

#[test]
fn a_page_that_is_too_large_is_cut_and_says_so() {
    let mut site = Site::default().page("http://a/", "text/plain", "x".repeat(1001));
    let text = site.text("http://a/");
    assert!(
        text.ends_with("[only the first 1000 bytes of the page were fetched]\n"),
        "{text}"
    );
}

#[test]
fn redirects_are_followed_one_request_at_a_time() {
    let mut site = Site::default()
        .redirect("http://a/", "/b?c")
        .redirect("http://a/b?c", "https://d/e")
        .page("https://d/e", "text/plain", "there");
    assert_eq!(site.text("http://a/"), "URL: https://d/e\n\nthere\n");
    assert_eq!(site.asked, ["http://a/", "http://a/b?c", "https://d/e"]);
}

#[test]
fn a_redirect_gains_nothing() {
    let mut site = Site::default()
        .redirect("http://a/out", "http://secret/")
        .redirect("http://a/file", "file:///etc/passwd")
        .redirect("http://a/loop", "/loop");
    assert_eq!(
        site.fetch("http://a/out", 0).unwrap_err().kind,
        ErrorKind::Denied
    );
    let error = site.fetch("http://a/file", 0).unwrap_err();
    assert_eq!(error.code, "redirect");
    assert!(error.message.contains("file"), "{}", error.message);
    let asked = site.asked.len();
    assert_eq!(
        site.fetch("http://a/loop", 0).unwrap_err().code,
        "redirects"
    );
    assert_eq!(site.asked.len() - asked, 6);
}

#[test]
fn what_cannot_be_shown_is_refused_by_its_type() {
    let mut compressed = response(200, "text/html", b"\x1F\x8B");
    compressed.content_encoding = Some("gzip".to_owned());
    let mut site = Site::default()
        .page("http://a/png", "image/png", b"\x89PNG\0")
        .page("http://a/nul", "text/plain", b"a\0b")
        .page("http://a/unknown", "", b"a\0b")
        .page("http://a/jis", "text/html; charset=shift_jis", b"x");
    site.pages.insert("http://a/gzip".to_owned(), compressed);
    for (page, word) in [
        ("png", "image/png (5 bytes)"),
        ("nul", "text/plain"),
        ("unknown", "application/octet-stream"),
        ("jis", "shift_jis"),
        ("gzip", "gzip"),
    ] {
        let error = site.fetch(&format!("http://a/{page}"), 0).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{page}");
        assert!(error.message.contains(word), "{}", error.message);
    }
}

#[test]
fn a_status_that_is_no_success_is_an_error() {
    let mut site = Site::default();
    site.pages.insert(
        "http://a/".to_owned(),
        response(404, "text/html", b"<p>Not here"),
    );
    let error = site.fetch("http://a/", 0).unwrap_err();
    assert_eq!(error.code, "status");
    assert!(error.message.contains("404"), "{}", error.message);
}

#[test]
fn a_bad_address_is_refused_before_any_request() {
    let mut site = Site::default();
    for url in ["a.example", "ftp://a/", "http://a@b/", "http://"] {
        assert_eq!(site.fetch(url, 0).unwrap_err().code, "address", "{url}");
    }
    assert!(site.asked.is_empty());
}
