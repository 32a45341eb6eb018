//! Standard plugin `todo`: the task list, over the `tasks` import. What the model sees of it, and
//! what it costs, stands in README.md.

pub mod change;

use raddle_sdk::sections::Section;
use raddle_sdk::tasks::{self, TaskList};
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{Context, Environment, Error, Fact, arguments, include_prompt};

use crate::change::{Arguments, shown};

/// Order of the section `tasks`.
const ORDER: i32 = 240;

/// The plugin.
pub struct Todo;

raddle_sdk::export!(Todo: sections, tools);

impl raddle_sdk::sections::Guest for Todo {
    fn offer(_environment: Environment) -> Result<Vec<Section>, Error> {
        let section = Section::fixed("tasks", ORDER, include_prompt!("tasks.md"));
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::tools::Guest for Todo {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(vec![tool()])
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let arguments: Arguments = arguments(&invocation.call)?;
        let list = tasks::read()?;
        let list = match arguments.applied(&list)? {
            Some(changed) => replace(&list, changed)?,
            None => list,
        };
        Ok(Outcome::Done(Reply::text(shown(&list))))
    }
}

/// The tool.
pub fn tool() -> Tool {
    Tool {
        name: "todo".to_owned(),
        description: include_prompt!("tool.md").to_owned(),
        parameters: include_prompt!("parameters.json").to_owned(),
        guidance: None,
        hints: vec![
            Fact::new("title", "Update the tasks"),
            Fact::new("kind", "other"),
            // It changes nothing but the session's own list.
            Fact::new("read-only", "true"),
            Fact::new("protocol", "true"),
            // People see the list itself.
            Fact::new("display", "false"),
        ],
    }
}

/// The changed list; a refusal shows the list as it is, so that the model can correct itself.
fn replace(list: &TaskList, changed: Vec<tasks::Task>) -> Result<TaskList, Error> {
    tasks::replace(list.revision, &changed).map_err(|error| {
        let now = tasks::read().unwrap_or_else(|_| list.clone());
        change::refused(error, &now)
    })
}
