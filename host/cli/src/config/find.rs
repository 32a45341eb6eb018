//! Which config a command means.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The file that `-c` names, relative to `directory`, else the nearest `raddle.toml` in
/// `directory` or above it.
pub(crate) fn find(named: Option<&Path>, directory: &Path) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(named.to_path_buf());
    }
    directory
        .ancestors()
        .map(|folder| folder.join("raddle.toml"))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            Failure::Misuse(format!(
                "there is no raddle.toml in {} or above it: `raddle init` writes one, and `-c` \
                 names another file",
                directory.display()
            ))
        })
}
