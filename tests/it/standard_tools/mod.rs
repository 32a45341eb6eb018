//! The standard tool plugins, as components in the real host: real files, real processes, pages
//! from a server on loopback.

mod bash;
mod files;
mod web;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt as _};
use raddle_core::message::ToolCall;
use raddle_core::plugins::{
    Caller, Context, DomainError, Fault, Held, Invocation, Outcome, Plugin, Progress,
    SessionServices,
};
use raddle_wasm::grants::{Access, Directory, Grants, HttpHost, ProcessGrant, WorkspaceGrant};
use raddle_wasm::{ComponentSource, Limits, PluginSpec, Runtime, RuntimeSettings};
use serde_json::Value;

/// A plugin, and a session in a folder of its own that calls it.
pub(crate) struct Bench {
    plugin: Arc<dyn Plugin>,
    session: Arc<Session>,
}

/// A session of one plugin.
struct Session {
    folder: tempfile::TempDir,
    state: Mutex<BTreeMap<String, String>>,
    output: Mutex<String>,
    held: Held,
}

impl Bench {
    /// Loads the standard plugin `name`, which must not have faults.
    pub(crate) async fn of(name: &str, settings: Value, grants: Grants, limits: Limits) -> Self {
        let components = raddle_tests::target_directory().join("components");
        let runtime = Runtime::new(&RuntimeSettings {
            cache_dir: Some(components.join("compiled")),
            ..RuntimeSettings::default()
        })
        .unwrap();
        let loaded = runtime
            .load(
                vec![PluginSpec {
                    id: name.to_owned(),
                    source: format!("std:{name}"),
                    component: ComponentSource::File(components.join(name).with_extension("wasm")),
                    digest: None,
                    settings,
                    directory: PathBuf::from("/"),
                    grants,
                    limits,
                }],
                &(),
            )
            .await;
        let faults: Vec<String> = loaded.faults.iter().map(ToString::to_string).collect();
        assert_eq!(faults, [""; 0]);
        Self {
            plugin: loaded.plugins.into_iter().next().unwrap(),
            session: Arc::new(Session {
                folder: tempfile::tempdir().unwrap(),
                state: Mutex::default(),
                output: Mutex::default(),
                held: Held::default(),
            }),
        }
    }

    pub(crate) fn plugin(&self) -> &Arc<dyn Plugin> {
        &self.plugin
    }

    /// A path in the session's folder.
    fn path(&self, path: &str) -> PathBuf {
        self.session.folder.path().join(path)
    }

    fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(path), bytes).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Calls a tool: the text of its result, or its error.
    async fn call(&self, tool: &str, arguments: Value) -> Result<String, DomainError> {
        let invocation = Invocation {
            call: ToolCall {
                id: "call".to_owned(),
                name: tool.to_owned(),
                arguments: arguments.to_string(),
            },
            batch: Vec::new(),
        };
        let context = Context {
            session: Some("session".to_owned()),
            cwd: self.path("").to_str().map(str::to_owned),
            ..Context::default()
        };
        let session: Arc<dyn SessionServices> = Arc::clone(&self.session) as _;
        let caller = Caller {
            session: Some(session),
            call_id: Some("call".to_owned()),
            child: None,
        };
        match self.plugin.call(&invocation, &context, &caller).await {
            Ok(Outcome::Done(reply)) => Ok(reply.text),
            Ok(other) => panic!("{other:?}"),
            Err(error) => match error.fault {
                Fault::Domain(error) => Err(error),
                fault => panic!("{fault}"),
            },
        }
    }
}

impl SessionServices for Session {
    fn directory(&self) -> Option<&Path> {
        Some(self.folder.path())
    }

    fn held(&self) -> &Held {
        &self.held
    }

    fn get_state<'a>(
        &'a self,
        _plugin: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, DomainError>> {
        async move { Ok(self.state.lock().unwrap().get(key).cloned()) }.boxed()
    }

    fn set_state<'a>(
        &'a self,
        _plugin: &'a str,
        key: &'a str,
        value: Option<String>,
    ) -> BoxFuture<'a, Result<(), DomainError>> {
        async move {
            let mut state = self.state.lock().unwrap();
            match value {
                Some(value) => state.insert(key.to_owned(), value),
                None => state.remove(key),
            };
            Ok(())
        }
        .boxed()
    }

    fn swap_state<'a>(
        &'a self,
        _plugin: &'a str,
        key: &'a str,
        expected: Option<String>,
        value: String,
    ) -> BoxFuture<'a, Result<bool, DomainError>> {
        async move {
            let mut state = self.state.lock().unwrap();
            let holds = state.get(key) == expected.as_ref();
            if holds {
                state.insert(key.to_owned(), value);
            }
            Ok(holds)
        }
        .boxed()
    }

    fn list_state<'a>(
        &'a self,
        _plugin: &'a str,
        prefix: &'a str,
    ) -> BoxFuture<'a, Result<Vec<String>, DomainError>> {
        async move {
            let state = self.state.lock().unwrap();
            let keys = state.keys().filter(|key| key.starts_with(prefix));
            Ok(keys.cloned().collect())
        }
        .boxed()
    }

    fn progress(&self, _plugin: &str, _call_id: Option<&str>, progress: Progress) {
        if let Progress::Output(piece) = progress {
            self.output.lock().unwrap().push_str(&piece);
        }
    }
}
