//! A tool, its owner, and its name on the wire.

use std::sync::Arc;

use serde_json::Value;

use crate::plugins::Tool;
use crate::provider::ToolSchema;

/// The models' APIs take no longer names.
pub(super) const LONGEST_WIRE_NAME: usize = 64;

/// A tool and its owner.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    /// The tool as offered.
    pub tool: Tool,
    /// Id of the plugin that owns it.
    pub plugin: Arc<str>,
    /// As the model is told of it: its name is the one on the wire.
    pub schema: ToolSchema,
    arguments: Arc<jsonschema::Validator>,
}

/// A tool's name as the models' APIs take it: `.` becomes `__`. Applied to a name that is already
/// in that form it changes nothing, so either form finds the tool.
pub fn wire_name(tool: &str) -> String {
    tool.replace('.', "__")
}

impl ToolEntry {
    /// Takes a tool over; the error says why its parameters are no JSON schema of an object.
    pub(super) fn new(tool: Tool, plugin: Arc<str>) -> Result<Self, String> {
        let arguments = Arc::new(compile(&tool.parameters)?);
        let schema = ToolSchema {
            name: wire_name(&tool.name),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        };
        Ok(Self {
            tool,
            plugin,
            schema,
            arguments,
        })
    }

    /// What is wrong with `arguments` by the tool's schema, in one line; `None` if they fit.
    pub fn arguments_fault(&self, arguments: &Value) -> Option<String> {
        let faults: Vec<String> = self
            .arguments
            .iter_errors(arguments)
            .map(|error| {
                // The arguments themselves can be long, and whoever sent them knows them.
                let message = error.masked();
                match error.instance_path().as_str() {
                    "" => message.to_string(),
                    path => format!("{path}: {message}"),
                }
            })
            .collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

/// Whether the models' APIs would take every character of the name (a `.` is rewritten).
pub(super) fn is_tool_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

fn compile(parameters: &Value) -> Result<jsonschema::Validator, String> {
    let Some(schema) = parameters.as_object() else {
        return Err("it is not an object".to_owned());
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(r#"it does not say `"type": "object"`"#.to_owned());
    }
    jsonschema::validator_for(parameters).map_err(|error| match error.instance_path().as_str() {
        "" => error.to_string(),
        path => format!("{path}: {error}"),
    })
}
