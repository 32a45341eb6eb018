//! The harmless imports: `log`, `settings-host`, `session-state`, `progress`.

use std::sync::Arc;

use raddle_core::plugins::{DomainError, ErrorKind, Progress};

use super::State;
use crate::bindings::{log, progress, session_state, settings_host, types};
use crate::settings::Declared;

impl log::Host for State {
    fn write(
        &mut self,
        level: log::Level,
        message: String,
        fields: Vec<types::Fact>,
    ) -> wasmtime::Result<()> {
        let texts = fields
            .iter()
            .flat_map(|field| [field.name.len(), field.value.len()]);
        self.charge(message.len() + texts.sum::<usize>())?;
        let plugin = self.profile.id.as_str();
        let fields = Fields(&fields);
        match level {
            log::Level::Trace => tracing::trace!(target: "plugin", plugin, %fields, "{message}"),
            log::Level::Debug => tracing::debug!(target: "plugin", plugin, %fields, "{message}"),
            log::Level::Info => tracing::info!(target: "plugin", plugin, %fields, "{message}"),
            log::Level::Warning => tracing::warn!(target: "plugin", plugin, %fields, "{message}"),
            log::Level::Error => tracing::error!(target: "plugin", plugin, %fields, "{message}"),
        }
        Ok(())
    }
}

/// Fields of a log line, as `name=value` with values quoted.
struct Fields<'a>(&'a [types::Fact]);

impl std::fmt::Display for Fields<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, field) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(formatter, "{space}{}={:?}", field.name, field.value)?;
        }
        Ok(())
    }
}

impl settings_host::Host for State {
    fn read(&mut self) -> wasmtime::Result<String> {
        self.charge(self.profile.settings.len())?;
        Ok(self.profile.settings.clone())
    }

    async fn read_files(&mut self) -> wasmtime::Result<Result<Vec<types::File>, types::Error>> {
        let profile = Arc::clone(&self.profile);
        let read = move || {
            let declared = profile.files.get();
            declared.map_or(Ok(Vec::new()), Declared::read)
        };
        // A slow disk holds up nobody else.
        let files = tokio::task::spawn_blocking(read).await?.map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            DomainError::new(ErrorKind::Failed, "files", faults.join("; "))
        });
        if let Ok(files) = &files {
            self.charge(
                files
                    .iter()
                    .map(|file| file.path.len() + file.text.len())
                    .sum(),
            )?;
        }
        answer(files)
    }
}

impl session_state::Host for State {
    async fn get(&mut self, key: String) -> wasmtime::Result<Result<Option<String>, types::Error>> {
        self.charge(key.len())?;
        let value = match self.session() {
            Ok(session) => session.get_state(&self.profile.id, &key).await,
            Err(error) => Err(error),
        };
        if let Ok(Some(value)) = &value {
            self.charge(value.len())?;
        }
        answer(value)
    }

    async fn set(
        &mut self,
        key: String,
        value: String,
    ) -> wasmtime::Result<Result<(), types::Error>> {
        self.charge(key.len() + value.len())?;
        answer(match self.changed_session() {
            Ok(session) => session.set_state(&self.profile.id, &key, Some(value)).await,
            Err(error) => Err(error),
        })
    }

    async fn swap(
        &mut self,
        key: String,
        expected: Option<String>,
        value: String,
    ) -> wasmtime::Result<Result<bool, types::Error>> {
        self.charge(key.len() + value.len() + expected.as_ref().map_or(0, String::len))?;
        answer(match self.changed_session() {
            Ok(session) => {
                session
                    .swap_state(&self.profile.id, &key, expected, value)
                    .await
            }
            Err(error) => Err(error),
        })
    }

    async fn remove(&mut self, key: String) -> wasmtime::Result<Result<(), types::Error>> {
        self.charge(key.len())?;
        answer(match self.changed_session() {
            Ok(session) => session.set_state(&self.profile.id, &key, None).await,
            Err(error) => Err(error),
        })
    }

    async fn list_keys(
        &mut self,
        prefix: String,
    ) -> wasmtime::Result<Result<Vec<String>, types::Error>> {
        self.charge(prefix.len())?;
        let keys = match self.session() {
            Ok(session) => session.list_state(&self.profile.id, &prefix).await,
            Err(error) => Err(error),
        };
        if let Ok(keys) = &keys {
            self.charge(keys.iter().map(String::len).sum())?;
        }
        answer(keys)
    }
}

impl progress::Host for State {
    fn report(&mut self, message: String, percent: Option<u8>) -> wasmtime::Result<()> {
        self.charge(message.len())?;
        self.show(Progress::Report {
            message,
            percent: percent.map(|percent| percent.min(100)),
        });
        Ok(())
    }

    fn write(&mut self, chunk: String) -> wasmtime::Result<()> {
        self.charge(chunk.len())?;
        self.show(Progress::Output(chunk));
        Ok(())
    }

    fn say(&mut self, message: String) -> wasmtime::Result<()> {
        self.charge(message.len())?;
        self.show(Progress::Say(message));
        Ok(())
    }

    fn emit(&mut self, event: String, payload: String) -> wasmtime::Result<()> {
        self.charge(event.len() + payload.len())?;
        self.show(Progress::Emit { event, payload });
        Ok(())
    }
}

impl State {
    /// Shows progress to the calling session's people; without a session there are none.
    fn show(&self, progress: Progress) {
        if let Some(session) = &self.caller.session {
            session.progress(&self.profile.id, self.caller.call_id.as_deref(), progress);
        }
    }
}

/// A host's answer as the guest gets it.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the outer result is the one that ends the guest"
)]
pub(super) fn answer<T>(
    answer: Result<T, DomainError>,
) -> wasmtime::Result<Result<T, types::Error>> {
    Ok(answer.map_err(Into::into))
}
