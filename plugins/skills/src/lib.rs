//! Standard plugin `skills`: the catalog of skills, the rules for choosing among them, what loading
//! one means, and the tool that does it. What the model sees of it, and what it costs, stands in
//! README.md.

mod catalog;
mod load;

use raddle_sdk::sections::{self, Section};
use raddle_sdk::skills::{Loaded, Skill};
use raddle_sdk::tools::{Invocation, Outcome, Reply, Tool};
use raddle_sdk::types::File;
use raddle_sdk::{
    Context, Environment, Error, Fact, Lifetime, arguments, include_prompt, log, session_state,
    settings_files,
};
use raddle_skill_format::{Kind, Library, Manifest, SkillFile};
use serde::Deserialize;

pub use catalog::catalog;
pub use load::{Load, block};

/// The component.
pub struct Plugin;

raddle_sdk::export!(Plugin: sections, tools, skills, settings);

/// Order of the first section; the others follow it.
const ORDER: i32 = 220;

/// The bodies of the skills that the prompt variant preloads: after everything else that stays, so
/// that all variants share what stands before.
const PRELOADED: &str = "skills:preloaded";
const PRELOADED_ORDER: i32 = 890;

/// Name of the tool.
const TOOL: &str = "skill";

/// Key of an active skill in the session's state, before its name.
const ACTIVE: &str = "active/";

/// Its value where the skill stands in the prompt.
const STANDS: &str = "preloaded";

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

    fn render(name: String, context: Context) -> Result<Option<String>, Error> {
        if name != PRELOADED {
            let message = format!("section `{name}` is not computed");
            return Err(Error::not_found("section", message));
        }
        let names = preload(&context);
        if names.is_empty() {
            return Ok(None);
        }
        let files = settings_files()?;
        Load::preloaded(&library(&files), &names).map(|load| Some(load.text()))
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
        if session_state::get(&format!("{ACTIVE}{name}"))?.as_deref() == Some(STANDS) {
            let text = include_prompt!("preloaded.md").replace("NAME", &name);
            return Ok(Outcome::Done(Reply::text(text)));
        }
        let active = session_state::list_keys(ACTIVE)?;
        let active: Vec<&str> = active
            .iter()
            .filter_map(|key| key.strip_prefix(ACTIVE))
            .collect();
        // As they are now: a skill that was edited since is given as edited.
        let library = library(&settings_files()?);
        let mut load = Load::of(&library, &name, &beside, &active)?;
        load.leave_to_others(&library, &name, &beside, &active);
        for skill in load.skills() {
            session_state::set(&format!("{ACTIVE}{}", skill.manifest.name), "")?;
        }
        Ok(Outcome::Done(load.reply()?))
    }
}

impl raddle_sdk::skills::Guest for Plugin {
    fn offer(environment: Environment) -> Result<Vec<Skill>, Error> {
        let library = library(&environment.files);
        let skills = library.skills().map(|skill| Skill {
            name: skill.manifest.name.clone(),
            description: skill.manifest.description.clone(),
            workflow: skill.manifest.kind == Kind::Workflow,
            path: skill.path.clone(),
            metadata: metadata(&skill.manifest),
        });
        Ok(skills.collect())
    }

    fn load(names: Vec<String>, _context: Context) -> Result<Vec<Loaded>, Error> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let library = library(&settings_files()?);
        let load = Load::preloaded(&library, &names)?;
        for skill in load.skills() {
            session_state::set(&format!("{ACTIVE}{}", skill.manifest.name), STANDS)?;
        }
        Ok(load.loaded())
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
    let mut sections: Vec<Section> = (ORDER..).zip(texts).map(section).collect();
    let preloaded = Section::computed(PRELOADED, PRELOADED_ORDER, Lifetime::Session);
    sections.push(preloaded.verbatim());
    sections
}

/// Names of the skills that the prompt variant preloads.
fn preload(context: &Context) -> Vec<&str> {
    let facts = context.facts.iter();
    let names = facts.filter(|fact| fact.name == "preload");
    names.flat_map(|fact| fact.value.split(' ')).collect()
}

/// For whom and when a skill is offered by itself.
fn metadata(manifest: &Manifest) -> Vec<Fact> {
    let lists = [
        ("applies-to", &manifest.applies_to),
        ("keywords", &manifest.keywords),
    ];
    let lists = lists.into_iter().filter(|(_, words)| !words.is_empty());
    let lists = lists.map(|(name, words)| Fact::new(name, words.join(" ")));
    let priority = Fact::new("priority", manifest.priority.to_string());
    lists.chain([priority]).collect()
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
