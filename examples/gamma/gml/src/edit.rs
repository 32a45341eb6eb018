//! Changes of a deck's texts that leave every other byte alone.

use std::ops::Range;

use roxmltree::{Document, Node};

use crate::page::escaped;

/// A text of a card that is to be another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The card's `id`.
    pub card: String,
    /// Which of its texts.
    pub part: Part,
    /// The words; nothing in them is markup.
    pub text: String,
}

/// A text of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Its heading.
    Heading,
    /// One of its `<text>` blocks, from 0.
    Text(usize),
}

impl Edit {
    /// The deck after the change.
    ///
    /// # Errors
    ///
    /// There is no such text, or it holds markup, which would be lost.
    pub fn apply(&self, deck: &str) -> Result<String, String> {
        let document = Document::parse(deck).map_err(|error| error.to_string())?;
        let card = document
            .root_element()
            .children()
            .find(|card| card.attribute("id") == Some(self.card.as_str()))
            .ok_or_else(|| format!("there is no card `{}`", self.card))?;
        let (name, index) = match self.part {
            Part::Heading => ("heading", 0),
            Part::Text(index) => ("text", index),
        };
        let mut parts = card.children().filter(|child| child.has_tag_name(name));
        let part = parts.nth(index);
        let part = part.ok_or_else(|| format!("card `{}` has no such text", self.card))?;
        if part.children().any(|child| !child.is_text()) {
            return Err(format!("this text of card `{}` holds markup", self.card));
        }
        let inside = inside(deck, part)?;
        let text = escaped(self.text.trim());
        Ok(format!(
            "{}{text}{}",
            &deck[..inside.start],
            &deck[inside.end..]
        ))
    }
}

/// Id and heading of each card, in order.
pub fn cards(deck: &str) -> Vec<(String, String)> {
    let Ok(document) = Document::parse(deck) else {
        return Vec::new();
    };
    let cards = document.root_element().children().filter(Node::is_element);
    let named = cards.map(|card| {
        let heading = card.children().find(|child| child.has_tag_name("heading"));
        let words = heading.map(|heading| {
            let texts = heading.descendants().filter(Node::is_text);
            texts.filter_map(|text| text.text()).collect::<String>()
        });
        let words = words.unwrap_or_default();
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        (card.attribute("id").unwrap_or_default().to_owned(), words)
    });
    named.collect()
}

/// The bytes between an element's tags. One without a closing tag has none.
fn inside(deck: &str, node: Node<'_, '_>) -> Result<Range<usize>, String> {
    let range = node.range();
    let element = &deck[range.clone()];
    let none = || "this text has no closing tag".to_owned();
    if let (Some(first), Some(last)) = (node.first_child(), node.last_child()) {
        return Ok(first.range().start..last.range().end);
    }
    let open = element.find('>').ok_or_else(none)?;
    if element[..open].ends_with('/') {
        return Err(none());
    }
    Ok(range.start + open + 1..range.start + open + 1)
}
