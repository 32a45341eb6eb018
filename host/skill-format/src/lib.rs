//! Skills as files: what a `SKILL.md` says, which skills a set of folders holds, and which of them
//! go together. Notes are files of the same form. Pure: texts in, answers out, so that the plugin that offers skills and the command
//! that checks them read them alike.

#![forbid(unsafe_code)]

mod checklist;
mod finding;
mod front_matter;
mod library;
mod manifest;
mod note;
mod public;
mod scalar;
mod select;

pub use checklist::{Step, checklist};
pub use finding::{Finding, Severity};
pub use library::{Library, Refused, Skill, SkillFile, is_skill_file};
pub use manifest::{Document, Kind, Manifest, OUR_FIELDS, parse};
pub use note::{Authority, Note, note};
pub use public::is_invisible;
pub use select::{Refusal, cycles, required, resolve};
