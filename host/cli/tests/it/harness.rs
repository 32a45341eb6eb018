//! A home of its own for each test, and the binary in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Folders that nobody else uses.
pub struct Home {
    folder: tempfile::TempDir,
}

/// What a command did.
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("work")).expect("a working folder");
        Self { folder }
    }

    /// The directory that commands run in.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Writes a file below the working directory.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.work().join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).expect("a folder for the file");
        }
        fs::write(&file, text).expect("the file is written");
        file
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).expect("the file can be read")
    }

    /// The binary, in the working directory, with folders of its own, no key and no terminal.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_raddle"));
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("XDG_DATA_HOME", self.folder.path().join("data"))
            .env("XDG_CACHE_HOME", shared_cache())
            .stdin(Stdio::null());
        command
    }

    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Done {
        Done::of(self.command(arguments).output().expect("the binary runs"))
    }

    /// Runs and must end well.
    pub fn good<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> String {
        let done = self.run(arguments);
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        done.stdout
    }
}

impl Done {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is text"),
            stderr: String::from_utf8(output.stderr).expect("stderr is text"),
        }
    }
}

/// Compiled plugins are shared by all tests: what they hold does not depend on who asks.
fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}
