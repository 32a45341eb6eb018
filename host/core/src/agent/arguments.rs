//! Arguments as models really send them, checked before a tool sees them.

use serde_json::{Map, Value};

use crate::registry::ToolEntry;

/// Arguments that were not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadArguments {
    /// `malformed-arguments` or `invalid-arguments`.
    pub(crate) code: &'static str,
    /// Where and why.
    pub(crate) message: String,
}

/// Parses and checks arguments. Nothing, white space and `null` count as `{}`;
/// nothing else is repaired or coerced.
pub(crate) fn check(tool: &ToolEntry, text: &str) -> Result<Value, BadArguments> {
    let malformed = |message| BadArguments {
        code: "malformed-arguments",
        message,
    };
    let value = match text.trim() {
        "" | "null" => Value::Object(Map::new()),
        text => serde_json::from_str(text)
            .map_err(|error| malformed(format!("the arguments are not JSON: {error}")))?,
    };
    if !value.is_object() {
        let message = "the arguments are JSON, but not an object".to_owned();
        return Err(malformed(message));
    }
    match tool.arguments_fault(&value) {
        None => Ok(value),
        Some(message) => Err(BadArguments {
            code: "invalid-arguments",
            message,
        }),
    }
}
