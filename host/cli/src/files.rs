//! Files that the user names, read whole.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Read as _};
use std::path::Path;

use anyhow::anyhow;

use crate::failure::Failure;

/// The most bytes of one file: more than any deployment or recording needs.
const LIMIT: u64 = 16 << 20;

/// The bytes of a regular file. Anything else might never end, or never begin.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Error> {
    check(file)?;
    let mut bytes = Vec::new();
    File::open(file)?.take(LIMIT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LIMIT {
        let message = format!("it is larger than {} MiB", LIMIT >> 20);
        return Err(Error::new(ErrorKind::InvalidInput, message));
    }
    Ok(bytes)
}

/// Whether there is a regular file.
pub(crate) fn check(file: &Path) -> Result<(), Error> {
    let kind = match fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(metadata) if metadata.is_dir() => "it is a directory, and a file is needed",
        Ok(_) => "it is no regular file",
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::new(ErrorKind::NotFound, "there is no such file"));
        }
        Err(error) => return Err(error),
    };
    Err(Error::new(ErrorKind::InvalidInput, kind))
}

/// What it means that a file named on the command line cannot be read: most often that the wrong
/// one was named.
pub(crate) fn failure(shown: &str, error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidInput => {
            Failure::Misuse(format!("{shown}: {error}"))
        }
        _ => Failure::Unable(anyhow!("{shown}: cannot be read: {error}")),
    }
}
