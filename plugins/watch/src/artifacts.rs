//! Artifacts of the task: files that somebody else than the agent changed.

use std::collections::BTreeMap;

use raddle_sdk::inject::{self, Injection, Origin, Source};
use raddle_sdk::types::Subject;
use raddle_sdk::watchers::Occasion;
use raddle_sdk::{Error, include_prompt};
use serde::{Deserialize, Serialize};

use crate::{Actor, Host, Settings};

/// Where the session keeps what is known of them.
const KEY: &str = "artifacts";

/// How many files are followed; of more, those that were touched last.
const FOLLOWED: usize = 100;

/// What is known of the artifacts.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Known {
    /// Number of the next injection.
    next: u32,
    /// The files, the one touched last at the end.
    files: Vec<File>,
    /// Size and time of the files that globs match, to look only at those that changed.
    seen: BTreeMap<String, (u32, Option<String>)>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct File {
    path: String,
    /// Its digest as the agent knows it; none if it is gone.
    revision: Option<String>,
}

/// Compares every artifact with what the agent knows of it, and tells what is different.
///
/// # Errors
///
/// Those of the host.
pub fn observe(
    host: &mut impl Host,
    settings: &Settings,
    occasion: &Occasion,
) -> Result<(), Error> {
    let written = host.get(KEY)?;
    let is_new = written.is_none();
    let mut known: Known = written
        .as_deref()
        .and_then(|written| serde_json::from_str(written).ok())
        .unwrap_or_default();
    for call in &occasion.calls {
        if let Some(Subject {
            path: Some(path),
            revision,
            ..
        }) = &call.artifact
        {
            known.touch(path, revision.clone());
        }
    }
    // What a program changed while the agent had it run, the agent did.
    let program = occasion
        .calls
        .iter()
        .rev()
        .find(|call| call.kind == "execute");
    let program = program.map(|call| call.id.as_str());
    known.look_for(host, settings, is_new, program)?;
    known.look_at(host, settings, program)?;
    let now = serde_json::to_string(&known)
        .map_err(|error| Error::failed("artifacts", error.to_string()))?;
    if written.as_deref() != Some(&now) {
        host.set(KEY, &now)?;
    }
    Ok(())
}

impl Known {
    fn touch(&mut self, path: &str, revision: Option<String>) {
        self.files.retain(|file| file.path != path);
        self.files.push(File {
            path: path.to_owned(),
            revision,
        });
        if self.files.len() > FOLLOWED {
            self.files.remove(0);
        }
    }

    /// Files that match a glob and are not followed yet. Those that were there before the session
    /// are no news.
    fn look_for(
        &mut self,
        host: &mut impl Host,
        settings: &Settings,
        is_new: bool,
        program: Option<&str>,
    ) -> Result<(), Error> {
        for glob in &settings.artifacts {
            for item in host.find(glob)? {
                let state = (item.size, item.modified);
                if self.seen.get(&item.path) == Some(&state) {
                    continue;
                }
                self.seen.insert(item.path.clone(), state);
                if self.files.iter().any(|file| file.path == item.path) {
                    continue;
                }
                let revision = host.digest(&item.path)?;
                if !is_new && revision.is_some() {
                    let text = include_prompt!("artifact-created.md");
                    self.tell(
                        host, settings, &item.path, &revision, "created", text, program,
                    )?;
                }
                self.touch(&item.path, revision);
            }
        }
        Ok(())
    }

    /// Files that are followed and are not what the agent knows.
    fn look_at(
        &mut self,
        host: &mut impl Host,
        settings: &Settings,
        program: Option<&str>,
    ) -> Result<(), Error> {
        for index in 0..self.files.len() {
            let path = self.files[index].path.clone();
            let revision = host.digest(&path)?;
            if revision == self.files[index].revision {
                continue;
            }
            let (change, text) = match &revision {
                Some(_) => ("content_saved", include_prompt!("artifact-changed.md")),
                None => ("deleted", include_prompt!("artifact-deleted.md")),
            };
            self.tell(host, settings, &path, &revision, change, text, program)?;
            self.files[index].revision = revision;
        }
        Ok(())
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each is one field of the injection"
    )]
    fn tell(
        &mut self,
        host: &mut impl Host,
        settings: &Settings,
        path: &str,
        revision: &Option<String>,
        change: &str,
        text: &str,
        program: Option<&str>,
    ) -> Result<(), Error> {
        // The number goes up when the file's new state is kept: told again after a crash in
        // between, it is the same injection.
        let id = format!("artifact-{}", self.next);
        self.next += 1;
        host.send(Injection {
            id,
            kind: "artifact_update".to_owned(),
            occurred_at: None,
            source: Source::Workspace,
            delivery: None,
            requires_decision: false,
            summary: text.replace("PATH", path),
            dedupe_key: None,
            subject: Some(Subject {
                reference: None,
                path: Some(path.to_owned()),
                revision: revision.clone(),
            }),
            origin: Some(match program {
                Some(call) => Origin {
                    actor: Some(inject::Actor::Agent),
                    interaction_id: None,
                    tool_call_id: Some(call.to_owned()),
                },
                None => Origin {
                    actor: Some(actor(settings.actor)),
                    interaction_id: None,
                    tool_call_id: None,
                },
            }),
            details: Some(serde_json::json!({ "change": change }).to_string()),
        })
    }
}

fn actor(actor: Actor) -> inject::Actor {
    match actor {
        Actor::User => inject::Actor::User,
        Actor::Collaborator => inject::Actor::Collaborator,
        Actor::Service => inject::Actor::Service,
    }
}
