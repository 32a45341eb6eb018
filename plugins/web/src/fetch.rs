//! Fetching: one address, its redirects, and what came back as text.

use raddle_sdk::Error;
use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::charset;
use crate::html;
use crate::settings::Settings;

/// Redirects that are followed.
const REDIRECTS: usize = 5;

/// Arguments of the tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Arguments {
    /// The address.
    pub url: String,
    /// Characters of the text to pass over.
    #[serde(default)]
    pub offset: usize,
}

/// One response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// `Location` header.
    pub location: Option<String>,
    /// `Content-Type` header.
    pub content_type: Option<String>,
    /// `Content-Encoding` header.
    pub content_encoding: Option<String>,
    /// The body, as much as was taken of it.
    pub body: Vec<u8>,
    /// There is more of the body.
    pub more: bool,
}

/// Makes one GET request without following redirects. The host decides about every one of them.
pub trait Http {
    /// The response to a request of `address`, at most `limit` bytes of its body.
    fn get(&mut self, address: &Address, limit: usize) -> Result<Response, Error>;
}

/// What the model and front ends get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The page: its address, its title, and its text.
    pub text: String,
    /// For front ends.
    pub details: Details,
}

/// A result for front ends, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Where the page was found in the end.
    pub url: String,
    /// Its title, empty if it has none.
    pub title: String,
    /// Status code.
    pub status: u16,
    /// Characters of its whole text.
    pub characters: usize,
}

/// Fetches a page.
pub fn fetch(
    http: &mut impl Http,
    arguments: &Arguments,
    settings: &Settings,
) -> Result<Answer, Error> {
    let address = Address::parse(&arguments.url).map_err(|reason| {
        Error::invalid(
            "address",
            format!("cannot fetch {:?}: {reason}", arguments.url),
        )
    })?;
    let (address, response) = follow(http, address, settings.page_bytes as usize)?;
    let page = page(&address, &response)?;
    Ok(answer(
        &address,
        &response,
        &page,
        arguments.offset,
        settings,
    ))
}

/// The page at `address`, or where that leads.
fn follow(
    http: &mut impl Http,
    mut address: Address,
    limit: usize,
) -> Result<(Address, Response), Error> {
    for _ in 0..=REDIRECTS {
        let response = http.get(&address, limit)?;
        match (response.status, &response.location) {
            (301 | 302 | 303 | 307 | 308, Some(location)) => {
                address = address.join(location).map_err(|reason| {
                    Error::failed(
                        "redirect",
                        format!(
                            "{address} leads to {location:?}, which cannot be fetched: {reason}"
                        ),
                    )
                })?;
            }
            (200..=299, _) => return Ok((address, response)),
            (status, _) => {
                return Err(Error::failed(
                    "status",
                    format!("{address} answered with status {status}"),
                ));
            }
        }
    }
    Err(Error::limit(
        "redirects",
        format!("gave up after {REDIRECTS} redirects, at {address}"),
    ))
}

/// What the response holds, as text.
fn page(address: &Address, response: &Response) -> Result<html::Page, Error> {
    let refused = |code, what: String| {
        let size = response.body.len();
        let more = if response.more { " or more" } else { "" };
        Err(Error::invalid(
            code,
            format!("{address} is {what} ({size} bytes{more}), which is not shown as text"),
        ))
    };
    if let Some(encoding) = response.content_encoding.as_deref()
        && !encoding.eq_ignore_ascii_case("identity")
    {
        return refused("encoded", format!("compressed with {encoding}"));
    }
    let (kind, declared) = media_type(response.content_type.as_deref());
    let kind = kind.unwrap_or_else(|| sniffed(&response.body).to_owned());
    if !is_text(&kind) || (declared.is_none() && is_binary(&response.body)) {
        return refused("not-text", kind);
    }
    let text = charset::decode(&response.body, declared.as_deref());
    let text = match text {
        Ok(text) => text,
        Err(charset) => return refused("charset", format!("{kind} in the encoding {charset}")),
    };
    Ok(match kind.as_str() {
        "text/html" | "application/xhtml+xml" => html::to_text(&text, address),
        _ => html::Page {
            title: String::new(),
            text,
        },
    })
}

fn answer(
    address: &Address,
    response: &Response,
    page: &html::Page,
    offset: usize,
    settings: &Settings,
) -> Answer {
    let total = page.text.chars().count();
    let skipped: usize = page.text.chars().take(offset).map(char::len_utf8).sum();
    let rest = page.text.get(skipped..).unwrap_or_default();
    let end = rest.floor_char_boundary(settings.output_bytes as usize);
    let shown = rest.get(..end).unwrap_or(rest);
    let first = offset.min(total);
    let last = first + shown.chars().count();

    let mut text = format!("URL: {address}\n");
    if !page.title.is_empty() {
        text.push_str(&format!("Title: {}\n", page.title));
    }
    text.push('\n');
    text.push_str(shown);
    if !shown.is_empty() && !shown.ends_with('\n') {
        text.push('\n');
    }
    if total == 0 {
        text.push_str("[no text]\n");
    } else if first > 0 || last < total {
        text.push_str(&format!("[characters {first} to {last} of {total}]\n"));
    }
    if response.more {
        let bytes = response.body.len();
        text.push_str(&format!(
            "[only the first {bytes} bytes of the page were fetched]\n"
        ));
    }
    Answer {
        text,
        details: Details {
            url: address.to_string(),
            title: page.title.clone(),
            status: response.status,
            characters: total,
        },
    }
}

/// Type and charset of a `Content-Type` header, in lower case.
fn media_type(header: Option<&str>) -> (Option<String>, Option<String>) {
    let Some(header) = header else {
        return (None, None);
    };
    let mut parts = header.split(';').map(str::trim);
    let kind = parts.next().filter(|kind| !kind.is_empty());
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    (
        kind.map(str::to_ascii_lowercase),
        charset.filter(|charset| !charset.is_empty()),
    )
}

/// The type of a body that came without one.
fn sniffed(body: &[u8]) -> &'static str {
    if is_binary(body) {
        return "application/octet-stream";
    }
    let start = body.get(..body.len().min(512)).unwrap_or(body);
    let start = String::from_utf8_lossy(start).to_ascii_lowercase();
    let start = start.trim_start_matches(['\u{FEFF}', ' ', '\t', '\r', '\n']);
    let html = ["<!doctype html", "<html", "<head", "<body", "<!--"];
    if html.iter().any(|begin| start.starts_with(begin)) {
        "text/html"
    } else {
        "text/plain"
    }
}

fn is_text(kind: &str) -> bool {
    let known = [
        "application/ecmascript",
        "application/graphql",
        "application/javascript",
        "application/json",
        "application/ndjson",
        "application/sql",
        "application/toml",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-sh",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    ];
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || kind.ends_with("+yaml")
        || known.contains(&kind)
}

/// NULs in what is not marked as UTF-16.
fn is_binary(body: &[u8]) -> bool {
    !body.starts_with(b"\xFF\xFE") && !body.starts_with(b"\xFE\xFF") && body.contains(&0)
}
