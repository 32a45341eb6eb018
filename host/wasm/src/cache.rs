//! Compiled components on disk, keyed by engine and digest.
//!
//! Compiled code is run as it is, so the directory is private to the user and every entry has a
//! seal beside it: the digest of the artifact, and a stamp of the file (inode, length, time of
//! the last change) taken when the digest was last checked. Whoever writes to the file changes
//! the stamp, so a load compares stamps only, and reads the whole file again where they differ.
//! Whatever does not fit is a miss and is replaced.

use std::fs::{self, DirBuilder, File, Metadata};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use raddle_core::digest::{Digest, RunningDigest};
use wasmtime::Engine;
use wasmtime::component::Component;

/// A private directory of compiled components.
#[derive(Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
    /// Stands for everything about the engine that compiled code depends on.
    engine: String,
}

/// A file as it was when it was last looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    length: u64,
    changed: (i64, i64),
}

/// What is known about a file: its digest, and its stamp where that can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seal {
    /// What the seal is about, so that one moved to another name does not count.
    subject: String,
    digest: Digest,
    stamp: Option<Stamp>,
}

impl Cache {
    /// The cache under `parent`, for artifacts of `engine`.
    ///
    /// # Errors
    ///
    /// The directory cannot be made, or others could write to it.
    pub(crate) fn open(parent: &Path, engine: &Engine) -> io::Result<Self> {
        let directory = parent.join("compiled");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)?;
        let found = fs::symlink_metadata(&directory)?;
        let own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
        if !own || found.mode() & 0o022 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("{} is writable by others", directory.display()),
            ));
        }
        let mut hasher = EngineHasher::default();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let mut engine = hasher.0.current().hex();
        engine.truncate(16);
        Ok(Self { directory, engine })
    }

    /// The compiled form of the component with `digest`, if there is a sound one.
    pub(crate) fn get(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let name = self.name(digest);
        let path = self.directory.join(format!("{name}.cwasm"));
        let seal_path = self.directory.join(format!("{name}.seal"));
        let seal = Seal::read(&seal_path, &name)?;
        if !seal.holds(&path, &seal_path) {
            return None;
        }
        match deserialize(engine, &path) {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::debug!(%error, entry = %path.display(), "compiled component does not load");
                None
            }
        }
    }

    /// Keeps the compiled form of the component with `digest`. Losing it costs a compilation
    /// later, so a failure is only logged.
    pub(crate) fn put(&self, digest: &Digest, component: &Component) {
        let name = self.name(digest);
        let kept = component
            .serialize()
            .map_err(io::Error::other)
            .and_then(|artifact| {
                self.replace(&format!("{name}.cwasm"), &artifact)?;
                let seal = Seal {
                    subject: name.clone(),
                    digest: Digest::of(&artifact),
                    stamp: None,
                };
                self.replace(&format!("{name}.seal"), seal.to_string().as_bytes())
            });
        if let Err(error) = kept {
            tracing::warn!(%error, directory = %self.directory.display(), "compiled component is not kept");
        }
    }

    /// The digest of the file at `path`, if it is known and the file has not changed since.
    pub(crate) fn digest_of_file(&self, path: &Path) -> Option<Digest> {
        let seal_path = self.directory.join(source_name(path));
        let seal = Seal::read(&seal_path, &path.to_string_lossy())?;
        let stamp = Stamp::of(&fs::metadata(path).ok()?);
        (seal.stamp == Some(stamp)).then_some(seal.digest)
    }

    /// Remembers the digest of the file at `path`. The `metadata` is from after it was read: a
    /// change in between is too young to be remembered.
    pub(crate) fn remember_file(&self, path: &Path, metadata: &Metadata, digest: Digest) {
        let seal = Seal {
            subject: path.to_string_lossy().into_owned(),
            digest,
            stamp: Stamp::settled(metadata),
        };
        if seal.stamp.is_none() {
            return;
        }
        if let Err(error) = self.replace(&source_name(path), seal.to_string().as_bytes()) {
            tracing::debug!(%error, "digest of a component file is not kept");
        }
    }

    fn name(&self, digest: &Digest) -> String {
        format!("{}-{}", self.engine, digest.hex())
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        replace(&self.directory.join(name), bytes)
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The stamp, unless the file changed so lately that another change could leave the same one.
    fn settled(metadata: &Metadata) -> Option<Self> {
        let changed = SystemTime::UNIX_EPOCH
            .checked_add(Duration::from_secs(metadata.ctime().try_into().ok()?))?;
        let age = SystemTime::now().duration_since(changed).ok()?;
        (age > Duration::from_secs(2)).then(|| Self::of(metadata))
    }
}

impl Seal {
    fn read(path: &Path, subject: &str) -> Option<Self> {
        let seal: Self = fs::read_to_string(path).ok()?.parse().ok()?;
        (seal.subject == subject).then_some(seal)
    }

    /// Whether the file at `path` is the sealed one. A file that had to be read for that gets its
    /// new stamp into the seal.
    fn holds(&self, path: &Path, seal_path: &Path) -> bool {
        let Ok(metadata) = fs::metadata(path) else {
            return false;
        };
        if self.stamp == Some(Stamp::of(&metadata)) {
            return true;
        }
        let sound = File::open(path)
            .and_then(digest_of)
            .is_ok_and(|digest| digest == self.digest);
        if sound && let Some(stamp) = Stamp::settled(&metadata) {
            let renewed = Self {
                stamp: Some(stamp),
                ..self.clone()
            };
            if let Err(error) = replace(seal_path, renewed.to_string().as_bytes()) {
                tracing::debug!(%error, "seal of a compiled component is not renewed");
            }
        }
        sound
    }
}

impl std::fmt::Display for Seal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "{}", self.digest)?;
        match self.stamp {
            Some(Stamp {
                inode,
                length,
                changed: (seconds, nanoseconds),
            }) => writeln!(formatter, "{inode} {length} {seconds} {nanoseconds}")?,
            None => writeln!(formatter, "-")?,
        }
        // Last, because a path may hold a line break.
        write!(formatter, "{}", self.subject)
    }
}

impl FromStr for Seal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut lines = text.splitn(3, '\n');
        let mut line = || lines.next().ok_or(());
        let digest = line()?.parse().map_err(drop)?;
        let stamp = match line()? {
            "-" => None,
            numbers => {
                let numbers = numbers
                    .split(' ')
                    .map(str::parse)
                    .collect::<Result<Vec<i128>, _>>()
                    .map_err(drop)?;
                let [inode, length, seconds, nanoseconds] = numbers[..] else {
                    return Err(());
                };
                Some(Stamp {
                    inode: inode.try_into().map_err(drop)?,
                    length: length.try_into().map_err(drop)?,
                    changed: (
                        seconds.try_into().map_err(drop)?,
                        nanoseconds.try_into().map_err(drop)?,
                    ),
                })
            }
        };
        Ok(Self {
            subject: line()?.to_owned(),
            digest,
            stamp,
        })
    }
}

#[expect(
    unsafe_code,
    reason = "compiled code is mapped and run as it is, which the runtime cannot make safe"
)]
fn deserialize(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: only this type writes to the directory, which no other user can write to, and the
    // seal says that the file holds what an engine with the same key serialized. Entries are
    // replaced by renaming, never written in place, so a mapped file keeps its contents.
    unsafe { Component::deserialize_file(engine, path) }
}

fn source_name(path: &Path) -> String {
    let mut name = Digest::of(path.as_os_str().as_encoded_bytes()).hex();
    name.truncate(32);
    name.push_str(".source");
    name
}

fn digest_of(mut file: File) -> io::Result<Digest> {
    let mut digest = RunningDigest::default();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match io::Read::read(&mut file, &mut buffer)? {
            0 => return Ok(digest.current()),
            count => digest.update(&buffer[..count]),
        }
    }
}

/// Replaces the file at `path` in one step. Processes that share the directory never see half.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{}-{count}.unfinished", std::process::id()));
    fs::write(&unfinished, bytes)
        .and_then(|()| fs::rename(&unfinished, path))
        .inspect_err(|_| {
            // Nothing more can be done about the leftover than to try.
            let _ = fs::remove_file(&unfinished);
        })
}

/// A hasher whose result does not depend on the version of the standard library.
#[derive(Default)]
struct EngineHasher(RunningDigest);

impl Hasher for EngineHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.current();
        digest
            .as_bytes()
            .iter()
            .take(8)
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }
}
