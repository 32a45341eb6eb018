//! Everything the host itself writes where a model reads it: structure and error records, no
//! sentence that instructs (DESIGN §3). Snapshot-tested as a whole.

use serde_json::{Value, json};

/// The record a failed tool call is answered with: `{code, message}`.
pub fn error_record(code: &str, message: &str) -> String {
    json!({ "code": code, "message": message }).to_string()
}

/// The record for arguments that were not accepted: `{code, message, schema}`.
pub fn argument_error_record(code: &str, message: &str, schema: &Value) -> String {
    json!({ "code": code, "message": message, "schema": schema }).to_string()
}
