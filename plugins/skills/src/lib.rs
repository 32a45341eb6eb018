//! Standard plugin `skills`: the catalog of skills, the rules for choosing among them, what loading
//! one means, and the tool that does it. What the model sees of it, and what it costs, stands in
//! README.md.

mod catalog;
mod load;

use raddle_sdk::sections::{self, Section};
use raddle_sdk::tools::{Invocation, Outcome, Tool};
use raddle_sdk::types::File;
use raddle_sdk::{
    Context, Environment, Error, Fact, arguments, include_prompt, log, session_state,
    settings_files,
};
use raddle_skill_format::{Library, SkillFile};
use serde::Deserialize;

pub use catalog::catalog;
pub use load::{Load, block};

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: sections, tools, settings);

/// Order of the first section; the others follow it.
const ORDER: i32 = 220;

/// Name of the tool.
const TOOL: &str = "skill";

/// Key of an active skill in the session's state, before its name.
const ACTIVE: &str = "active/";

/// Arguments of the tool.
#[derive(Deserialize)]
struct Arguments {
    name: String,
}

impl sections::Guest for Plugin {
    fn offer(environment: Environment) -> Result<Vec<Section>, Error> {
        let library = library(&environment.files);
        // Asked again because this plugin's own tool is there now, it has told already.
        let is_told = environment.tools.iter().any(|tool| tool.name == TOOL);
        for (path, finding) in library.findings().iter().filter(|_| !is_told) {
            let fields = [
                Fact::new("path", path),
                Fact::new("finding", finding.to_string()),
            ];
            log::write(log::Level::Warning, "skill", &fields);
        }
        Ok(contracts(&library))
    }

    fn render(name: String, _context: Context) -> Result<Option<String>, Error> {
        let message = format!("section `{name}` is not computed");
        Err(Error::not_found("section", message))
    }
}

impl raddle_sdk::tools::Guest for Plugin {
    fn offer(environment: Environment) -> Result<Vec<Tool>, Error> {
        Ok(tool(&library(&environment.files)).into_iter().collect())
    }

    fn call(invocation: Invocation, _context: Context) -> Result<Outcome, Error> {
        let Arguments { name } = arguments(&invocation.call)?;
        let beside = invocation.batch.iter().filter(|call| call.name == TOOL);
        let beside: Vec<String> = beside
            .filter_map(|call| arguments::<Arguments>(call).ok())
            .map(|arguments| arguments.name)
            .collect();
        let active = session_state::list_keys(ACTIVE)?;
        let active: Vec<&str> = active
            .iter()
            .filter_map(|key| key.strip_prefix(ACTIVE))
            .collect();
        // As they are now: a skill that was edited since is given as edited.
        let library = library(&settings_files()?);
        let load = Load::of(&library, &name, &beside, &active)?;
        for skill in load.skills() {
            session_state::set(&format!("{ACTIVE}{}", skill.manifest.name), "")?;
        }
        Ok(Outcome::Done(load.reply()?))
    }
}

impl raddle_sdk::settings::Guest for Plugin {
    fn describe() -> String {
        include_prompt!("settings.json").to_owned()
    }
}

/// The skills in the files of the setting `roots`.
pub fn library(files: &[File]) -> Library {
    let files = files.iter().filter_map(|file| {
        let root = file.setting.strip_prefix("/roots/")?;
        Some(SkillFile {
            root: root.parse().ok()?,
            path: &file.path,
            text: &file.text,
        })
    });
    Library::read(files)
}

/// The sections: the rules, the catalog and the contracts. Without a skill there is nothing to say.
pub fn contracts(library: &Library) -> Vec<Section> {
    if library.is_empty() {
        return Vec::new();
    }
    let texts = [
        ("skills", include_prompt!("skills.md").to_owned()),
        ("skills:catalog", catalog(library)),
        ("skills:workflow", include_prompt!("workflow.md").to_owned()),
        (
            "skills:reference",
            include_prompt!("reference.md").to_owned(),
        ),
    ];
    let section = |(order, (name, text))| Section::fixed(name, order, text).verbatim();
    (ORDER..).zip(texts).map(section).collect()
}

/// The tool, while there is a skill to load.
pub fn tool(library: &Library) -> Option<Tool> {
    (!library.is_empty()).then(|| Tool {
        name: TOOL.to_owned(),
        description: include_prompt!("tool.md").to_owned(),
        parameters: include_prompt!("parameters.json").to_owned(),
        guidance: None,
        hints: vec![
            Fact::new("title", "Load a skill"),
            Fact::new("kind", "read"),
            Fact::new("read-only", "true"),
            Fact::new("protocol", "true"),
        ],
    })
}
