//! The granted imports, `workspace` and `process`: from the contract's types to what does the
//! work, for the calling session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use raddle_core::plugins::{DomainError, ErrorKind, Fact, Progress, SessionServices};

use super::holdings::Holdings;
use super::process::{self as programs, Command, Permissions, Policy, Processes};
use super::services::answer;
use super::workspace::{Folder, Item, Node, Workspace};
use super::{Profile, State};
use crate::bindings::{process, types, workspace};
use crate::grants::{Access, Directory, ProcessGrant, Sandbox};

impl workspace::Host for State {
    async fn read(
        &mut self,
        path: String,
        offset: u32,
        length: u32,
    ) -> wasmtime::Result<Result<workspace::Contents, types::Error>> {
        self.charge(path.len())?;
        // More than that could not be handed over.
        let length = length.min(self.host_calls_left().saturating_add(1));
        let contents = match self.workspace() {
            Ok(files) => files.read(&path, offset, length).await,
            Err(error) => Err(error),
        };
        if let Ok(contents) = &contents {
            self.charge(contents.bytes.len())?;
        }
        answer(contents.map(|contents| workspace::Contents {
            bytes: contents.bytes,
            digest: contents.digest.to_string(),
            more: contents.more,
        }))
    }

    async fn list_items(
        &mut self,
        path: String,
    ) -> wasmtime::Result<Result<Vec<workspace::Item>, types::Error>> {
        self.charge(path.len())?;
        let items = match self.workspace() {
            Ok(files) => files.list_items(&path).await,
            Err(error) => Err(error),
        };
        self.items(items)
    }

    async fn find(
        &mut self,
        glob: String,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<workspace::Item>, types::Error>> {
        self.charge(glob.len())?;
        let items = match self.workspace() {
            Ok(files) => files.find(&glob, limit).await,
            Err(error) => Err(error),
        };
        self.items(items)
    }

    async fn search(
        &mut self,
        pattern: String,
        glob: Option<String>,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<workspace::Match>, types::Error>> {
        self.charge(pattern.len() + glob.as_ref().map_or(0, String::len))?;
        let matches = match self.workspace() {
            Ok(files) => files.search(&pattern, glob.as_deref(), limit).await,
            Err(error) => Err(error),
        };
        if let Ok(matches) = &matches {
            self.charge(
                matches
                    .iter()
                    .map(|found| found.path.len() + found.text.len())
                    .sum(),
            )?;
        }
        answer(matches.map(|matches| {
            matches
                .into_iter()
                .map(|found| workspace::Match {
                    path: found.path,
                    line: found.line,
                    text: found.text,
                })
                .collect()
        }))
    }

    async fn replace(
        &mut self,
        path: String,
        bytes: Vec<u8>,
        base: Option<String>,
    ) -> wasmtime::Result<Result<String, types::Error>> {
        self.charge(path.len() + bytes.len())?;
        let digest = match self.workspace() {
            Ok(files) => files.replace(&path, bytes, base.as_deref()).await,
            Err(error) => Err(error),
        };
        answer(digest.map(|digest| digest.to_string()))
    }

    async fn remove(
        &mut self,
        path: String,
        base: String,
    ) -> wasmtime::Result<Result<(), types::Error>> {
        self.charge(path.len())?;
        answer(match self.workspace() {
            Ok(files) => files.remove(&path, &base).await,
            Err(error) => Err(error),
        })
    }
}

impl process::Host for State {
    async fn run(
        &mut self,
        command: process::Command,
    ) -> wasmtime::Result<Result<process::Completed, types::Error>> {
        let texts = command.arguments.iter().map(String::len).sum::<usize>()
            + command
                .environment_variables
                .iter()
                .map(|variable| variable.name.len() + variable.value.len())
                .sum::<usize>();
        self.charge(command.program.len() + texts + command.input.len())?;
        let completed = self.run_program(command).await;
        if let Ok(completed) = &completed {
            self.charge(completed.output.len() + completed.errors.len())?;
        }
        answer(completed)
    }
}

impl State {
    fn items(
        &mut self,
        items: Result<Vec<Item>, DomainError>,
    ) -> wasmtime::Result<Result<Vec<workspace::Item>, types::Error>> {
        if let Ok(items) = &items {
            self.charge(items.iter().map(|item| item.path.len()).sum())?;
        }
        answer(items.map(|items| {
            items
                .into_iter()
                .map(|item| workspace::Item {
                    path: item.path,
                    node: match item.node {
                        Node::File => workspace::Node::File,
                        Node::Folder => workspace::Node::Folder,
                        Node::Other => workspace::Node::Other,
                    },
                    size: item.size,
                    modified: item.modified,
                })
                .collect()
        }))
    }

    /// The files of the calling session.
    fn workspace(&self) -> Result<Workspace, DomainError> {
        let session = self.session()?;
        holdings(&*session)?.workspace(&self.profile, || {
            let base = resolve(&Directory::Session, &*session)?;
            let grants = self.profile.grants.workspace.iter();
            let folders = grants.map(|grant| {
                Ok(Folder {
                    path: resolve(&grant.directory, &*session)?,
                    writable: grant.access == Access::ReadWrite,
                })
            });
            Ok((base, folders.collect::<Result<_, DomainError>>()?))
        })
    }

    /// The programs of the calling session.
    fn processes(&self) -> Result<Arc<Processes>, DomainError> {
        let session = self.session()?;
        holdings(&*session)?.processes(&self.profile, || {
            let Profile { grants, host, .. } = &*self.profile;
            let grant = grants.process.as_ref().ok_or_else(|| {
                DomainError::new(ErrorKind::Denied, "not-granted", "no program is granted")
            })?;
            let directory = resolve(&grant.directory, &*session)?;
            Ok(Permissions {
                policy: policy(grant, &directory, &*session)?,
                programs: grant.programs.clone(),
                directory,
                environment: grant.environment.clone(),
                withheld: host.withheld.clone(),
                host_environment: host.variables.clone(),
                watcher: host.watcher.clone(),
            })
        })
    }

    async fn run_program(
        &mut self,
        command: process::Command,
    ) -> Result<process::Completed, DomainError> {
        let processes = self.processes()?;
        let mut show = |chunk: &str| {
            if let Some(session) = &self.caller.session {
                let chunk = Progress::Output(chunk.to_owned());
                session.progress(&self.profile.id, self.caller.call_id.as_deref(), chunk);
            }
        };
        let live = command.live;
        let command = Command {
            program: command.program,
            arguments: command.arguments,
            cwd: command.cwd,
            environment: command
                .environment_variables
                .into_iter()
                .map(|variable| Fact {
                    name: variable.name,
                    value: variable.value,
                })
                .collect(),
            input: command.input,
            timeout: command
                .timeout_ms
                .map(|timeout| Duration::from_millis(timeout.into())),
            max_output: command.max_output,
            merge: command.merge,
        };
        let completed = processes
            .run(&command, if live { Some(&mut show) } else { None })
            .await?;
        Ok(process::Completed {
            code: completed.code,
            signal: completed.signal,
            timed_out: completed.timed_out,
            output: completed.output,
            errors: completed.errors,
            omitted: u32::try_from(completed.omitted).unwrap_or(u32::MAX),
        })
    }
}

/// What the programs of a grant are held to. Where this machine cannot hold them, and need not, that
/// was said when the deployment was loaded.
fn policy(
    grant: &ProcessGrant,
    directory: &Path,
    session: &dyn SessionServices,
) -> Result<Option<Policy>, DomainError> {
    let is_held = match grant.sandbox {
        Sandbox::Off => false,
        Sandbox::Try => programs::support().is_ok(),
        Sandbox::Require => true,
    };
    if !is_held {
        return Ok(None);
    }
    let mut write = vec![directory.to_path_buf(), std::env::temp_dir()];
    for folder in &grant.write {
        write.push(resolve(folder, session)?);
    }
    let network = grant.network;
    Ok(Some(Policy { write, network }))
}

fn holdings(session: &dyn SessionServices) -> Result<&Holdings, DomainError> {
    session.held().get().ok_or_else(|| {
        DomainError::new(
            ErrorKind::Unavailable,
            "other-runtime",
            "the session belongs to another plugin runtime",
        )
    })
}

/// The path of a granted directory, for the calling session. Without a session there is none:
/// what a plugin contributes does not depend on files.
fn resolve(directory: &Directory, session: &dyn SessionServices) -> Result<PathBuf, DomainError> {
    match directory {
        Directory::Path(path) => Ok(path.clone()),
        Directory::Session => session.directory().map(Into::into).ok_or_else(|| {
            DomainError::new(
                ErrorKind::Unavailable,
                "no-directory",
                "the session has no directory",
            )
        }),
    }
}
