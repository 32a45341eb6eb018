//! Standard plugin `knowledge`: notes for a scope, small pointers first. What the model sees of it,
//! and what it costs, stands in README.md.

pub mod notes;

use raddle_sdk::sections::Section;
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::{
    Context, Environment, Error, Fact, arguments, include_prompt, session_state, settings,
    settings_files,
};
use serde::Deserialize;

use notes::Notes;

/// Order of the section.
const ORDER: i32 = 270;

const READ: &str = "read_workspace_rule";
const DISCARD: &str = "discard_workspace_rule";

/// Key of a note that was pointed to or read, before its id; the value is its revision.
const TOLD: &str = "told/";

/// The plugin.
pub struct Knowledge;

/// What the deployment says about it.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Settings {
    /// Where the notes come from, as the model is told.
    pub source: Option<String>,
    /// A note of more bytes is given as a path.
    pub long_bytes: Option<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    knowledge_id: String,
}

raddle_sdk::export!(Knowledge: sections, tools, knowledge, settings);

impl raddle_sdk::sections::Guest for Knowledge {
    fn offer(environment: Environment) -> Result<Vec<Section>, Error> {
        let notes = Notes::read(&environment.files);
        for (path, finding) in notes.findings() {
            let fields = [Fact::new("path", path), Fact::new("finding", finding)];
            raddle_sdk::log::write(raddle_sdk::log::Level::Warning, "note", &fields);
        }
        let section = Section::fixed("knowledge", ORDER, include_prompt!("section.md"));
        Ok(vec![section.verbatim()])
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::knowledge::Guest for Knowledge {
    fn hint(recent: Vec<String>, _context: Context) -> Result<Option<String>, Error> {
        let settings: Settings = settings()?;
        // As they are now: notes come and go while a session lives.
        let files = settings_files()?;
        let notes = Notes::read(&files);
        let mut told = Vec::new();
        for note in notes.candidates(&recent) {
            let key = format!("{TOLD}{}", note.note.id);
            if session_state::get(&key)?.as_deref() != Some(note.revision) {
                session_state::set(&key, note.revision)?;
                told.push(note);
            }
        }
        Ok(notes::hints(
            &told,
            settings.source.as_deref().unwrap_or("workspace"),
        ))
    }
}

impl raddle_sdk::tools::Guest for Knowledge {
    fn offer(_environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(tools())
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let Arguments { knowledge_id: id } = arguments(&invocation.call)?;
        let files = settings_files()?;
        let notes = Notes::read(&files);
        let note = notes.find(&id)?;
        let reply = match invocation.call.name.as_str() {
            DISCARD => Reply {
                facts: vec![Fact::new("note-discarded", &id)],
                ..Reply::text(format!("`{id}` is out of force"))
            },
            _ => {
                session_state::set(&format!("{TOLD}{id}"), note.revision)?;
                note.reply(settings::<Settings>()?.long_bytes.unwrap_or(16_000))
            }
        };
        Ok(Outcome::Done(reply))
    }
}

impl raddle_sdk::settings::Guest for Knowledge {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

/// The tools.
pub fn tools() -> Vec<Tool> {
    let tool = |name: &str, title: &str, description: &str, parameters: &str| Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: parameters.to_owned(),
        guidance: None,
        hints: vec![
            Fact::new("title", title),
            Fact::new("kind", "read"),
            Fact::new("read-only", "true"),
            Fact::new("protocol", "true"),
        ],
    };
    vec![
        tool(
            READ,
            "Read a note",
            include_prompt!("read.md"),
            include_prompt!("read.json"),
        ),
        tool(
            DISCARD,
            "Discard a note",
            include_prompt!("discard.md"),
            include_prompt!("discard.json"),
        ),
    ]
}
