//! A guest of the tests: a tool that panics when it is told to.

use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments};
use serde::Deserialize;

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: tools);

#[derive(Deserialize)]
struct Arguments {
    fail: bool,
}

impl raddle_sdk::tools::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![Tool {
            name: "fickle".to_owned(),
            description: "Works, or does not.".to_owned(),
            parameters: r#"{"type": "object", "required": ["fail"],
                "properties": {"fail": {"type": "boolean"}}}"#
                .to_owned(),
            guidance: None,
            hints: vec![Fact::new("read-only", "true")],
        }])
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let Arguments { fail } = arguments(&invocation.call)?;
        assert!(!fail, "as it was told");
        Ok(Outcome::Done(Reply::text("worked")))
    }
}
