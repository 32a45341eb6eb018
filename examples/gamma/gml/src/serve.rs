//! `gml serve`: the rendered deck as a page whose reader the session is told of. What the reader looks
//! at becomes a `client_view`, and what the reader changes an `artifact_update`, both through
//! `raddle session inject`.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use gml::{Edit, Part, Severity};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::folder::{self, Folder, without_mark};

/// The most bytes that a page may send at once.
const LARGEST: usize = 64 << 10;

/// Requests that are answered at the same time.
const THREADS: usize = 4;

const SCRIPT: &str = include_str!("serve.js");

/// A deck that is served for a session.
pub(crate) struct Served {
    file: String,
    session: String,
    config: Option<String>,
    raddle: String,
    port: u16,
    /// One change at a time.
    changing: Mutex<()>,
}

/// Where a running server is, and the secret that its addresses begin with: other users of this
/// machine can reach the port, too.
struct Place {
    host: String,
    secret: String,
}

/// What the reader looks at.
#[derive(Deserialize)]
struct View {
    card: String,
    /// `cards`, or `notes` while those are shown.
    pane: String,
    /// Whether text is selected.
    #[serde(default)]
    selected: bool,
    width: u32,
    height: u32,
}

/// What the reader changed.
#[derive(Deserialize)]
struct Change {
    card: String,
    part: String,
    #[serde(default)]
    index: usize,
    text: String,
    /// The state of the deck that the reader saw.
    revision: String,
}

/// An answer: status, type, body.
type Answer = (u16, &'static str, String);

/// What went wrong: status and a line about it.
type Refusal = (u16, String);

impl Served {
    /// Reads the options of the command line; none if they are wrong.
    pub(crate) fn from_options(options: &[&str]) -> Option<Self> {
        let (file, mut rest) = options.split_first()?;
        let mut served = Self {
            // As the session's own tools would name it.
            file: file.trim_start_matches("./").to_owned(),
            session: String::new(),
            config: None,
            raddle: "raddle".to_owned(),
            port: 0,
            changing: Mutex::default(),
        };
        while let [name, value, more @ ..] = rest {
            match *name {
                "--session" => served.session = (*value).to_owned(),
                "--config" => served.config = Some((*value).to_owned()),
                "--raddle" => served.raddle = (*value).to_owned(),
                "--port" => served.port = value.parse().ok()?,
                _ => return None,
            }
            rest = more;
        }
        (rest.is_empty() && !served.session.is_empty()).then_some(served)
    }

    /// Serves until it is ended. Only this machine can reach it.
    pub(crate) fn run(&self) -> Result<(), String> {
        folder::read(&self.file)?;
        let server = Server::http(("127.0.0.1", self.port)).map_err(|error| error.to_string())?;
        let Some(address) = server.server_addr().to_ip() else {
            return Err("there is no address to listen on".to_owned());
        };
        let place = Place {
            host: address.to_string(),
            secret: random()?,
        };
        println!("http://{}/{}/", place.host, place.secret);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    while let Ok(request) = server.recv() {
                        self.respond(&place, request);
                    }
                });
            }
        });
        Ok(())
    }

    fn respond(&self, place: &Place, mut request: Request) {
        let (status, kind, body) = self.answer(place, &mut request);
        let mut response = Response::from_string(body).with_status_code(status);
        for (name, value) in [("Content-Type", kind), ("Cache-Control", "no-store")] {
            if let Ok(header) = Header::from_bytes(name, value) {
                response.add_header(header);
            }
        }
        // Whoever asked may be gone.
        let _ = request.respond(response);
    }

    fn answer(&self, place: &Place, request: &mut Request) -> Answer {
        let text = |status, text: &str| (status, "text/plain; charset=utf-8", format!("{text}\n"));
        if !place.is_own(request) {
            return text(403, "this is not the page of this deck");
        }
        let path = request
            .url()
            .strip_prefix('/')
            .and_then(|path| path.split_once('/'));
        let path = match path {
            Some((secret, path)) if secret == place.secret => path.to_owned(),
            _ => return text(404, "there is nothing here"),
        };
        match (request.method(), path.as_str()) {
            (Method::Get, "") => self.page(),
            (Method::Get, "revision") => match folder::read(&self.file) {
                Ok(deck) => text(200, &revision(&deck)),
                Err(error) => text(500, &error),
            },
            (Method::Post, "view" | "edit") => {
                let done = body(request).and_then(|body| match path.as_str() {
                    "view" => parsed(&body).and_then(|view| self.view(&view)),
                    _ => parsed(&body).and_then(|change| self.edit(&change)),
                });
                match done {
                    Ok(answer) => (200, "application/json", format!("{answer}\n")),
                    Err((status, error)) => text(status, &error),
                }
            }
            _ => text(404, "there is nothing here"),
        }
    }

    /// The page, or what is wrong with the deck.
    fn page(&self) -> Answer {
        let plain = |status, text| (status, "text/plain; charset=utf-8", text);
        let deck = match folder::read(&self.file) {
            Ok(deck) => deck,
            Err(error) => return plain(500, error),
        };
        if let Some(errors) = self.errors(&deck) {
            return plain(500, errors);
        }
        match gml::render(without_mark(&deck), &Folder::of(&self.file)) {
            Ok(page) => {
                let revision = revision(&deck);
                let nonce: String = revision.chars().skip(7).take(32).collect();
                let script = format!(
                    "<script nonce=\"{nonce}\" data-revision=\"{revision}\">\n{SCRIPT}</script>\n</body>"
                );
                let policy = format!(
                    "default-src 'none'; connect-src 'self'; script-src 'nonce-{nonce}'; img-src"
                );
                let page = page
                    .replacen("default-src 'none'; img-src", &policy, 1)
                    .replace("</body>", &script);
                (200, "text/html; charset=utf-8", page)
            }
            Err(error) => plain(500, error),
        }
    }

    /// What keeps a deck from being rendered.
    fn errors(&self, deck: &str) -> Option<String> {
        let problems = gml::check(without_mark(deck), &Folder::of(&self.file));
        let errors = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        (!errors.is_empty()).then(|| errors.join("\n"))
    }

    fn view(&self, view: &View) -> Result<Value, Refusal> {
        let deck = folder::read(&self.file).map_err(|error| (500, error))?;
        let cards = gml::cards(without_mark(&deck));
        let Some(number) = cards.iter().position(|(id, _)| *id == view.card) else {
            return Err((404, format!("there is no card `{}`", view.card)));
        };
        let pane = match view.pane.as_str() {
            "cards" => "",
            "notes" => " with its notes",
            _ => return Err((422, "`pane` is `cards` or `notes`".to_owned())),
        };
        let selected = match view.selected {
            true => ", and has selected text on it",
            false => "",
        };
        // Ids and numbers alone: the words of a deck are nobody's trusted text.
        let (number, all, card) = (number + 1, cards.len(), &view.card);
        let viewport = json!({ "width": view.width, "height": view.height });
        self.inject(&json!({
            "kind": "client_view",
            "source": "client",
            "summary": format!("The user looks at card {number} of {all} ({card}){pane}{selected}."),
            "subject": { "ref": self.reference(), "revision": revision(&deck) },
            "origin": { "actor": "user" },
            "details": { "card": card, "pane": view.pane, "viewport": viewport },
        }))
        .map_err(|error| (502, error))?;
        Ok(json!({}))
    }

    /// Changes the deck, if it is still as the reader saw it and stays one.
    fn edit(&self, change: &Change) -> Result<Value, Refusal> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let stale = || {
            (
                409,
                "the deck has changed since: load the page again".to_owned(),
            )
        };
        let deck = folder::read(&self.file).map_err(|error| (500, error))?;
        if revision(&deck) != change.revision {
            return Err(stale());
        }
        let part = match change.part.as_str() {
            "heading" => Part::Heading,
            "text" => Part::Text(change.index),
            _ => return Err((422, "`part` is `heading` or `text`".to_owned())),
        };
        let edit = Edit {
            card: change.card.clone(),
            part,
            text: change.text.clone(),
        };
        let text = without_mark(&deck);
        let mark = &deck[..deck.len() - text.len()];
        let changed = edit.apply(text).map_err(|error| (422, error))?;
        let changed = format!("{mark}{changed}");
        if let Some(errors) = self.errors(&changed) {
            return Err((422, errors));
        }
        let now = revision(&changed);
        if changed == deck {
            return Ok(json!({ "revision": now }));
        }
        match folder::replace(&self.file, &deck, &changed) {
            Ok(true) => {}
            Ok(false) => return Err(stale()),
            Err(error) => return Err((500, error)),
        }
        let told = self.inject(&json!({
            "kind": "artifact_update",
            "source": "client",
            "summary": format!(
                "Card {} changed in the editor. Read its current content before another write.",
                change.card
            ),
            "subject": { "ref": self.reference(), "path": self.file, "revision": now },
            "origin": { "actor": "user" },
            "details": { "change": "cards_edited", "cards": [change.card] },
        }));
        // The change stands, whether the session hears of it or not.
        match told {
            Ok(()) => Ok(json!({ "revision": now })),
            Err(untold) => Ok(json!({ "revision": now, "untold": untold })),
        }
    }

    fn reference(&self) -> String {
        format!("gamma:file:{}", self.file)
    }

    /// Leaves an injection for the session.
    fn inject(&self, injection: &Value) -> Result<(), String> {
        let unable = |error: String| format!("the session could not be told: {error}");
        let mut injection = injection.clone();
        injection["id"] = json!(format!("page-{}", random()?));
        injection["occurredAt"] = json!(format!("{:.3}", jiff::Timestamp::now()));
        injection["requiresDecision"] = json!(false);
        let mut command = Command::new(&self.raddle);
        if let Some(config) = &self.config {
            command.args(["--config", config]);
        }
        let child = command
            .args(["session", "inject", &self.session])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| unable(format!("{}: {error}", self.raddle)))?;
        // What it does not read, it says something about.
        if let Some(mut input) = child.stdin.take() {
            let _ = input.write_all(injection.to_string().as_bytes());
        }
        let output = child.wait_with_output();
        let output = output.map_err(|error| unable(error.to_string()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(unable(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            )),
        }
    }
}

impl Place {
    /// Whether a request comes from the page itself: no other site, and no name that somebody had
    /// point here.
    fn is_own(&self, request: &Request) -> bool {
        let port = self.host.rsplit(':').next().unwrap_or_default();
        let names = [self.host.clone(), format!("localhost:{port}")];
        let is_host = header(request, "Host").is_some_and(|host| names.contains(&host));
        let is_origin = header(request, "Origin").is_none_or(|origin| {
            let origin = origin.strip_prefix("http://").unwrap_or_default();
            names.iter().any(|name| name == origin)
        });
        is_host && is_origin
    }
}

fn header(request: &Request, name: &'static str) -> Option<String> {
    let mut headers = request.headers().iter();
    let header = headers.find(|header| header.field.equiv(name))?;
    Some(header.value.as_str().to_owned())
}

/// The JSON text that a page sent.
fn body(request: &mut Request) -> Result<String, Refusal> {
    let kind = header(request, "Content-Type").unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err((415, "JSON is expected".to_owned()));
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(LARGEST + 1).unwrap_or(u64::MAX);
    let read = request.as_reader().take(most).read_to_end(&mut bytes);
    read.map_err(|error| (400, error.to_string()))?;
    if bytes.len() > LARGEST {
        return Err((413, "that is more than 64 KiB".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| (400, "the body is not UTF-8 text".to_owned()))
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a str) -> Result<T, Refusal> {
    serde_json::from_str(body).map_err(|error| (400, error.to_string()))
}

/// The state of a deck: the digest of its bytes.
fn revision(deck: &str) -> String {
    format!("sha256:{}", hexadecimal(&Sha256::digest(deck.as_bytes())))
}

fn random() -> Result<String, String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| format!("there are no random numbers: {error}"))?;
    Ok(hexadecimal(&bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
