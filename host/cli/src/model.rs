//! The deployment's model, or a recording in its place.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use raddle_core::provider::Provider;
use raddle_model::{ProviderKind, ProviderSettings, Recording, Secret};

use crate::config::{self, Config, Model};
use crate::failure::Failure;
use crate::files;
use crate::report::Finding;

/// The variable that holds the key when the config names none.
const DEFAULT_KEY: &str = "OPENAI_API_KEY";

/// A way to a model.
pub(crate) struct Link {
    provider: Arc<dyn Provider>,
    kind: &'static str,
    recording: Option<Arc<Recording>>,
    /// Why a recording answers although nobody asked for it.
    key_missing: Option<String>,
}

impl Link {
    /// The deployment's model; with `recording` that file in its place.
    pub(crate) fn open(config: &Config, recording: Option<&Path>) -> Result<Self, Failure> {
        if let Some(file) = recording {
            return Self::recorded(file, None);
        }
        let model = model(config)?;
        match (&model.provider, &model.recording) {
            (config::Provider::Replay, Some(file)) => Self::recorded(file, None),
            _ => Self::live(model),
        }
    }

    /// The same, but where the model's key is missing the recording that the deployment names
    /// answers, if it names one.
    pub(crate) fn open_or_recorded(
        config: &Config,
        recording: Option<&Path>,
    ) -> Result<Self, Failure> {
        if recording.is_none() {
            let model = model(config)?;
            if let (Some(file), Err(missing)) = (&model.recording, key(model)) {
                return Self::recorded(file, Some(missing));
            }
        }
        Self::open(config, recording)
    }

    /// What sends the requests.
    pub(crate) fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// The provider's kind, for the log.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// The recording that answers, if one does.
    pub(crate) fn recording(&self) -> Option<&Recording> {
        self.recording.as_deref()
    }

    /// How to set the key without which a recording answers.
    pub(crate) fn key_missing(&self) -> Option<&str> {
        self.key_missing.as_deref()
    }

    fn live(model: &Model) -> Result<Self, Failure> {
        let key = key(model).map_err(|missing| Failure::Unable(anyhow!("{missing}")))?;
        let mut settings = settings(model)?;
        settings.api_key = key.map(Secret::new);
        for (name, value) in &model.headers {
            let value = config::expand(value, environment).map_err(|variable| {
                Failure::Unable(anyhow!(
                    "header `{name}` needs the environment variable {variable}, which is not set"
                ))
            })?;
            settings.headers.push((name.clone(), value));
        }
        let provider = raddle_model::provider(settings).map_err(anyhow::Error::from)?;
        Ok(Self {
            provider,
            kind: model.provider.name(),
            recording: None,
            key_missing: None,
        })
    }

    fn recorded(file: &Path, key_missing: Option<String>) -> Result<Self, Failure> {
        let recording = Arc::new(recording(file)?);
        let kind = ProviderKind::Replay(Arc::clone(&recording));
        let settings = ProviderSettings::new(kind, || 0.0);
        let provider = raddle_model::provider(settings).map_err(anyhow::Error::from)?;
        Ok(Self {
            provider,
            kind: config::Provider::Replay.name(),
            recording: Some(recording),
            key_missing,
        })
    }
}

/// What is wrong with the recording of a deployment.
pub(crate) fn faults(config: &Config) -> Vec<Finding> {
    let file = config
        .model
        .as_ref()
        .and_then(|model| model.recording.as_ref());
    let fault = file.and_then(|file| recording(file).err());
    fault
        .map(|fault| config.finding(&["model", "recording"], fault.to_string()))
        .into_iter()
        .collect()
}

fn recording(file: &Path) -> Result<Recording, Failure> {
    let shown = config::shown(file);
    let bytes = files::read(file).map_err(|error| files::failure(&shown, &error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::bad(format!("{shown}: this is not UTF-8: save it as UTF-8")))?;
    Recording::parse(&shown, &text).map_err(|error| Failure::bad(error.to_string()))
}

/// Something that encodes requests as `kind` did, to compare with what was sent. It has no key
/// and sends nothing.
pub(crate) fn encoder(kind: &str, model: Option<&Model>) -> Result<Arc<dyn Provider>, Failure> {
    let known = config::Provider::NAMES
        .iter()
        .find(|(name, _)| *name == kind);
    let Some((_, kind)) = known else {
        return Err(Failure::Unable(anyhow!("there is no provider `{kind}`")));
    };
    let settings = match (kind, model) {
        (kind, Some(model)) if model.provider == *kind && *kind != config::Provider::Replay => {
            settings(model)?
        }
        (config::Provider::OpenaiChat, _) => {
            ProviderSettings::new(ProviderKind::OpenaiChat, || 0.0)
        }
        // A recording is asked exactly as this one is.
        _ => ProviderSettings::new(ProviderKind::OpenaiResponses, || 0.0),
    };
    let provider = raddle_model::provider(settings).map_err(anyhow::Error::from)?;
    Ok(provider)
}

fn settings(model: &Model) -> Result<ProviderSettings, Failure> {
    let kind = match model.provider {
        config::Provider::OpenaiResponses => ProviderKind::OpenaiResponses,
        config::Provider::OpenaiChat => ProviderKind::OpenaiChat,
        config::Provider::Replay => {
            return Err(Failure::bad("the `replay` provider reads a recording"));
        }
    };
    let mut settings = ProviderSettings::new(kind, jitter);
    settings.base_url.clone_from(&model.base_url);
    settings.developer_role = model.developer_role;
    if let Some(timeout) = model.connect_timeout {
        settings.connect_timeout = timeout;
    }
    if let Some(timeout) = model.idle_timeout {
        settings.idle_timeout = timeout;
    }
    Ok(settings)
}

fn model(config: &Config) -> Result<&Model, Failure> {
    config.model.as_ref().ok_or_else(|| {
        let message = "there is no [model]: write one with `provider` and `name`";
        Failure::Bad(vec![config.finding(&[], message)])
    })
}

/// The key, or how to set the one that is missing. A server of one's own may want none: where
/// the config names a `base_url` and no `api_key_env`, none is sent.
fn key(model: &Model) -> Result<Option<String>, String> {
    if model.provider == config::Provider::Replay {
        return Ok(None);
    }
    let name = match (&model.api_key_env, &model.base_url) {
        (Some(name), _) => name.as_str(),
        (None, None) => DEFAULT_KEY,
        (None, Some(_)) => return Ok(None),
    };
    match environment(name) {
        Some(key) if !key.trim().is_empty() => Ok(Some(key)),
        _ => Err(format!(
            "the key of the model is missing: set the environment variable {name}"
        )),
    }
}

/// The environment variables that a model's secrets are in: the key's, and those of headers.
pub(crate) fn secret_variables(model: Option<&Model>) -> Vec<String> {
    let key = model.and_then(|model| model.api_key_env.clone());
    let mut names = vec![key.unwrap_or_else(|| DEFAULT_KEY.to_owned())];
    let headers = model.into_iter().flat_map(|model| model.headers.values());
    for value in headers {
        // The config is good: what is looked up is all there is to know.
        let _ = config::expand(value, |name| {
            names.push(name.to_owned());
            Some(String::new())
        });
    }
    names
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A random number from 0 up to 1; without a source of randomness the middle.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |random| {
        f64::from(random) / (f64::from(u32::MAX) + 1.0)
    })
}
