//! Opening and reading regular files, and nothing else.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use raddle_core::digest::{Digest, RunningDigest};
use raddle_core::plugins::DomainError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::place::{Link, Missing};
use super::{Contents, Failure, Folders, Item, Node, Stop};

const CHUNK: usize = 64 * 1024;

pub(super) fn read(
    folders: &Folders,
    path: &str,
    offset: u32,
    length: u32,
    stop: &Stop,
) -> Result<Contents, DomainError> {
    let failed = |failure: Failure| failure.at(path);
    let place = folders
        .walk(path, Link::Follow, Missing::Refuse)
        .map_err(failed)?;
    let (parent, name) = place.file().map_err(failed)?;
    let mut file = open_file(parent, name).map_err(failed)?;

    let start = u64::from(offset);
    let end = start + u64::from(length);
    let mut bytes = Vec::new();
    let mut digest = RunningDigest::default();
    let mut position = 0u64;
    let mut buffer = vec![0; CHUNK];
    loop {
        stop.check()?;
        let count = read_some(&mut file, &mut buffer).map_err(failed)?;
        if count == 0 {
            break;
        }
        digest.update(&buffer[..count]);
        // The part of this chunk that was asked for.
        let within = |at: u64| usize::try_from(at.saturating_sub(position)).unwrap_or(count);
        let (from, to) = (within(start).min(count), within(end).min(count));
        bytes.extend_from_slice(&buffer[from..to.max(from)]);
        position += count as u64;
    }
    Ok(Contents {
        bytes,
        digest: digest.current(),
        more: position > end,
    })
}

/// Opens a regular file for reading. Anything else is refused before it is opened, because
/// opening a pipe waits and opening a device can do things; and once more after it was opened.
pub(super) fn open_file(parent: &OwnedFd, name: &OsStr) -> Result<File, Failure> {
    regular(&rustix::fs::statat(
        parent,
        name,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)?;
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(parent, name, flags, Mode::empty()) {
        Err(Errno::LOOP) => return Err(Failure::Outside),
        opened => opened?,
    };
    regular(&rustix::fs::fstat(&file)?)?;
    Ok(file.into())
}

/// The digest of the rest of `file`.
pub(super) fn digest(file: &mut File) -> Result<Digest, Failure> {
    let mut digest = RunningDigest::default();
    let mut buffer = vec![0; CHUNK];
    loop {
        match read_some(file, &mut buffer)? {
            0 => return Ok(digest.current()),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// The item that `stat` describes.
pub(super) fn item(path: String, stat: &Stat) -> Item {
    let node = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Node::File,
        FileType::Directory => Node::Folder,
        _ => Node::Other,
    };
    let nanoseconds = i32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    Item {
        path,
        node,
        size: u32::try_from(stat.st_size).unwrap_or(u32::MAX),
        modified: jiff::Timestamp::new(stat.st_mtime, nanoseconds)
            .ok()
            .map(|time| time.to_string()),
    }
}

pub(super) fn read_some(file: &mut File, buffer: &mut [u8]) -> Result<usize, Failure> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(Failure::Io(
                    Errno::from_io_error(&error).unwrap_or(Errno::IO),
                ));
            }
            Ok(count) => return Ok(count),
        }
    }
}

fn regular(stat: &Stat) -> Result<(), Failure> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(Failure::NotFile),
    }
}
