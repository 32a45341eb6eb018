//! A plugin's settings against its own schema, and the files they name.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use raddle_core::digest::Digest;
use serde_json::{Map, Value};

use crate::bindings::types;
use crate::folder::{Folder, MAX_FILES, read_limited};
use crate::load::PluginSpec;
use crate::refusal::LoadReason;

/// References between parts of a schema that are followed before it counts as endless.
const MAX_DEPTH: usize = 32;

/// Everything in `settings` that breaks `schema`, by key.
pub(crate) fn faults(schema: &Value, settings: &Value) -> Vec<LoadReason> {
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => {
            return vec![LoadReason::SettingsSchema {
                message: error.to_string(),
            }];
        }
    };
    validator
        .iter_errors(settings)
        .map(|error| LoadReason::Setting {
            key: key(&error.instance_path().to_string()),
            message: error.to_string(),
        })
        .collect()
}

/// The contents of the files and folders that the settings of `spec` name where `schema` says so;
/// what they are is kept in `declared`.
pub(crate) fn files(
    schema: &Value,
    spec: &PluginSpec,
    declared: &OnceLock<Declared>,
) -> Result<Vec<types::File>, Vec<LoadReason>> {
    let find = || Declared::of(schema, &spec.settings, &spec.directory);
    declared.get_or_init(find).read()
}

/// The files and folders that a plugin's settings name.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    directory: PathBuf,
    /// The JSON pointer (RFC 6901) of each setting, and what it says.
    places: Vec<(String, String, Kind)>,
}

impl Declared {
    /// What `settings` name where `schema` says `format: file` or `format: directory`, in the order
    /// of the settings. Relative paths start at `directory`.
    fn of(schema: &Value, settings: &Value, directory: &Path) -> Self {
        let mut found = Vec::new();
        collect(schema, schema, settings, "", 0, &mut found);
        let owned = |(setting, path, kind): (String, &str, Kind)| (setting, path.to_owned(), kind);
        Self {
            directory: directory.to_path_buf(),
            places: found.into_iter().map(owned).collect(),
        }
    }

    /// Whether the setting at this place names a file, not a folder.
    pub(crate) fn is_single(&self, setting: &str) -> bool {
        let mut places = self.places.iter();
        places.any(|(place, _, kind)| place == setting && *kind == Kind::File)
    }

    /// Where they are.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let places = self.places.iter();
        places.map(|(_, path, _)| self.directory.join(path))
    }

    /// Their contents as they are now; the files of a folder by path.
    pub(crate) fn read(&self) -> Result<Vec<types::File>, Vec<LoadReason>> {
        let mut reader = Reader {
            directory: &self.directory,
            left: MAX_FILES,
            files: Vec::new(),
            faults: Vec::new(),
        };
        for (setting, path, kind) in &self.places {
            reader.read(setting, path, *kind);
        }
        if reader.faults.is_empty() {
            Ok(reader.files)
        } else {
            Err(reader.faults)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
}

/// Walks `value` along its schema and notes the strings that name files.
fn collect<'a>(
    root: &'a Value,
    schema: &'a Value,
    value: &'a Value,
    setting: &str,
    depth: usize,
    declared: &mut Vec<(String, &'a str, Kind)>,
) {
    let Value::Object(schema) = schema else {
        return;
    };
    if depth > MAX_DEPTH {
        return;
    }
    let mut go = |schema: &'a Value, value: &'a Value, setting: &str| {
        collect(root, schema, value, setting, depth + 1, declared);
    };
    if let Some(target) = reference(root, schema) {
        go(target, value, setting);
    }
    for combined in ["allOf", "anyOf", "oneOf"] {
        if let Some(Value::Array(schemas)) = schema.get(combined) {
            schemas.iter().for_each(|schema| go(schema, value, setting));
        }
    }
    match value {
        Value::String(path) => {
            let kind = match schema.get("format").and_then(Value::as_str) {
                Some("file") => Kind::File,
                Some("directory") => Kind::Folder,
                _ => return,
            };
            let found = (setting.to_owned(), path.as_str(), kind);
            if !declared.contains(&found) {
                declared.push(found);
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    go(schema, item, &format!("{setting}/{index}"));
                }
            }
        }
        Value::Object(members) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, member) in members {
                let schema = properties
                    .and_then(|properties| properties.get(name))
                    .or_else(|| schema.get("additionalProperties"));
                if let Some(schema) = schema {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    go(schema, member, &format!("{setting}/{name}"));
                }
            }
        }
        _ => {}
    }
}

fn reference<'a>(root: &'a Value, schema: &Map<String, Value>) -> Option<&'a Value> {
    root.pointer(schema.get("$ref")?.as_str()?.strip_prefix('#')?)
}

/// Reads declared files, as long as they fit.
struct Reader<'a> {
    directory: &'a Path,
    left: u64,
    files: Vec<types::File>,
    faults: Vec<LoadReason>,
}

impl Reader<'_> {
    fn read(&mut self, setting: &str, written: &str, kind: Kind) {
        let path = self.directory.join(written);
        let done = match kind {
            Kind::File => self.read_file(setting, &path, written),
            Kind::Folder => self.read_folder(setting, &path, written),
        };
        if let Err(message) = done {
            self.faults.push(LoadReason::SettingFile {
                key: key(setting),
                path,
                message,
            });
        }
    }

    fn read_file(&mut self, setting: &str, path: &Path, written: &str) -> Result<(), String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        self.push(setting, written.to_owned(), text);
        Ok(())
    }

    fn read_folder(&mut self, setting: &str, path: &Path, written: &str) -> Result<(), String> {
        let folder = Folder::read(path, &mut self.left)?;
        for (file, reason) in &folder.left_out {
            if reason.is_about_links() {
                tracing::warn!(setting, file = %file.display(), "{reason}");
            }
        }
        for (file, text) in folder.files {
            let name = Path::new(written).join(file);
            self.push(setting, name.to_string_lossy().into_owned(), text);
        }
        Ok(())
    }

    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        read_limited(path, &mut self.left)
    }

    fn push(&mut self, setting: &str, path: String, text: String) {
        self.files.push(types::File {
            setting: setting.to_owned(),
            path,
            digest: Digest::of(&text).to_string(),
            text,
        });
    }
}

/// A JSON pointer as people write the key: `/hosts/0/name` is `hosts.0.name`.
fn key(pointer: &str) -> String {
    pointer
        .trim_start_matches('/')
        .split('/')
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect::<Vec<_>>()
        .join(".")
}
