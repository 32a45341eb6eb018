//! Whole files, read through the host piece by piece, and errors that say what to do instead.

use raddle_sdk::workspace::{Contents, Node};
use raddle_sdk::{Error, ErrorKind};

use crate::host::Host;

/// Largest file these tools read. An edit holds it three times, within the memory that a plugin
/// has by default.
const LARGEST: usize = 8 * 1024 * 1024;

/// Bytes asked for at a time.
const PIECE: u32 = 2 * 1024 * 1024;

/// How often a file that changes between two pieces is begun again.
const ATTEMPTS: usize = 4;

/// Names that an error about a missing file suggests.
const SUGGESTED: usize = 3;

/// The whole of one version of a file.
pub(crate) fn read_whole(host: &impl Host, path: &str) -> Result<Contents, Error> {
    'attempts: for _ in 0..ATTEMPTS {
        let mut whole = host
            .read(path, 0, PIECE)
            .map_err(|error| explained(host, path, error))?;
        while whole.more {
            let offset = whole.bytes.len();
            if offset >= LARGEST {
                return Err(too_large(path));
            }
            let offset = u32::try_from(offset).map_err(|_| too_large(path))?;
            let piece = host.read(path, offset, PIECE)?;
            if piece.digest != whole.digest || (piece.bytes.is_empty() && piece.more) {
                continue 'attempts;
            }
            whole.bytes.extend_from_slice(&piece.bytes);
            whole.more = piece.more;
        }
        return Ok(whole);
    }
    Err(Error::conflict(
        "changing",
        format!("{path} keeps changing while it is read: try again later"),
    ))
}

fn too_large(path: &str) -> Error {
    Error::limit(
        "too-large",
        format!(
            "{path} is larger than {} MiB: search it, or take a part of it with a command",
            LARGEST >> 20
        ),
    )
}

/// `error`, with what to do about it where that can be found out.
fn explained(host: &impl Host, path: &str, error: Error) -> Error {
    if error.kind == ErrorKind::Denied || error.kind == ErrorKind::Cancelled {
        return error;
    }
    if host.list_items(path).is_ok() {
        return Error {
            kind: ErrorKind::Invalid,
            code: "folder".to_owned(),
            message: format!("{path} is a folder: list it instead"),
        };
    }
    if error.kind != ErrorKind::NotFound {
        return error;
    }
    let alike = names_alike(host, path);
    if alike.is_empty() {
        return error;
    }
    Error {
        message: format!("{}; there is {}", error.message, alike.join(", ")),
        ..error
    }
}

/// Files in the folder of `path` whose names differ from it in case or ending alone.
fn names_alike(host: &impl Host, path: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let stem = |name: &str| {
        let name = name.to_ascii_lowercase();
        name.rsplit_once('.')
            .map_or(name.clone(), |(stem, _)| stem.to_owned())
    };
    let wanted = stem(name);
    host.list_items(folder)
        .unwrap_or_default()
        .into_iter()
        .filter(|item| item.node == Node::File)
        .filter(|item| {
            let name = item.path.rsplit('/').next().unwrap_or(&item.path);
            !wanted.is_empty() && stem(name) == wanted
        })
        .map(|item| item.path)
        .take(SUGGESTED)
        .collect()
}
