//! `gml serve`, asked by a client on loopback; a script stands for `raddle` and keeps what it is told.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const DECK: &str = "<deck title=\"T\">\n<card id=\"cover\" layout=\"title\">\
    <heading>Bees &amp; cities</heading><text>One <b>summer</b></text><text>Plain</text></card>\n</deck>\n";

struct Page {
    folder: tempfile::TempDir,
    child: Child,
    address: String,
    /// What its addresses begin with.
    secret: String,
}

impl Page {
    fn open() -> Self {
        Self::of(DECK)
    }

    fn of(deck: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("deck.gml"), deck).unwrap();
        let raddle = folder.path().join("raddle");
        fs::write(
            &raddle,
            "#!/bin/sh\necho \"$@\" >>told\ncat >>told\necho >>told\n",
        )
        .unwrap();
        fs::set_permissions(&raddle, fs::Permissions::from_mode(0o755)).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_gml"))
            .args([
                "serve",
                "deck.gml",
                "--session",
                "s1",
                "--raddle",
                "./raddle",
            ])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap();
        let (address, secret) = address.split_once('/').unwrap();
        Self {
            folder,
            child,
            address: address.to_owned(),
            secret: secret.trim_end_matches('/').to_owned(),
        }
    }

    /// Status and body.
    fn ask(&self, first: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let first = first.replacen(" /", &format!(" /{}/", self.secret), 1);
        let mut request = format!(
            "{first} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("\r\n{body}"));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    fn post(&self, path: &str, body: &Value) -> (u16, String) {
        let json = [("Content-Type", "application/json")];
        self.ask(&format!("POST {path}"), &json, &body.to_string())
    }

    fn deck(&self) -> String {
        fs::read_to_string(self.folder.path().join("deck.gml")).unwrap()
    }

    /// The injections that the session was told.
    fn told(&self) -> Vec<Value> {
        let told = fs::read_to_string(self.folder.path().join("told")).unwrap_or_default();
        let lines = told.lines().filter(|line| line.starts_with('{'));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn revision(deck: &str) -> String {
    let digest = Sha256::digest(deck.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[test]
fn what_the_reader_looks_at_is_a_client_view() {
    let page = Page::open();
    let (status, html) = page.ask("GET /", &[], "");
    assert_eq!(status, 200);
    assert!(html.contains("Bees &amp; cities") && html.contains("<script nonce="));
    let view =
        json!({"card": "cover", "pane": "notes", "selected": true, "width": 800, "height": 600});
    assert_eq!(page.post("/view", &view).0, 200);
    let told = page.told();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["kind"], "client_view");
    assert_eq!(
        told[0]["summary"],
        "The user looks at card 1 of 1 (cover) with its notes, and has selected text on it."
    );
    assert_eq!(
        told[0]["details"]["viewport"],
        json!({"width": 800, "height": 600})
    );
}

/// "This prevents the agent from silently replacing a user or collaborator edit", and the page does
/// not replace one of the agent either.
#[test]
fn what_the_reader_changes_is_an_artifact_update_of_the_revision_it_was_made_from() {
    let page = Page::open();
    let edit = |text: &str, revision: &str| json!({"card": "cover", "part": "heading", "text": text, "revision": revision});
    let (status, now) = page.post("/edit", &edit("Bees < wasps", &revision(DECK)));
    assert_eq!(status, 200, "{now}");
    let changed = DECK.replace("Bees &amp; cities", "Bees &lt; wasps");
    assert_eq!(page.deck(), changed, "every other byte is what it was");
    let now: Value = serde_json::from_str(&now).unwrap();
    assert_eq!(now, json!({"revision": revision(&changed)}));
    let told = page.told();
    assert_eq!(told[0]["kind"], "artifact_update");
    assert_eq!(
        told[0]["subject"],
        json!({"ref": "gamma:file:deck.gml", "path": "deck.gml", "revision": revision(&changed)})
    );
    assert_eq!(told[0]["origin"]["actor"], "user");
    assert_eq!(
        told[0]["details"],
        json!({"change": "cards_edited", "cards": ["cover"]})
    );

    let (status, why) = page.post("/edit", &edit("Late", &revision(DECK)));
    assert_eq!(status, 409, "{why}");
    assert_eq!((page.deck(), page.told().len()), (changed, 1));
}

#[test]
fn markup_is_not_lost_and_nonsense_is_refused() {
    let page = Page::open();
    let now = revision(DECK);
    let edit = |part: &str, index: usize| json!({"card": "cover", "part": part, "index": index, "text": "x", "revision": now});
    assert_eq!(
        page.post("/edit", &edit("text", 0)).0,
        422,
        "it holds markup"
    );
    assert_eq!(page.post("/edit", &edit("text", 9)).0, 422);
    assert_eq!(page.post("/edit", &edit("notes", 0)).0, 422);
    let json = [("Content-Type", "application/json")];
    assert_eq!(page.ask("POST /edit", &json, "{").0, 400);
    assert_eq!(page.ask("POST /edit", &[], "{}").0, 415);
    assert_eq!(page.ask("POST /edit", &json, &"x".repeat(70_000)).0, 413);
    let empty = json!({"card": "cover", "part": "heading", "text": " ", "revision": now});
    let (status, why) = page.post("/edit", &empty);
    assert_eq!(status, 422, "the deck would not be one any more: {why}");
    assert_eq!(page.ask("GET /etc/passwd", &[], "").0, 404);
    assert_eq!(page.deck(), DECK);
    assert_eq!(page.post("/edit", &edit("text", 1)).0, 200);
    assert_eq!(page.deck(), DECK.replace("Plain", "x"));
}

/// A page of another site can neither read the deck nor write it.
#[test]
fn only_the_page_itself_is_answered() {
    let page = Page::open();
    for headers in [
        [("Host", "evil.example"), ("Accept", "*/*")],
        [("Origin", "http://evil.example"), ("Accept", "*/*")],
        [("Origin", "null"), ("Accept", "*/*")],
    ] {
        assert_eq!(page.ask("GET /", &headers, "").0, 403, "{headers:?}");
    }
    let own = format!("http://{}", page.address);
    assert_eq!(page.ask("GET /revision", &[("Origin", &own)], "").0, 200);
}

/// Mode, links, a byte order mark and what the session does not hear of: none of it is lost.
#[test]
fn a_change_leaves_everything_else_of_the_file_alone() {
    let deck = format!("\u{feff}{DECK}");
    let page = Page::of(&deck);
    let file = page.folder.path().join("deck.gml");
    let real = page.folder.path().join("real.gml");
    fs::rename(&file, &real).unwrap();
    std::os::unix::fs::symlink(&real, &file).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(
        page.folder.path().join("raddle"),
        "#!/bin/sh\necho no such session >&2\nexit 2\n",
    )
    .unwrap();
    let edit =
        json!({"card": "cover", "part": "heading", "text": "New", "revision": revision(&deck)});
    let (status, answer) = page.post("/edit", &edit);
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let changed = deck.replace("Bees &amp; cities", "New");
    assert_eq!(answer["revision"], revision(&changed));
    assert!(
        answer["untold"]
            .as_str()
            .unwrap()
            .contains("no such session")
    );
    assert_eq!(page.deck(), changed);
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
}
