//! Decks and their images as files.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use gml::Images;

/// The most bytes of a deck.
const LARGEST_DECK: u64 = 4 << 20;

/// The most bytes of one image.
const LARGEST_IMAGE: u64 = 10 << 20;

/// The folder that a deck is in.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// That of the deck `file`.
    pub(crate) fn of(file: &str) -> Self {
        Self(match Path::new(file).parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        })
    }

    fn find(&self, src: &str) -> Result<PathBuf, String> {
        let missing = |_| format!("there is no file {src:?}");
        let file = self.0.join(src).canonicalize().map_err(missing)?;
        let folder = self.0.canonicalize().map_err(missing)?;
        if !file.starts_with(folder) {
            return Err(format!("{src:?} leads out of the deck's folder"));
        }
        let metadata = fs::metadata(&file).map_err(missing)?;
        if !metadata.is_file() || metadata.len() > LARGEST_IMAGE {
            return Err(format!("{src:?} is no file of at most 10 MiB"));
        }
        Ok(file)
    }
}

impl Images for Folder {
    fn check(&self, src: &str) -> Result<(), String> {
        self.find(src).map(|_| ())
    }

    fn read(&self, src: &str) -> Result<Vec<u8>, String> {
        fs::read(self.find(src)?).map_err(|error| format!("{src:?}: {error}"))
    }
}

/// A byte order mark.
const MARK: char = '\u{feff}';

/// The text of a deck without the byte order mark that it may begin with.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The whole text of a deck.
pub(crate) fn read(file: &str) -> Result<String, String> {
    let metadata = fs::metadata(file).map_err(|error| format!("{file}: {error}"))?;
    if !metadata.is_file() || metadata.len() > LARGEST_DECK {
        return Err(format!("{file}: it is no file of at most 4 MiB"));
    }
    let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    String::from_utf8(bytes).map_err(|_| format!("{file}: it is not UTF-8 text"))
}

/// Puts `text` in the place of the deck in one step, if it is still `before`. Mode and links stay.
pub(crate) fn replace(file: &str, before: &str, text: &str) -> Result<bool, String> {
    let error = |error: std::io::Error| format!("{file}: {error}");
    let target = Path::new(file).canonicalize().map_err(error)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    let mut beside = tempfile::NamedTempFile::new_in(folder).map_err(error)?;
    beside.write_all(text.as_bytes()).map_err(error)?;
    let mode = fs::metadata(&target).map_err(error)?.permissions();
    fs::set_permissions(beside.path(), mode).map_err(error)?;
    if read(file)? != before {
        return Ok(false);
    }
    beside.persist(&target).map_err(|kept| error(kept.error))?;
    Ok(true)
}
