//! Replacing and removing files.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use raddle_core::digest::Digest;
use raddle_core::plugins::DomainError;
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::open::{digest, open_file};
use super::place::{Link, Missing, open_folder};
use super::{Failure, Folders};

pub(super) fn replace(
    folders: &Folders,
    path: &str,
    bytes: &[u8],
    base: Option<Digest>,
) -> Result<Digest, DomainError> {
    let missing = match base {
        Some(_) => Missing::Refuse,
        None => Missing::Plan,
    };
    let write = || -> Result<(), Failure> {
        let place = folders
            .walk(path, Link::Follow, missing)
            .map_err(|failure| gone(failure, base))?;
        let (parent, name) = place.file()?;
        if !place.writable {
            return Err(Failure::ReadOnly);
        }
        let new = NewFolders::make(parent, &place.missing)?;
        let folder = new.innermost();
        let _one_at_a_time = lock(folder, name)?;
        match base {
            Some(base) => overwrite(folder, name, bytes, base)?,
            None => create(folder, name, bytes)?,
        }
        new.keep();
        Ok(())
    };
    write().map_err(|failure| failure.at(path))?;
    Ok(Digest::of(bytes))
}

pub(super) fn remove(folders: &Folders, path: &str, base: Digest) -> Result<(), DomainError> {
    let remove = || {
        let place = folders.walk(path, Link::Keep, Missing::Refuse)?;
        let (folder, name) = place.file()?;
        if !place.writable {
            return Err(Failure::ReadOnly);
        }
        let _one_at_a_time = lock(folder, name)?;
        // What a reader of this path sees, through a link too.
        let seen = folders.walk(path, Link::Follow, Missing::Refuse)?;
        let (seen_folder, seen_name) = seen.file()?;
        expect(seen_folder, seen_name, base)?;
        Ok(rustix::fs::unlinkat(folder, name, AtFlags::empty())?)
    };
    remove().map_err(|failure: Failure| failure.at(path))
}

fn overwrite(folder: &OwnedFd, name: &OsStr, bytes: &[u8], base: Digest) -> Result<(), Failure> {
    let stat = expect(folder, name, base).map_err(|failure| gone(failure, Some(base)))?;
    // A rename asks for no permission on the file it replaces; writing to it would.
    match rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::empty()) {
        Err(Errno::ACCESS | Errno::ROFS) => return Err(Failure::ReadOnly),
        checked => checked?,
    }
    let mut temporary = Temporary::create(folder, Mode::from_raw_mode(0o600))?;
    temporary.write(bytes)?;
    keep_owner_and_mode(&temporary.file, &stat)?;
    // Whoever wrote to it in the meantime, outside of our lock, must not be overwritten.
    expect(folder, name, base).map_err(|failure| gone(failure, Some(base)))?;
    rustix::fs::renameat(folder, &temporary.name, folder, name)?;
    temporary.keep();
    Ok(())
}

fn create(folder: &OwnedFd, name: &OsStr, bytes: &[u8]) -> Result<(), Failure> {
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => return Err(Failure::Exists),
        Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut temporary = Temporary::create(folder, Mode::from_raw_mode(0o666))?;
    temporary.write(bytes)?;
    let renamed = rustix::fs::renameat_with(
        folder,
        &temporary.name,
        folder,
        name,
        RenameFlags::NOREPLACE,
    );
    match renamed {
        Ok(()) => {
            temporary.keep();
            Ok(())
        }
        // Some file systems cannot; a second name is just as exclusive.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            match rustix::fs::linkat(folder, &temporary.name, folder, name, AtFlags::empty()) {
                Err(Errno::EXIST) => Err(Failure::Exists),
                linked => Ok(linked?),
            }
        }
        Err(Errno::EXIST) => Err(Failure::Exists),
        Err(errno) => Err(errno.into()),
    }
}

/// Checks that the file holds what `base` says.
fn expect(folder: &OwnedFd, name: &OsStr, base: Digest) -> Result<Stat, Failure> {
    let mut file = open_file(folder, name)?;
    if digest(&mut file)? != base {
        return Err(Failure::Stale);
    }
    Ok(rustix::fs::fstat(&file)?)
}

/// With a base, a file that is gone is a file that changed.
fn gone(failure: Failure, base: Option<Digest>) -> Failure {
    match failure {
        Failure::Missing if base.is_some() => Failure::Stale,
        other => other,
    }
}

fn keep_owner_and_mode(file: &File, old: &Stat) -> Result<(), Failure> {
    let new = rustix::fs::fstat(file)?;
    let mut mode = Mode::from_raw_mode(old.st_mode);
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        let kept = rustix::fs::fchown(file, Some(owner), Some(group))
            .or_else(|_| rustix::fs::fchown(file, None, Some(group)));
        if kept.is_err() || rustix::fs::fstat(file)?.st_uid != old.st_uid {
            // Not permitted: then at least nobody gains rights of the new owner.
            mode -= Mode::SUID | Mode::SGID;
        }
    }
    Ok(rustix::fs::fchmod(file, mode)?)
}

/// A file beside the one to be replaced, removed again unless it took its place.
struct Temporary<'a> {
    folder: &'a OwnedFd,
    name: OsString,
    file: File,
    kept: bool,
}

impl<'a> Temporary<'a> {
    fn create(folder: &'a OwnedFd, mode: Mode) -> Result<Self, Failure> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".raddle-{}-{number}.tmp", std::process::id()));
            match rustix::fs::openat(folder, &name, flags, mode) {
                Ok(file) => {
                    return Ok(Self {
                        folder,
                        name,
                        file: file.into(),
                        kept: false,
                    });
                }
                // Left by a process that was killed.
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file
            .write_all(bytes)
            .map_err(|error| Failure::Io(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing can be done about a failure here, and the first error says more.
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Folders made for a new file, removed again unless the file came to stand in them.
struct NewFolders<'a> {
    /// The folder they are in, and below it each of them, from the outermost.
    handles: Vec<Arc<OwnedFd>>,
    names: &'a [OsString],
    /// Which were not made by somebody else meanwhile.
    made: Vec<usize>,
}

impl<'a> NewFolders<'a> {
    fn make(parent: &Arc<OwnedFd>, names: &'a [OsString]) -> Result<Self, Failure> {
        let mut new = Self {
            handles: vec![Arc::clone(parent)],
            names,
            made: Vec::new(),
        };
        for (index, name) in names.iter().enumerate() {
            match rustix::fs::mkdirat(new.innermost(), name, Mode::from_raw_mode(0o777)) {
                Ok(()) => new.made.push(index),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            // Follows no link: what was put there in its place is not gone through.
            let handle = open_folder(new.innermost(), name)?;
            new.handles.push(Arc::new(handle));
        }
        Ok(new)
    }

    fn innermost(&self) -> &OwnedFd {
        &self.handles[self.handles.len() - 1]
    }

    fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for NewFolders<'_> {
    fn drop(&mut self) {
        for index in self.made.iter().rev() {
            // One that is not empty has become somebody else's.
            let _ = rustix::fs::unlinkat(
                &self.handles[*index],
                &self.names[*index],
                AtFlags::REMOVEDIR,
            );
        }
    }
}

/// Writes of this process to one file happen one after the other. A few locks, chosen by file,
/// do for all of them.
fn lock(folder: &OwnedFd, name: &OsStr) -> Result<MutexGuard<'static, ()>, Failure> {
    static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];
    let stat = rustix::fs::fstat(folder)?;
    let mut hasher = DefaultHasher::new();
    (stat.st_dev, stat.st_ino, name).hash(&mut hasher);
    let chosen = hasher.finish() as usize % LOCKS.len();
    // The lock guards files, not memory: a panic elsewhere leaves nothing half done here.
    Ok(LOCKS[chosen].lock().unwrap_or_else(PoisonError::into_inner))
}
