//! Standard plugin `toolbox`: tools that are loaded on demand. What the model sees of it, and what it
//! costs, stands in README.md.

use std::collections::BTreeMap;

use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt};
use serde::Deserialize;

/// The plugin.
pub struct Toolbox;

#[derive(Deserialize)]
struct Arguments {
    namespace: String,
}

raddle_sdk::export!(Toolbox: tools);

impl raddle_sdk::tools::Guest for Toolbox {
    fn offer(environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(tool(&environment).into_iter().collect())
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let Arguments { namespace } = arguments(&invocation.call)?;
        // The schema takes no other namespace than those that were offered.
        let text = include_prompt!("loaded.md").replace("NAMESPACE", &namespace);
        Ok(Outcome::Done(Reply {
            facts: vec![Fact::new("tools-loaded", &namespace)],
            ..Reply::text(text)
        }))
    }
}

/// The tool, while there is something to load.
pub fn tool(environment: &Environment) -> Option<Tool> {
    let namespaces = namespaces(environment);
    if namespaces.is_empty() {
        return None;
    }
    let mut description = include_prompt!("tool.md").to_owned();
    for (namespace, tools) in &namespaces {
        description.push_str(&format!("\n- {namespace}: {}", tools.join(", ")));
    }
    let names: Vec<String> = namespaces.keys().map(|name| format!("{name:?}")).collect();
    let parameters = format!(
        "{{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"namespace\"],\
         \"properties\":{{\"namespace\":{{\"enum\":[{}]}}}}}}",
        names.join(",")
    );
    Some(Tool {
        name: "load_tools".to_owned(),
        description,
        parameters,
        guidance: None,
        hints: vec![
            Fact::new("title", "Load tools"),
            Fact::new("kind", "other"),
            Fact::new("read-only", "true"),
            Fact::new("protocol", "true"),
        ],
    })
}

/// The deferred namespaces that have tools, each with their names in it.
fn namespaces(environment: &Environment) -> BTreeMap<&str, Vec<&str>> {
    let facts = environment.facts.iter();
    let deferred = facts.filter(|fact| fact.name == "deferred-tools");
    let deferred: Vec<&str> = deferred.flat_map(|fact| fact.value.split(' ')).collect();
    let mut namespaces: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for tool in &environment.tools {
        if let Some((namespace, name)) = tool.name.split_once('.')
            && deferred.contains(&namespace)
        {
            namespaces.entry(namespace).or_default().push(name);
        }
    }
    namespaces
}
