//! `workspace`: from the contract's types to what does the work, for the calling session.

use std::path::PathBuf;

use raddle_core::plugins::{DomainError, ErrorKind, SessionServices};

use super::State;
use super::holdings::Holdings;
use super::services::answer;
use super::workspace::{Folder, Item, Node, Workspace};
use crate::bindings::{types, workspace};
use crate::grants::{Access, Directory};

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
}

pub(super) fn holdings(session: &dyn SessionServices) -> Result<&Holdings, DomainError> {
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
pub(super) fn resolve(
    directory: &Directory,
    session: &dyn SessionServices,
) -> Result<PathBuf, DomainError> {
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
