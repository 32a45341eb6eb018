//! JSON that comes from outside, as typed values.

use serde::de::DeserializeOwned;

use crate::types::{Error, File, ToolCall};

/// The plugin's settings. The host has checked them against the schema of the `settings` export,
/// if there is one; a plugin that offers no schema gets what the deployment wrote.
///
/// # Errors
///
/// `invalid`, code `settings`, if they do not fit `T`.
pub fn settings<T: DeserializeOwned>() -> Result<T, Error> {
    parse("settings", &read_settings())
}

/// The files that the plugin's settings name, as they are now: for tool calls. Contributions have
/// them in their environment.
///
/// # Errors
///
/// `failed`, code `files`, if one of them is gone.
#[cfg(target_arch = "wasm32")]
pub fn settings_files() -> Result<Vec<File>, Error> {
    crate::__bindings::imports::raddle::plugin::settings_host::read_files()
}

/// The files that [`with_settings_files`](crate::testing::with_settings_files) set.
///
/// # Errors
///
/// None: these are there.
#[cfg(not(target_arch = "wasm32"))]
pub fn settings_files() -> Result<Vec<File>, Error> {
    Ok(crate::testing::current_files())
}

/// The arguments of a tool call. The host has checked them against the tool's schema.
///
/// # Errors
///
/// `invalid`, code `arguments`, if they do not fit `T`.
pub fn arguments<T: DeserializeOwned>(call: &ToolCall) -> Result<T, Error> {
    parse("arguments", &call.arguments)
}

fn parse<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, Error> {
    serde_json::from_str(json).map_err(|error| Error::invalid(what, format!("{what}: {error}")))
}

#[cfg(target_arch = "wasm32")]
fn read_settings() -> String {
    crate::__bindings::imports::raddle::plugin::settings_host::read()
}

#[cfg(not(target_arch = "wasm32"))]
fn read_settings() -> String {
    crate::testing::current_settings()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::{arguments, settings};
    use crate::testing::with_settings;
    use crate::types::{ErrorKind, ToolCall};

    #[derive(Debug, PartialEq, Deserialize)]
    struct Sample {
        name: String,
    }

    #[test]
    fn settings_are_typed_and_what_does_not_fit_is_named() {
        let sample = with_settings(r#"{"name":"x"}"#, settings::<Sample>);
        assert_eq!(
            sample,
            Ok(Sample {
                name: "x".to_owned()
            })
        );

        let Err(error) = with_settings("{}", settings::<Sample>) else {
            panic!("a missing key was accepted");
        };
        assert_eq!(
            (error.kind, error.code.as_str()),
            (ErrorKind::Invalid, "settings")
        );
        assert!(error.message.contains("`name`"), "{}", error.message);
    }

    #[test]
    fn arguments_are_those_of_the_call() {
        let call = ToolCall {
            id: "1".to_owned(),
            name: "sample".to_owned(),
            arguments: r#"{"name":"y"}"#.to_owned(),
        };
        assert_eq!(
            arguments::<Sample>(&call),
            Ok(Sample {
                name: "y".to_owned()
            })
        );
    }
}
