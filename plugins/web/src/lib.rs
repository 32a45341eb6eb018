//! Standard plugin `web`: a page as text, through `wasi:http`, from the hosts that are granted.
//! What the model sees of it, and what it costs, stands in README.md.

pub mod address;
pub mod charset;
pub mod fetch;
pub mod html;
mod http;
pub mod settings;

use raddle_sdk::tools::{Guidance, Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt};

use crate::http::WasiHttp;
use crate::settings::Settings;

/// Order of the section `tool:fetch`.
const GUIDANCE_ORDER: i32 = 110;

/// The plugin.
pub struct Web;

impl raddle_sdk::settings::Guest for Web {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

impl raddle_sdk::tools::Guest for Web {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![tool(&raddle_sdk::settings()?)])
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let settings: Settings = raddle_sdk::settings()?;
        let mut http = WasiHttp::within(settings.timeout_seconds);
        let answer = fetch::fetch(&mut http, &arguments(&invocation.call)?, &settings)?;
        Ok(Reply::text(answer.text)
            .with_details(&answer.details)
            .into())
    }
}

raddle_sdk::export!(Web: settings, tools);

/// The tool, under the name that `settings` give it.
pub fn tool(settings: &Settings) -> Tool {
    Tool {
        name: settings.tool.clone(),
        description: include_prompt!("tool.md").to_owned(),
        parameters: include_prompt!("parameters.json").to_owned(),
        guidance: Some(Guidance {
            order: GUIDANCE_ORDER,
            text: include_prompt!("guidance.md").replace("{tool}", &settings.tool),
        }),
        hints: vec![
            Fact::new("title", "Fetch a page"),
            Fact::new("kind", "fetch"),
            Fact::new("summary-argument", "url"),
        ],
    }
}
