//! What the plugin needs of the host, so that its side of the protocol can be tested without one.

use raddle_sdk::{Error, ErrorKind, process, progress, workspace};

/// The agent's program, the files of the session, and the people who watch.
pub trait Host {
    /// Writes on the agent's standard input.
    ///
    /// # Errors
    ///
    /// `ended`: it takes nothing more.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error>;

    /// Waits for what the agent writes.
    ///
    /// # Errors
    ///
    /// Those of `process.read`.
    fn read(&mut self) -> Result<Heard, Error>;

    /// A whole text file.
    ///
    /// # Errors
    ///
    /// Those of `workspace.read`, and `not-text`.
    fn read_file(&mut self, path: &str) -> Result<String, Error>;

    /// Replaces a file, or makes it.
    ///
    /// # Errors
    ///
    /// Those of `workspace.replace`.
    fn write_file(&mut self, path: &str, text: &str) -> Result<(), Error>;

    /// Shows what the agent does.
    fn show(&mut self, title: &str);

    /// Shows what the agent says.
    fn say(&mut self, text: &str);
}

/// What came from the agent's standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// Some of it.
    Bytes(Vec<u8>),
    /// There will be no more.
    End,
}

/// Bytes that are asked for at once.
const CHUNK: u32 = 64 * 1024;

/// How long one look waits.
const LOOK_MS: u32 = 10_000;

/// Bytes of the largest file that is read or written for an agent.
const MAX_FILE: u32 = 8 * 1024 * 1024;

/// A program that runs, in the calling session.
pub(crate) struct Session {
    program: u32,
}

impl Session {
    pub(crate) fn of(program: u32) -> Self {
        Self { program }
    }
}

impl Host for Session {
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        process::write(self.program, bytes)
    }

    fn read(&mut self) -> Result<Heard, Error> {
        loop {
            match process::read(self.program, CHUNK, LOOK_MS)? {
                process::Heard::Output(bytes) => return Ok(Heard::Bytes(bytes)),
                process::Heard::Silence => {}
                process::Heard::End => return Ok(Heard::End),
            }
        }
    }

    fn read_file(&mut self, path: &str) -> Result<String, Error> {
        let contents = workspace::read(path, 0, MAX_FILE)?;
        if contents.more {
            let message = format!("{path} is larger than {MAX_FILE} bytes");
            return Err(Error::limit("too-large", message));
        }
        String::from_utf8(contents.bytes)
            .map_err(|_| Error::invalid("not-text", format!("{path} is not UTF-8")))
    }

    fn write_file(&mut self, path: &str, text: &str) -> Result<(), Error> {
        let base = match workspace::read(path, 0, 0) {
            Ok(contents) => Some(contents.digest),
            Err(error) if error.kind == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        workspace::replace(path, text.as_bytes(), base.as_deref()).map(drop)
    }

    fn show(&mut self, title: &str) {
        progress::report(title, None);
    }

    fn say(&mut self, text: &str) {
        progress::write(text);
    }
}
