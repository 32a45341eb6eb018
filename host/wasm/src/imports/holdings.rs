//! What the granted imports hold open for one session: the folders, from the first call that uses
//! them to the session's end. So a program that puts something else at the path of a granted
//! folder changes nothing for later calls, of any plugin; and a session that has used none yet
//! holds none.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use raddle_core::plugins::DomainError;

use super::Profile;
use super::process::{Permissions, Processes};
use super::workspace::{Anchors, Folder, Workspace};

/// Kept in the session, for all plugins.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    anchors: Anchors,
    workspaces: ByPlugin<Workspace>,
    processes: ByPlugin<Arc<Processes>>,
}

/// With the [number](super::Profile::number) of the loading whose grants they are opened by.
type ByPlugin<T> = Mutex<BTreeMap<String, (u64, T)>>;

impl Holdings {
    /// The files of `plugin`; `granted` says which, if they are not open yet: the session's
    /// directory and the granted folders.
    pub(super) fn workspace(
        &self,
        plugin: &Profile,
        granted: impl FnOnce() -> Result<(PathBuf, Vec<Folder>), DomainError>,
    ) -> Result<Workspace, DomainError> {
        open_once(&self.workspaces, plugin, || {
            let (base, folders) = granted()?;
            Workspace::open(&self.anchors, &base, &folders)
        })
    }

    /// The programs of `plugin`; `granted` says what it may run, if that is not known yet.
    pub(super) fn processes(
        &self,
        plugin: &Profile,
        granted: impl FnOnce() -> Result<Permissions, DomainError>,
    ) -> Result<Arc<Processes>, DomainError> {
        open_once(&self.processes, plugin, || {
            Processes::open(&self.anchors, &granted()?).map(Arc::new)
        })
    }
}

fn open_once<T: Clone>(
    opened: &ByPlugin<T>,
    plugin: &Profile,
    open: impl FnOnce() -> Result<T, DomainError>,
) -> Result<T, DomainError> {
    let mut opened = opened.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((number, found)) = opened.get(&plugin.id)
        && *number == plugin.number
    {
        return Ok(found.clone());
    }
    let new = open()?;
    opened.insert(plugin.id.clone(), (plugin.number, new.clone()));
    Ok(new)
}
