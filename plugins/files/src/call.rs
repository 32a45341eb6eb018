//! The calls: what each tool does with its arguments.

use raddle_sdk::workspace::{Item, Node};
use raddle_sdk::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

use crate::edit;
use crate::file;
use crate::host::Host;
use crate::seen::Seen;
use crate::text::{Caps, Text, cut};

/// How much one page of a file shows.
const PAGE: Caps = Caps {
    lines: 2000,
    line_characters: 2000,
    bytes: 64 * 1024,
};

/// Entries of a folder, files of a glob and lines of a search that one result holds at most, and
/// without a limit of the call's own.
const MOST: u32 = 1000;
const USUAL: u32 = 200;

/// Characters shown of one line that a search found.
const FOUND_CHARACTERS: usize = 512;

/// Bytes of one list.
const LIST_BYTES: usize = 64 * 1024;

/// How often an edit starts over because the file changed under it.
const ATTEMPTS: usize = 4;

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// For the model.
    pub text: String,
    /// For front ends.
    pub details: Details,
    /// The file it read or changed, and that version's digest.
    pub file: Option<(String, String)>,
}

/// A result for front ends, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Details {
    /// Lines of a file were shown.
    Shown {
        /// Its path.
        path: String,
        /// Number of the first line, 0 if there is none.
        first: usize,
        /// Number of the last line.
        last: usize,
        /// Lines of the whole file.
        total: usize,
    },
    /// A file was written.
    Written {
        /// Its path.
        path: String,
        /// Bytes of it.
        bytes: usize,
    },
    /// A file was edited.
    Edited {
        /// Its path.
        path: String,
        /// Lines where the replaced text began.
        lines: Vec<usize>,
    },
    /// A list was given.
    Listed {
        /// Entries of it that are shown.
        shown: usize,
        /// There are more.
        more: bool,
    },
}

/// Arguments of `read`.
#[derive(Debug, Clone, Deserialize)]
pub struct Read {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

/// Arguments of `write`.
#[derive(Debug, Clone, Deserialize)]
pub struct Write {
    path: String,
    content: String,
}

/// Arguments of `edit`.
#[derive(Debug, Clone, Deserialize)]
pub struct Edit {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    replace_all: bool,
}

/// Arguments of `list`.
#[derive(Debug, Clone, Deserialize)]
pub struct List {
    path: Option<String>,
}

/// Arguments of `find`.
#[derive(Debug, Clone, Deserialize)]
pub struct Find {
    glob: String,
    limit: Option<u32>,
}

/// Arguments of `search`.
#[derive(Debug, Clone, Deserialize)]
pub struct Search {
    pattern: String,
    glob: Option<String>,
    limit: Option<u32>,
}

/// Shows lines of a file. `folder` is the session's.
pub fn read(host: &impl Host, folder: Option<&str>, call: &Read) -> Result<Answer, Error> {
    let contents = file::read_whole(host, &call.path)?;
    let text = Text::of(&contents.bytes).map_err(|reason| {
        Error::invalid(
            "not-text",
            format!(
                "cannot show {} ({} bytes): {reason}",
                call.path,
                contents.bytes.len()
            ),
        )
    })?;
    let page = text.page(call.offset.unwrap_or(1), call.limit, PAGE);
    Seen::of(host, folder, &call.path)?.read(&contents.digest)?;
    Ok(Answer {
        text: page.text,
        details: Details::Shown {
            path: call.path.clone(),
            first: page.first,
            last: page.last,
            total: page.total,
        },
        file: Some((call.path.clone(), contents.digest)),
    })
}

/// Writes a whole file: a new one, or the next version of the one the agent knows.
pub fn write(host: &impl Host, folder: Option<&str>, call: &Write) -> Result<Answer, Error> {
    let Write { path, content } = call;
    let seen = Seen::of(host, folder, path)?;
    let write = |base| host.replace(path, content.as_bytes(), base);
    let written = match (write(seen.digest.as_deref()), &seen.digest) {
        // Either somebody changed it since it was read, or it is gone: then it may be made anew.
        (Err(error), Some(_)) if is_changed(&error) => write(None).map_err(|_| stale(path)),
        (Err(error), None) if is_changed(&error) => Err(Error::conflict(
            "not-read",
            format!(
                "{path} exists and was not read in this session: read it before writing over it, or write to another path"
            ),
        )),
        (other, _) => other,
    };
    let digest = written?;
    seen.written(&digest)?;
    let lines = counted(content.lines().count() as u64, "line");
    let bytes = counted(content.len() as u64, "byte");
    Ok(Answer {
        text: format!("wrote {path}: {lines}, {bytes}"),
        details: Details::Written {
            path: path.clone(),
            bytes: content.len(),
        },
        file: Some((path.clone(), digest)),
    })
}

/// Replaces exact text in a file.
///
/// A file that was not read in this session may be edited: that the old text stands in it shows
/// that the agent knows the place. One that was read and changed since may not, because what the
/// agent remembers of it is wrong somewhere.
pub fn edit(host: &impl Host, folder: Option<&str>, call: &Edit) -> Result<Answer, Error> {
    let path = &call.path;
    for _ in 0..ATTEMPTS {
        let seen = Seen::of(host, folder, path)?;
        let contents = file::read_whole(host, path)?;
        if seen
            .digest
            .as_ref()
            .is_some_and(|seen| *seen != contents.digest)
        {
            return Err(stale(path));
        }
        let edited = edit::apply(&contents.bytes, &call.old, &call.new, call.replace_all)
            .map_err(|error| Error::invalid(error.code(), format!("{path}: {error}")))?;
        match host.replace(path, &edited.bytes, Some(&contents.digest)) {
            Ok(digest) => {
                seen.written(&digest)?;
                return Ok(edited_answer(path, &edited.lines, digest));
            }
            // Changed between the two calls. If that was another call of this session, the edit
            // is made on its result; if not, the next round says so.
            Err(error) if is_changed(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(stale(path))
}

/// Lists a folder.
pub fn list(host: &impl Host, call: &List) -> Result<Answer, Error> {
    let path = call
        .path
        .as_deref()
        .filter(|path| !path.is_empty())
        .unwrap_or(".");
    let items = host.list_items(path)?;
    let rows = items.iter().map(|item| {
        let name = item.path.rsplit('/').next().unwrap_or(&item.path);
        row(name, item)
    });
    Ok(listing(
        rows,
        items.len(),
        MOST as usize,
        "the folder is empty",
    ))
}

/// Finds files by glob.
pub fn find(host: &impl Host, call: &Find) -> Result<Answer, Error> {
    let limit = call.limit.unwrap_or(USUAL).clamp(1, MOST);
    let items = host.find(&call.glob, limit + 1)?;
    let rows = items.iter().map(|item| row(&item.path, item));
    Ok(listing(
        rows,
        items.len(),
        limit as usize,
        "no file matches",
    ))
}

/// Searches lines by regular expression.
pub fn search(host: &impl Host, call: &Search) -> Result<Answer, Error> {
    let limit = call.limit.unwrap_or(USUAL).clamp(1, MOST);
    let found = host.search(&call.pattern, call.glob.as_deref(), limit + 1)?;
    let rows = found.iter().map(|found| {
        let line = found.text.trim_end_matches(['\r', '\n']);
        let shown = cut(line, FOUND_CHARACTERS);
        let more = if shown.len() < line.len() {
            " […]"
        } else {
            ""
        };
        format!("{}:{}: {shown}{more}", found.path, found.line)
    });
    Ok(listing(
        rows,
        found.len(),
        limit as usize,
        "no line matches",
    ))
}

/// The file is not the version that was to be replaced; it may be gone.
fn is_changed(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Conflict | ErrorKind::NotFound)
}

fn stale(path: &str) -> Error {
    Error::conflict(
        "stale",
        format!(
            "{path} was changed by somebody else since it was last read; nothing was written: read it again"
        ),
    )
}

/// `1 line`, `2 lines`.
fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn edited_answer(path: &str, lines: &[usize], digest: String) -> Answer {
    let places = match lines {
        [line] => format!("1 place, line {line}"),
        [first, .., last] => format!("{} places, lines {first} to {last}", lines.len()),
        [] => "no place".to_owned(),
    };
    Answer {
        text: format!("edited {path}: {places}"),
        details: Details::Edited {
            path: path.to_owned(),
            lines: lines.to_vec(),
        },
        file: Some((path.to_owned(), digest)),
    }
}

fn row(name: &str, item: &Item) -> String {
    match item.node {
        Node::Folder => format!("{name}/"),
        Node::File => format!("{name}\t{}", counted(item.size.into(), "byte")),
        Node::Other => format!("{name}\tneither file nor folder"),
    }
}

/// Rows one per line, as many as fit in `limit` and [`LIST_BYTES`]; `empty` if there are none.
fn listing(rows: impl Iterator<Item = String>, all: usize, limit: usize, empty: &str) -> Answer {
    let mut text = String::new();
    let mut shown = 0;
    for row in rows.take(limit) {
        if shown > 0 && text.len() + row.len() > LIST_BYTES {
            break;
        }
        text.push_str(&row);
        text.push('\n');
        shown += 1;
    }
    if all == 0 {
        text = format!("[{empty}]\n");
    } else if shown < all {
        text.push_str(&format!("[first {shown}; there are more]\n"));
    }
    Answer {
        text,
        details: Details::Listed {
            shown,
            more: shown < all,
        },
        file: None,
    }
}
