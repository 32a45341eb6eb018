//! A host over a real folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use raddle_plugin_files::call::Answer;
use raddle_plugin_files::host::Host;
use raddle_plugin_files::offer::Settings;
use raddle_sdk::Error;
use raddle_sdk::tools::Invocation;
use raddle_sdk::types::ToolCall;
use raddle_sdk::workspace::{Contents, Item, Match, Node};
use serde_json::Value;
use sha2::Digest as _;

/// A temporary folder as a workspace, and the keys of one session.
pub(crate) struct Folder {
    root: tempfile::TempDir,
    state: Mutex<BTreeMap<String, String>>,
    session: bool,
    /// Held while a file is compared and replaced.
    replacing: Mutex<()>,
    /// Runs once, before the next replacement: somebody else, at the worst moment.
    between: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self {
            root: tempfile::tempdir().unwrap(),
            state: Mutex::default(),
            session: true,
            replacing: Mutex::default(),
            between: Mutex::default(),
        }
    }

    pub(crate) fn without_session() -> Self {
        Self {
            session: false,
            ..Self::new()
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Puts bytes into a file, the way somebody else does.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn before_next_replacement(&self, act: impl FnOnce() + Send + 'static) {
        *self.between.lock().unwrap() = Some(Box::new(act));
    }

    /// Calls a tool.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Result<Answer, Error> {
        self.call_with(&Settings::default(), tool, arguments)
    }

    pub(crate) fn call_with(
        &self,
        settings: &Settings,
        tool: &str,
        arguments: Value,
    ) -> Result<Answer, Error> {
        let invocation = Invocation {
            call: ToolCall {
                id: "call".to_owned(),
                name: tool.to_owned(),
                arguments: arguments.to_string(),
            },
            batch: Vec::new(),
            answer: None,
        };
        let root = self.root.path().to_str().unwrap();
        raddle_plugin_files::answer(self, settings, &invocation, Some(root))
    }

    fn items(&self, folder: &str) -> Result<Vec<Item>, Error> {
        let missing = |_| Error::not_found("no-entry", format!("{folder} does not exist"));
        let mut items = Vec::new();
        for entry in fs::read_dir(self.path(folder)).map_err(missing)? {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let name = entry.file_name().into_string().unwrap();
            items.push(Item {
                path: match folder {
                    "." => name,
                    folder => format!("{folder}/{name}"),
                },
                node: match (kind.is_file(), kind.is_dir()) {
                    (true, _) => Node::File,
                    (_, true) => Node::Folder,
                    _ => Node::Other,
                },
                size: u32::try_from(entry.metadata().unwrap().len()).unwrap(),
                modified: None,
            });
        }
        items.sort_by(|left, right| left.path.cmp(&right.path));
        Ok(items)
    }

    fn files(&self, folder: &str) -> Vec<Item> {
        let mut files = Vec::new();
        for item in self.items(folder).unwrap() {
            match item.node {
                Node::Folder => files.extend(self.files(&item.path)),
                _ => files.push(item),
            }
        }
        files
    }
}

impl Host for Folder {
    fn read(&self, path: &str, offset: u32, length: u32) -> Result<Contents, Error> {
        let whole = fs::read(self.path(path)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::not_found("no-entry", format!("{path} does not exist"))
            }
            _ => Error::failed("io", format!("{path}: {error}")),
        })?;
        let start = whole.len().min(offset as usize);
        let end = whole.len().min(start + length as usize);
        Ok(Contents {
            bytes: whole[start..end].to_vec(),
            digest: digest(&whole),
            more: end < whole.len(),
        })
    }

    fn list_items(&self, path: &str) -> Result<Vec<Item>, Error> {
        self.items(path)
    }

    /// Takes a glob of the form `*end`.
    fn find(&self, glob: &str, limit: u32) -> Result<Vec<Item>, Error> {
        let mut files = self.files(".");
        files.retain(|item| item.path.ends_with(glob.trim_start_matches('*')));
        files.truncate(limit as usize);
        Ok(files)
    }

    /// Takes a pattern without special characters.
    fn search(&self, pattern: &str, _glob: Option<&str>, limit: u32) -> Result<Vec<Match>, Error> {
        let mut found = Vec::new();
        for file in self.files(".") {
            for (line, text) in (1..).zip(self.text(&file.path).lines()) {
                if text.contains(pattern) {
                    found.push(Match {
                        path: file.path.clone(),
                        line,
                        text: text.to_owned(),
                    });
                }
            }
        }
        found.truncate(limit as usize);
        Ok(found)
    }

    fn replace(&self, path: &str, bytes: &[u8], base: Option<&str>) -> Result<String, Error> {
        let between = self.between.lock().unwrap().take();
        if let Some(act) = between {
            act();
        }
        let _guard = self.replacing.lock().unwrap();
        let current = fs::read(self.path(path)).ok().map(|bytes| digest(&bytes));
        if base != current.as_deref() {
            return Err(Error::conflict(
                "stale",
                format!("{path} is another version"),
            ));
        }
        self.put(path, bytes);
        Ok(digest(bytes))
    }

    fn get(&self, key: &str) -> Result<Option<String>, Error> {
        self.in_session()?;
        Ok(self.state.lock().unwrap().get(key).cloned())
    }

    fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        self.in_session()?;
        self.state
            .lock()
            .unwrap()
            .insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    fn swap(&self, key: &str, expected: Option<&str>, value: &str) -> Result<bool, Error> {
        self.in_session()?;
        let mut state = self.state.lock().unwrap();
        if state.get(key).map(String::as_str) != expected {
            return Ok(false);
        }
        state.insert(key.to_owned(), value.to_owned());
        Ok(true)
    }
}

impl Folder {
    fn in_session(&self) -> Result<(), Error> {
        if self.session {
            Ok(())
        } else {
            Err(Error::unavailable("no-session", "there is no session"))
        }
    }
}

/// `sha256:<hex>` of `bytes`.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let hex: String = sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}
