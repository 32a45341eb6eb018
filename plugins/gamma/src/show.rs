//! Showing, on whatever files there are.

use gml::{Images, Severity};
use raddle_sdk::Error;
use raddle_sdk::tools::Reply;
use raddle_sdk::types::Subject;

/// The most bytes of a deck, and of one image.
const LARGEST_DECK: usize = 4 << 20;
const LARGEST_IMAGE: usize = 10 << 20;

/// What a page that was rendered from a deck says of itself.
const MARK: &[u8] = b"<meta name=\"generator\" content=\"gml\">";

/// Files, and somebody to show them to.
pub trait Host {
    /// Bytes and digest of a file.
    ///
    /// # Errors
    ///
    /// Those of `workspace.read`, and `size` if it has more than `most` bytes.
    fn read(&self, path: &str, most: usize) -> Result<(Vec<u8>, String), Error>;

    /// Digest of a file.
    ///
    /// # Errors
    ///
    /// Those of `workspace.read`.
    fn digest(&self, path: &str) -> Result<String, Error>;

    /// Puts bytes in the place of the version `base` of a file, or makes a new one.
    ///
    /// # Errors
    ///
    /// Those of `workspace.replace`.
    fn replace(&self, path: &str, bytes: &[u8], base: Option<&str>) -> Result<(), Error>;

    /// Shows a file to the user.
    fn show(&self, path: &str);
}

/// The images of the deck in a folder.
struct Beside<'a, H> {
    host: &'a H,
    folder: &'a str,
}

/// Checks, renders and shows the deck `path`.
///
/// # Errors
///
/// `deck` if it has errors, with all that is wrong; otherwise those of the host.
pub fn deck(host: &impl Host, path: &str) -> Result<Reply, Error> {
    let page = page_of(path)?;
    let (bytes, revision) = host.read(path, LARGEST_DECK)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::invalid("deck", format!("{path} is not UTF-8 text")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let images = Beside { host, folder };
    let problems = gml::check(text, &images);
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{path}:{problem}"))
        .collect();
    let has_errors = problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    if has_errors {
        return Err(Error::invalid("deck", lines.join("\n")));
    }
    let old = old_page(host, &page)?;
    let html = gml::render(text, &images).map_err(|error| Error::failed("render", error))?;
    host.replace(&page, html.as_bytes(), old.as_deref())?;
    host.show(&page);
    let cards = gml::cards(text).len();
    let mut text = format!("{page} is rendered ({cards} cards) and shown");
    if !lines.is_empty() {
        text.push_str(&format!("\n{}", lines.join("\n")));
    }
    Ok(shown(path, &revision, text))
}

/// Shows the file `path`.
///
/// # Errors
///
/// Those of the host.
pub fn file(host: &impl Host, path: &str) -> Result<Reply, Error> {
    let revision = host.digest(path)?;
    host.show(path);
    Ok(shown(path, &revision, format!("{path} is shown")))
}

fn shown(path: &str, revision: &str, text: String) -> Reply {
    Reply {
        artifact: Some(Subject {
            reference: None,
            path: Some(path.to_owned()),
            revision: Some(revision.to_owned()),
        }),
        ..Reply::text(text)
    }
}

/// Where the page of a deck stands.
fn page_of(path: &str) -> Result<String, Error> {
    match path
        .strip_suffix(".gml")
        .filter(|stem| !stem.is_empty() && !stem.ends_with('/'))
    {
        Some(stem) => Ok(format!("{stem}.html")),
        None => {
            let message = format!("{path} is no deck: its name has to end with .gml");
            Err(Error::invalid("deck", message))
        }
    }
}

/// Digest of the page that is there already. One that no deck was rendered to is left alone.
fn old_page(host: &impl Host, page: &str) -> Result<Option<String>, Error> {
    let Ok(digest) = host.digest(page) else {
        return Ok(None);
    };
    let (bytes, _) = host.read(page, usize::MAX)?;
    match bytes.windows(MARK.len()).any(|window| window == MARK) {
        true => Ok(Some(digest)),
        false => {
            let message = format!("{page} is there and is no rendered deck: it is left alone");
            Err(Error::conflict("exists", message))
        }
    }
}

impl<H: Host> Images for Beside<'_, H> {
    fn check(&self, src: &str) -> Result<(), String> {
        let found = self.host.digest(&self.path(src));
        found
            .map(|_| ())
            .map_err(|_| format!("there is no file {src:?}"))
    }

    fn read(&self, src: &str) -> Result<Vec<u8>, String> {
        let read = self.host.read(&self.path(src), LARGEST_IMAGE);
        read.map(|(bytes, _)| bytes)
            .map_err(|error| format!("{src:?}: {}", error.message))
    }
}

impl<H> Beside<'_, H> {
    fn path(&self, src: &str) -> String {
        match self.folder {
            "" => src.to_owned(),
            folder => format!("{folder}/{src}"),
        }
    }
}
