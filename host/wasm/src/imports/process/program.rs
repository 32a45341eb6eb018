//! Where a program is, and what it reads.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use raddle_core::plugins::{DomainError, ErrorKind};
use rustix::fs::{Access, MemfdFlags};

/// The file of `program`: looked for on `path`, never in the current folder.
pub(super) fn find(program: &str, path: Option<&OsString>) -> Result<PathBuf, DomainError> {
    let missing = || {
        DomainError::new(
            ErrorKind::NotFound,
            "program",
            format!("program {program:?} is not there"),
        )
    };
    let named = Path::new(program);
    if named.is_absolute() {
        return executable(named)
            .then(|| named.to_owned())
            .ok_or_else(missing);
    }
    if program.is_empty() || program.contains('/') {
        return Err(missing());
    }
    std::env::split_paths(path.ok_or_else(missing)?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|file| executable(file))
        .ok_or_else(missing)
}

/// A file that gives `bytes` and then ends. In memory rather than a pipe: nothing has to be fed,
/// and a program that does not read blocks nobody.
pub(super) fn input(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    if bytes.is_empty() {
        return Ok(File::open("/dev/null")?.into());
    }
    let mut file = File::from(rustix::fs::memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}

fn executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok()
}
