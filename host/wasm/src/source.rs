//! The bytes of a component, and the usual mistakes about them.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use wasmtime::component::Component;

use crate::limits::{self, Limits};
use crate::refusal::LoadReason;

/// The most bytes of a component's file: many times what the largest guest languages make.
const LARGEST_COMPONENT: u64 = 256 << 20;

/// Where a component's bytes are.
#[derive(Debug, Clone)]
pub enum ComponentSource {
    /// In memory.
    Bytes(Bytes),
    /// In a file, which is read only if the cache does not know it.
    File(PathBuf),
}

impl ComponentSource {
    /// All of them.
    pub(crate) fn read(&self) -> Result<Bytes, LoadReason> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => match read(path) {
                Ok(bytes) => Ok(bytes.into()),
                Err(message) => Err(LoadReason::Unreadable {
                    path: path.clone(),
                    message,
                }),
            },
        }
    }
}

/// The bytes of a regular file: anything else might never end, or never begin.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a file".to_owned());
    }
    if metadata.len() > LARGEST_COMPONENT {
        return Err(format!("it is over {} MiB", LARGEST_COMPONENT >> 20));
    }
    fs::read(path).map_err(|error| error.to_string())
}

/// Tells the usual mistakes from damage.
pub(crate) fn check_preamble(bytes: &[u8]) -> Result<(), LoadReason> {
    if bytes.is_empty() {
        return Err(LoadReason::Empty);
    }
    let Some(version) = bytes.strip_prefix(b"\0asm") else {
        let start = bytes.trim_ascii_start();
        return Err(match start.starts_with(b"(") || start.starts_with(b";;") {
            true => LoadReason::Text,
            false => LoadReason::NotWasm,
        });
    };
    if version.starts_with(&[1, 0, 0, 0]) {
        return Err(LoadReason::CoreModule);
    }
    Ok(())
}

pub(crate) fn memory_fault(component: &Component, limits: &Limits) -> Option<LoadReason> {
    let pages = component.resources_required()?.max_initial_memory_size?;
    let needed = usize::try_from(pages).ok()?.saturating_mul(64 << 10);
    (needed > limits.memory).then(|| LoadReason::Memory {
        needed: limits::size(needed),
        allowed: limits::size(limits.memory),
    })
}
