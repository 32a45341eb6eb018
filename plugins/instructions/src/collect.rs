//! Finding and reading the files.

use std::path::Path;

use raddle_sdk::workspace::{Contents, Item, Node};
use raddle_sdk::{Error, ErrorKind};

use crate::Settings;

/// What is read. The component reads through the `workspace` import.
pub trait Tree {
    /// Direct children of a folder.
    ///
    /// # Errors
    ///
    /// `denied` above the granted folders.
    fn list(&self, folder: &str) -> Result<Vec<Item>, Error>;

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

/// A folder on the way up that has instruction files.
struct Level {
    folder: String,
    names: Vec<String>,
}

/// The instruction files that hold in `cwd`, those of the repository's root first.
///
/// Without a repository, or if the grant ends below its root, the root cannot be known; then only
/// the files in `cwd` itself count, so that nothing above a project ever speaks for it.
///
/// # Errors
///
/// If a folder or a file cannot be read for another reason than a missing permission.
pub fn collect(
    tree: &impl Tree,
    cwd: &str,
    settings: &Settings,
) -> Result<Vec<Instruction>, Error> {
    let levels = levels(tree, cwd, settings)?;
    let top = levels.last().map_or(cwd, |level| &level.folder).to_owned();
    let mut files = Vec::new();
    for level in levels.iter().rev() {
        // The same words under two names (a link, a copy) are shown once.
        let mut digests = Vec::new();
        for name in &level.names {
            let path = join(&level.folder, name);
            let contents = match tree.read(&path, settings.max_bytes) {
                Ok(contents) => contents,
                Err(error) if is_absent(&error) => {
                    tree.left_out(&path, &error.message);
                    continue;
                }
                Err(error) => return Err(error),
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
                let below = Path::new(&path).strip_prefix(&top);
                files.push(Instruction {
                    path: below.map_or(path.clone(), |below| below.display().to_string()),
                    text,
                    cut: contents.more,
                });
            }
        }
    }
    Ok(files)
}

/// The folders from `cwd` up to the repository's root.
fn levels(tree: &impl Tree, cwd: &str, settings: &Settings) -> Result<Vec<Level>, Error> {
    let mut levels = Vec::new();
    for folder in Path::new(cwd).ancestors().filter_map(Path::to_str) {
        let items = match tree.list(folder) {
            Ok(items) => items,
            Err(error) if is_absent(&error) => {
                if levels.is_empty() {
                    tree.left_out(folder, &error.message);
                }
                break;
            }
            Err(error) => return Err(error),
        };
        let is_file = |name: &&String| {
            let mut files = items.iter().filter(|item| item.node == Node::File);
            files.any(|item| file_name(item) == *name)
        };
        levels.push(Level {
            folder: folder.to_owned(),
            names: settings.names.iter().filter(is_file).cloned().collect(),
        });
        // A folder in a clone, a file in a work tree or a submodule.
        if items.iter().any(|item| file_name(item) == ".git") {
            return Ok(levels);
        }
    }
    levels.truncate(1);
    Ok(levels)
}

/// What may not be seen is as if it were not there.
fn is_absent(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::Denied | ErrorKind::NotFound)
}

fn file_name(item: &Item) -> &str {
    item.path.rsplit('/').next().unwrap_or(&item.path)
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
