//! The prompt outside a run: what a first step would send now.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use raddle_core::plugins::{
    Caller, Context, DomainError, Fact, FilterTarget, FilteredRequest, Held, Progress,
    SessionServices,
};
use raddle_core::prompt::Assembly;
use raddle_core::surroundings::Surroundings as _;

use crate::config::Variant;
use crate::deployment::Deployment;
use crate::failure::Failure;
use crate::surroundings::Machine;

/// The id that stands for a session where there is none.
const PREVIEW: &str = "preview";

/// Assembles the first step of a session in `directory`.
pub(crate) async fn assemble(
    deployment: &Deployment,
    directory: &Path,
    variant: &Variant,
) -> Result<Assembly, Failure> {
    let (context, caller) = occasion(deployment, directory, variant);
    let mut prompt = deployment.prompt()?;
    prompt
        .assemble(&context, &caller)
        .await
        .map_err(|error| Failure::bad(error.to_string()))
}

/// The model that would answer it, as filters have it.
pub(crate) async fn answering(
    deployment: &Deployment,
    directory: &Path,
    variant: &Variant,
) -> Result<String, Failure> {
    let (context, caller) = occasion(deployment, directory, variant);
    let mut request = FilteredRequest {
        model: deployment.model().to_owned(),
        options: deployment.agent_settings("").options,
    };
    for (name, plugin) in deployment.registry.filters(FilterTarget::Request) {
        let edits = plugin.edit_request(name, &request, &context, &caller).await;
        let edits = edits.map_err(|error| Failure::bad(error.to_string()))?;
        edits.into_iter().for_each(|edit| request.apply(edit));
    }
    Ok(request.model)
}

fn occasion(deployment: &Deployment, directory: &Path, variant: &Variant) -> (Context, Caller) {
    let model = deployment.model();
    let context = Context {
        agent: deployment.agent.clone(),
        model: (!model.is_empty()).then(|| model.to_owned()),
        prompt_variant: Some(variant.name.clone()),
        session: Some(PREVIEW.to_owned()),
        cwd: Some(directory.display().to_string()),
        turn: Some(1),
        step: Some(1),
        now: Some(Machine.now()),
        facts: facts(directory, variant),
    };
    let caller = Caller {
        session: Some(Arc::new(Preview {
            directory: directory.to_path_buf(),
            state: Mutex::default(),
            held: Held::default(),
        })),
        ..Caller::default()
    };
    (context, caller)
}

fn facts(directory: &Path, variant: &Variant) -> Vec<Fact> {
    let fact = |name: &str, value| Fact {
        name: name.to_owned(),
        value,
    };
    let branch = Machine.branch(directory);
    let preload = variant.preload.join(" ");
    let preload = (!preload.is_empty()).then(|| fact("preload", preload));
    branch
        .map(|branch| fact("git-branch", branch))
        .into_iter()
        .chain([fact("platform", Machine.platform())])
        .chain(preload)
        .collect()
}

/// A session that is never kept.
struct Preview {
    directory: PathBuf,
    state: Mutex<BTreeMap<(String, String), String>>,
    held: Held,
}

impl Preview {
    fn state(&self) -> MutexGuard<'_, BTreeMap<(String, String), String>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionServices for Preview {
    fn directory(&self) -> Option<&Path> {
        Some(&self.directory)
    }

    fn held(&self) -> &Held {
        &self.held
    }

    fn get_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, DomainError>> {
        let key = (plugin.to_owned(), key.to_owned());
        ready(Ok(self.state().get(&key).cloned())).boxed()
    }

    fn set_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), DomainError>> {
        let key = (plugin.to_owned(), key.to_owned());
        match value {
            Some(value) => self.state().insert(key, value),
            None => self.state().remove(&key),
        };
        ready(Ok(())).boxed()
    }

    fn swap_state<'a>(
        &'a self,
        plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, DomainError>> {
        let key = (plugin.to_owned(), key.to_owned());
        let mut state = self.state();
        let holds = state.get(&key) == expected.as_ref();
        if holds {
            state.insert(key, value);
        }
        ready(Ok(holds)).boxed()
    }

    fn list_state<'a>(
        &'a self,
        plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, DomainError>> {
        let state = self.state();
        let keys = state.keys().filter(|(owner, _)| owner == plugin);
        let keys = keys.map(|(_, key)| key.clone());
        ready(Ok(keys.filter(|key| key.starts_with(prefix)).collect())).boxed()
    }

    fn progress(&self, _plugin: &str, _call_id: Option<&str>, _progress: Progress) {}
}
