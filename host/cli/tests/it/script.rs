//! A recording, made step by step.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// What the model says.
#[derive(Default)]
pub(crate) struct Script(String);

impl Script {
    /// A recording that begins with what the user says.
    pub(crate) fn of(message: &str) -> Self {
        Self::of_all(&[message])
    }

    /// The same with several messages, one after the other.
    pub(crate) fn of_all(messages: &[&str]) -> Self {
        let head = json!({"recording": 1, "message": messages});
        Self(format!("{head}\n"))
    }

    /// The recording.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// An answer; each of `holds` is a place in the request and what must stand there.
    pub(crate) fn step(&mut self, key: &str, chunks: &[Value], holds: &[(&str, &str)]) {
        let expect: Vec<Value> = holds
            .iter()
            .map(|(pointer, text)| json!({"pointer": pointer, "contains": text}))
            .collect();
        let step = json!({"key": key, "chunks": chunks, "expect": expect});
        let _ = writeln!(self.0, "{step}");
    }

    pub(crate) fn call(
        &mut self,
        key: &str,
        calls: &[(&str, &str, Value)],
        holds: &[(&str, &str)],
    ) {
        let calls = calls.iter().map(|(id, name, arguments)| {
            json!({"call": {"id": id, "name": name, "arguments": arguments}})
        });
        let chunks: Vec<Value> = calls.chain([json!({"finish": "toolCalls"})]).collect();
        self.step(key, &chunks, holds);
    }

    pub(crate) fn say(&mut self, key: &str, text: &str, holds: &[(&str, &str)]) {
        self.step(
            key,
            &[json!({"text": text}), json!({"finish": "stop"})],
            holds,
        );
    }
}
