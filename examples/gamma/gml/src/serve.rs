//! `gml serve`: the rendered deck as a page whose reader the session is told of. What the reader looks
//! at becomes a `client_view`, and what the reader changes an `artifact_update`, both through
//! `raddle session inject`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use gml::{Edit, Part};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::folder::{self, Folder};

/// The most bytes that a page may send at once.
const LARGEST: u64 = 64 << 10;

const SCRIPT: &str = include_str!("serve.js");

/// A deck that is served for a session.
pub(crate) struct Served {
    file: String,
    session: String,
    config: Option<String>,
    raddle: String,
    port: u16,
}

/// What the reader looks at.
#[derive(Deserialize)]
struct View {
    card: String,
    /// From 1.
    number: usize,
    #[serde(default)]
    selection: String,
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

impl Served {
    /// Reads the options of the command line; none if they are wrong.
    pub(crate) fn from_options(options: &[&str]) -> Option<Self> {
        let (file, mut rest) = options.split_first()?;
        let mut served = Self {
            file: (*file).to_owned(),
            session: String::new(),
            config: None,
            raddle: "raddle".to_owned(),
            port: 0,
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
        println!("http://{address}/");
        let host = address.to_string();
        for mut request in server.incoming_requests() {
            let (status, kind, body) = self.answer(&host, &mut request);
            let mut response = Response::from_string(body).with_status_code(status);
            for (name, value) in [("Content-Type", kind), ("Cache-Control", "no-store")] {
                if let Ok(header) = Header::from_bytes(name, value) {
                    response.add_header(header);
                }
            }
            // Whoever asked may be gone.
            let _ = request.respond(response);
        }
        Ok(())
    }

    fn answer(&self, host: &str, request: &mut Request) -> Answer {
        let text = |status, text: &str| (status, "text/plain; charset=utf-8", format!("{text}\n"));
        if !is_own(host, request) {
            return text(403, "this is not the page of this deck");
        }
        let (method, path) = (request.method().clone(), request.url().to_owned());
        match (method, path.as_str()) {
            (Method::Get, "/") => self.page(),
            (Method::Get, "/revision") => match folder::read(&self.file) {
                Ok(deck) => text(200, &revision(&deck)),
                Err(error) => text(500, &error),
            },
            (Method::Post, "/view" | "/edit") => {
                let mut body = String::new();
                let read = request.as_reader().take(LARGEST).read_to_string(&mut body);
                if read.is_err() {
                    return text(400, "the body is not UTF-8 text");
                }
                let done = match path.as_str() {
                    "/view" => parsed(&body).and_then(|view| self.view(&view)),
                    _ => parsed(&body).and_then(|change| self.edit(&change)),
                };
                match done {
                    Ok(answer) => text(200, &answer),
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
        let images = Folder::of(&self.file);
        let problems = gml::check(&deck, &images);
        let errors = problems
            .iter()
            .filter(|problem| problem.severity == gml::Severity::Error);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        if !errors.is_empty() {
            return plain(500, errors.join("\n"));
        }
        match gml::render(&deck, &images) {
            Ok(page) => {
                let nonce: String = revision(&deck).chars().skip(7).take(32).collect();
                let script = format!(
                    "<script nonce=\"{nonce}\" data-revision=\"{}\">\n{SCRIPT}</script>\n</body>",
                    revision(&deck)
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

    fn view(&self, view: &View) -> Result<String, (u16, String)> {
        let deck = folder::read(&self.file).map_err(|error| (500, error))?;
        let cards = gml::cards(&deck);
        let Some((_, heading)) = cards.iter().find(|(id, _)| *id == view.card) else {
            return Err((404, format!("there is no card `{}`", view.card)));
        };
        let mut summary = format!(
            "The user looks at card {} of {} ({}: {heading}).",
            view.number,
            cards.len(),
            view.card
        );
        if !view.selection.is_empty() {
            let selection: String = view.selection.chars().take(200).collect();
            summary.push_str(&format!(" Selected: {selection:?}."));
        }
        self.inject(&json!({
            "kind": "client_view",
            "source": "client",
            "summary": summary,
            "subject": { "ref": self.reference(), "revision": revision(&deck) },
            "origin": { "actor": "user" },
            "details": {
                "card": view.card, "viewport": { "width": view.width, "height": view.height },
            },
        }))?;
        Ok("told".to_owned())
    }

    /// Changes the deck, if it is still as the reader saw it.
    fn edit(&self, change: &Change) -> Result<String, (u16, String)> {
        let deck = folder::read(&self.file).map_err(|error| (500, error))?;
        if revision(&deck) != change.revision {
            return Err((
                409,
                "the deck has changed since: load the page again".to_owned(),
            ));
        }
        let part = match change.part.as_str() {
            "heading" => Part::Heading,
            "text" => Part::Text(change.index),
            _ => return Err((400, "`part` is `heading` or `text`".to_owned())),
        };
        let edit = Edit {
            card: change.card.clone(),
            part,
            text: change.text.clone(),
        };
        let changed = edit.apply(&deck).map_err(|error| (422, error))?;
        let now = revision(&changed);
        if changed != deck {
            self.write(&changed).map_err(|error| (500, error))?;
            self.inject(&json!({
                "kind": "artifact_update",
                "source": "client",
                "summary": format!(
                    "Card {} changed in the editor. Read its current content before another write.",
                    change.card
                ),
                "subject": { "ref": self.reference(), "path": self.file, "revision": now },
                "origin": { "actor": "user" },
                "details": { "change": "cards_edited", "cards": [change.card] },
            }))?;
        }
        Ok(now)
    }

    /// Puts the deck in the place of the old one in one step.
    fn write(&self, deck: &str) -> Result<(), String> {
        let beside = format!("{}.part", self.file);
        let error = |error: std::io::Error| format!("{}: {error}", self.file);
        fs::write(&beside, deck).map_err(error)?;
        fs::rename(&beside, &self.file).map_err(error)
    }

    fn reference(&self) -> String {
        format!("gamma:file:{}", self.file)
    }

    /// Leaves an injection for the session.
    fn inject(&self, injection: &Value) -> Result<(), (u16, String)> {
        let unable = |error: String| (502, format!("the session could not be told: {error}"));
        let mut id = [0; 8];
        getrandom::fill(&mut id).map_err(|error| unable(error.to_string()))?;
        let mut injection = injection.clone();
        injection["id"] = json!(format!("page-{}", hexadecimal(&id)));
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
        if let Some(mut input) = child.stdin.take() {
            let written = input.write_all(injection.to_string().as_bytes());
            written.map_err(|error| unable(error.to_string()))?;
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

/// Whether a request comes from the page itself: no other site, and no name that somebody had point
/// here.
fn is_own(host: &str, request: &Request) -> bool {
    let header = |name: &'static str| {
        let mut headers = request.headers().iter();
        let header = headers.find(|header| header.field.equiv(name))?;
        Some(header.value.as_str().to_owned())
    };
    let port = host.rsplit(':').next().unwrap_or_default();
    let names = [host.to_owned(), format!("localhost:{port}")];
    let is_host = header("Host").is_some_and(|host| names.contains(&host));
    let is_origin = header("Origin").is_none_or(|origin| {
        let origin = origin.strip_prefix("http://").unwrap_or_default();
        names.iter().any(|name| name == origin)
    });
    is_host && is_origin
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a str) -> Result<T, (u16, String)> {
    serde_json::from_str(body).map_err(|error| (400, error.to_string()))
}

/// The state of a deck.
fn revision(deck: &str) -> String {
    format!("sha256:{}", hexadecimal(&Sha256::digest(deck.as_bytes())))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
