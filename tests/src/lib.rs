//! What the tests and benches of the whole project share.

mod model_server;

pub use model_server::{Exchange, ModelServer};

use std::fmt::Debug;
use std::path::PathBuf;

/// Cargo's target directory: the one this very program lies in.
///
/// # Panics
/// If the program was not built by cargo.
pub fn target_directory() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    // One marks a folder that cargo created, the other any it has used.
    let is_target = |folder: &std::path::Path| {
        folder.join("CACHEDIR.TAG").is_file() || folder.join(".rustc_info.json").is_file()
    };
    match program.ancestors().find(|folder| is_target(folder)) {
        Some(folder) => folder.to_owned(),
        None => panic!("{} was not built by cargo", program.display()),
    }
}

/// The built component of a standard plugin.
pub fn standard(name: &str) -> PathBuf {
    built("components", name)
}

/// The built component of a guest of the tests, from `tests/guests`.
pub fn guest(name: &str) -> PathBuf {
    built("guests", name)
}

/// The value of something that has to be good for a bench to mean anything.
///
/// # Panics
/// If it is not.
pub fn good<T, E: Debug>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error:?}"),
    }
}

/// A folder that is gone when it is dropped.
///
/// # Panics
/// If the system gives none.
pub fn temporary_folder() -> tempfile::TempDir {
    good(tempfile::tempdir())
}

fn built(folder: &str, name: &str) -> PathBuf {
    let path = target_directory()
        .join(folder)
        .join(name)
        .with_extension("wasm");
    assert!(
        path.is_file(),
        "{} is missing: `cargo xtask components` builds it",
        path.display()
    );
    path
}
