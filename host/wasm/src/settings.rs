//! A plugin's settings against its own schema, and the files they name.

use std::fs;
use std::path::{Path, PathBuf};

use raddle_core::digest::Digest;
use serde_json::{Map, Value};

use crate::bindings::types;
use crate::refusal::LoadReason;

/// Bytes of all files together that the settings of one plugin may name.
const MAX_FILES: u64 = 8 << 20;

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

/// The contents of the files and folders that `settings` name where `schema` says `format: file`
/// or `format: directory`, in the order of the settings; the files of a folder by path. The
/// setting is named by its JSON pointer (RFC 6901). Relative paths start at `directory`. Files in
/// a folder that are not text are left out.
pub(crate) fn files(
    schema: &Value,
    settings: &Value,
    directory: &Path,
) -> Result<Vec<types::File>, Vec<LoadReason>> {
    let mut declared = Vec::new();
    collect(schema, schema, settings, "", 0, &mut declared);
    let mut reader = Reader {
        directory,
        left: MAX_FILES,
        files: Vec::new(),
        faults: Vec::new(),
    };
    for (setting, path, kind) in &declared {
        reader.read(setting, path, *kind);
    }
    if reader.faults.is_empty() {
        Ok(reader.files)
    } else {
        Err(reader.faults)
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
        let mut paths = Vec::new();
        list(path, &mut paths, 0)?;
        paths.sort();
        for file in paths {
            if let Ok(text) = String::from_utf8(self.bytes(&file)?) {
                let below = file.strip_prefix(path).unwrap_or(&file);
                let name = Path::new(written).join(below);
                self.push(setting, name.to_string_lossy().into_owned(), text);
            }
        }
        Ok(())
    }

    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, String> {
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is not a file".to_owned());
        }
        self.left = self
            .left
            .checked_sub(metadata.len())
            .ok_or_else(|| format!("the files of the settings are over {} MiB", MAX_FILES >> 20))?;
        fs::read(path).map_err(|error| error.to_string())
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

/// The regular files below `folder`. Links are not followed, hidden entries are left out.
fn list(folder: &Path, paths: &mut Vec<PathBuf>, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("its folders are nested too deeply".to_owned());
    }
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() {
            list(&entry.path(), paths, depth + 1)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
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
