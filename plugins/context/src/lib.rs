//! Standard plugin `context`: owns what the context entries mean that the host appends to a
//! conversation when a text changed that is shorter-lived than the session.

use raddle_sdk::sections::{self, Section};
use raddle_sdk::{Context, Environment, Error, include_prompt};

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: sections);

/// First of the protocol sections.
const ORDER: i32 = 200;

impl sections::Guest for Plugin {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let section = Section::fixed("context", ORDER, include_prompt!("context.md"));
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}
