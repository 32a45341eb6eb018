//! Decks and their images as files.

use std::fs;
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

/// The text of a deck, without a byte order mark.
pub(crate) fn read(file: &str) -> Result<String, String> {
    let metadata = fs::metadata(file).map_err(|error| format!("{file}: {error}"))?;
    if !metadata.is_file() || metadata.len() > LARGEST_DECK {
        return Err(format!("{file}: it is no file of at most 4 MiB"));
    }
    let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let mut text = String::from_utf8(bytes).map_err(|_| format!("{file}: it is not UTF-8 text"))?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}
