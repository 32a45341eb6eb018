//! Finding and reading the files.

use std::path::Path;

use raddle_sdk::workspace::Contents;
use raddle_sdk::{Error, ErrorKind};

use crate::Settings;

/// What is read. The component reads through the `workspace` import.
pub trait Tree {
    /// The first `length` bytes of a file.
    ///
    /// # Errors
    ///
    /// Those of `workspace.read`.
    fn read(&self, path: &str, length: u32) -> Result<Contents, Error>;

    /// Tells the operator that something at `path` is not shown, and why.
    fn left_out(&self, path: &str, reason: &str);
}

/// A file to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instruction {
    /// From the repository's root, with `/`: the same wherever the repository is checked out.
    pub path: String,
    /// Line ends are `\n`, none at the end; never empty.
    pub text: String,
    /// Whether the file goes on after the text.
    pub cut: bool,
}

/// The instruction files that hold in `cwd`, those of the repository's root first.
///
/// Without a repository, or if the grant ends below its root, the root cannot be known; then only
/// the files in `cwd` itself count, so that nothing above a project ever speaks for it.
///
/// # Errors
///
/// If a file cannot be read for another reason than that it is missing or not granted.
pub fn collect(
    tree: &impl Tree,
    cwd: &str,
    settings: &Settings,
) -> Result<Vec<Instruction>, Error> {
    let folders = folders(tree, cwd)?;
    let top = folders.last().copied().unwrap_or(cwd);
    let mut files = Vec::new();
    for folder in folders.iter().rev() {
        // The same words under two names (a link, a copy) are shown once.
        let mut digests = Vec::new();
        for name in &settings.names {
            let path = join(folder, name);
            let Some(contents) = read(tree, &path, settings.max_bytes)? else {
                continue;
            };
            if digests.contains(&contents.digest) {
                continue;
            }
            let Some(text) = text(&contents) else {
                tree.left_out(&path, "it is not UTF-8 text");
                continue;
            };
            digests.push(contents.digest);
            if !text.is_empty() {
                let below = path.strip_prefix(top).unwrap_or(&path);
                files.push(Instruction {
                    path: below.trim_start_matches('/').to_owned(),
                    text,
                    cut: contents.more,
                });
            }
        }
    }
    Ok(files)
}

/// The folders from `cwd` up to the repository's root, or `cwd` alone.
fn folders<'a>(tree: &impl Tree, cwd: &'a str) -> Result<Vec<&'a str>, Error> {
    let mut folders = Vec::new();
    for folder in Path::new(cwd).ancestors().filter_map(Path::to_str) {
        // A file in a work tree or a submodule, a folder in a clone.
        let is_root = match tree.read(&join(folder, ".git"), 0) {
            Ok(_) => true,
            Err(error) if is_no_file(&error) => true,
            Err(error) if error.kind == ErrorKind::NotFound => false,
            Err(error) if error.kind == ErrorKind::Denied => break,
            Err(error) => return Err(error),
        };
        folders.push(folder);
        if is_root {
            return Ok(folders);
        }
    }
    Ok(vec![cwd])
}

/// A file that may or may not be there. What may not be seen is as if it were not there, but the
/// operator is told.
fn read(tree: &impl Tree, path: &str, length: u32) -> Result<Option<Contents>, Error> {
    match tree.read(path, length) {
        Ok(contents) => Ok(Some(contents)),
        Err(error) if error.kind == ErrorKind::NotFound || is_no_file(&error) => Ok(None),
        Err(error) if error.kind == ErrorKind::Denied => {
            tree.left_out(path, &error.message);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// There is a folder, or something else that is no file.
fn is_no_file(error: &Error) -> bool {
    error.kind == ErrorKind::Invalid && error.code == "not-a-file"
}

fn join(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// The text of a file: whole lines, without a byte order mark, with plain line ends.
fn text(contents: &Contents) -> Option<String> {
    let bytes = &contents.bytes;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        // The cut went through a character.
        Err(error) if contents.more && error.error_len().is_none() => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let end = match text.rfind('\n') {
        Some(end) if contents.more => end,
        _ => text.len(),
    };
    let text = text[..end].replace("\r\n", "\n");
    let text = text.trim_end();
    Some(text.trim_start_matches('\n').to_owned())
}
