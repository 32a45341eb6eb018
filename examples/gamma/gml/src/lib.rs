//! Decks in GML: what is wrong with one, what it looks like, and changes of its texts. Pure: where
//! images come from is the caller's.
#![forbid(unsafe_code)]

mod check;
mod edit;
mod image;
mod page;
mod rules;

pub use check::{Problem, Severity};
pub use edit::{Edit, Part, cards};
pub use image::Images;

use roxmltree::Document;

/// What is wrong with the deck `text`, in the order of the file. What is no XML is one error.
pub fn check(text: &str, images: &dyn Images) -> Vec<Problem> {
    match Document::parse(text) {
        Ok(document) => check::problems(&document, images),
        Err(error) => vec![Problem {
            at: error.pos(),
            severity: Severity::Error,
            message: error.to_string(),
        }],
    }
}

/// The deck `text`, which has no errors, as one HTML page that needs nothing else.
///
/// # Errors
///
/// It is no XML, or an image cannot be read.
pub fn render(text: &str, images: &dyn Images) -> Result<String, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    page::render(&document, images)
}
