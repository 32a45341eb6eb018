//! What people see and type.

mod input;
mod screen;
mod style;

pub(crate) use input::{Input, Line, TerminalAsker};
pub(crate) use screen::{JsonLines, Screen};
pub(crate) use style::{Style, harmless, shortened};
