//! The workspace: instructions, skills and configuration that changed.

use std::collections::BTreeMap;

use raddle_sdk::inject::{Injection, Source};
use raddle_sdk::types::Subject;
use raddle_sdk::{Error, include_prompt};
use serde::{Deserialize, Serialize};

use crate::{Host, Settings};

/// Where the session keeps what is known of it.
const KEY: &str = "workspace";

/// Paths that are named; of more, their number.
const NAMED: usize = 10;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    /// Number of the next injection.
    next: u32,
    /// Size, time and digest of each file.
    files: BTreeMap<String, (u32, Option<String>, String)>,
}

/// Tells of files that changed, came or went, all in one.
///
/// # Errors
///
/// Those of the host.
pub fn observe(host: &mut impl Host, settings: &Settings) -> Result<(), Error> {
    if settings.workspace.is_empty() {
        return Ok(());
    }
    let written = host.get(KEY)?;
    let mut known: Known = written
        .as_deref()
        .and_then(|written| serde_json::from_str(written).ok())
        .unwrap_or_default();
    let mut files = BTreeMap::new();
    for glob in &settings.workspace {
        for item in host.find(glob)? {
            let before = known.files.get(&item.path);
            let unchanged = before
                .filter(|(size, modified, _)| *size == item.size && *modified == item.modified);
            let digest = match unchanged {
                Some((_, _, digest)) => Some(digest.clone()),
                None => host.digest(&item.path)?,
            };
            if let Some(digest) = digest {
                files.insert(item.path, (item.size, item.modified, digest));
            }
        }
    }
    let digest = |files: &BTreeMap<String, (u32, Option<String>, String)>, path: &String| {
        files.get(path).map(|(_, _, digest)| digest.clone())
    };
    let mut changed: Vec<&String> = files.keys().chain(known.files.keys()).collect();
    changed.retain(|path| digest(&files, path) != digest(&known.files, path));
    changed.sort();
    changed.dedup();
    // What was there when the session began is no news.
    if !changed.is_empty() && written.is_some() {
        let mut paths: Vec<&str> = changed.iter().map(|path| path.as_str()).collect();
        let more = paths.len().saturating_sub(NAMED);
        paths.truncate(NAMED);
        let mut named = paths.join(", ");
        if more > 0 {
            named.push_str(&format!(" and {more} more"));
        }
        let id = format!("workspace-{}", known.next);
        known.next += 1;
        host.send(update(id, &named))?;
    }
    known.files = files;
    let now = serde_json::to_string(&known)
        .map_err(|error| Error::failed("workspace", error.to_string()))?;
    if written.as_deref() != Some(&now) {
        host.set(KEY, &now)?;
    }
    Ok(())
}

fn update(id: String, paths: &str) -> Injection {
    Injection {
        id,
        kind: "workspace_update".to_owned(),
        occurred_at: None,
        source: Source::Workspace,
        delivery: None,
        requires_decision: false,
        summary: include_prompt!("workspace.md").replace("PATHS", paths),
        dedupe_key: None,
        subject: Some(Subject {
            reference: Some("workspace".to_owned()),
            path: None,
            revision: None,
        }),
        origin: None,
        details: None,
    }
}
