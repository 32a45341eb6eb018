//! Everything that is wrong with a deck.

use std::collections::BTreeMap;
use std::fmt;

use roxmltree::{Document, Node, TextPos};

use crate::image::{self, Images};
use crate::rules::{Content, INLINE, rule, value_fault};

/// How deep elements may stand in each other: far more than a deck needs.
const DEEPEST: usize = 32;

/// What is hard to take in.
const LONGEST_HEADING: usize = 80;
const MOST_ITEMS: usize = 6;
const MOST_WORDS: usize = 75;

/// One thing that is wrong.
#[derive(Debug)]
pub struct Problem {
    pub(crate) at: TextPos,
    /// How much it matters.
    pub severity: Severity,
    pub(crate) message: String,
}

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The deck cannot be rendered.
    Error,
    /// A question whether it is meant so.
    Warning,
}

/// What is wrong, in the order of the file.
pub(crate) fn problems(document: &Document<'_>, images: &dyn Images) -> Vec<Problem> {
    let mut check = Check {
        document,
        images,
        ids: BTreeMap::new(),
        problems: Vec::new(),
    };
    let deck = document.root_element();
    if deck.tag_name().name() == "deck" {
        check.element(deck, false, 0);
    } else {
        check.error(deck, format!("the root is {}, not <deck>", shown(deck)));
    }
    check
        .problems
        .sort_by_key(|problem| (problem.at.row, problem.at.col));
    check.problems
}

struct Check<'a> {
    document: &'a Document<'a>,
    images: &'a dyn Images,
    /// The line of each card.
    ids: BTreeMap<String, u32>,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn element(&mut self, node: Node<'_, '_>, is_inline: bool, depth: usize) {
        let name = node.tag_name().name();
        let Some(rule) = rule(name, is_inline).filter(|_| node.tag_name().namespace().is_none())
        else {
            self.error(node, format!("there is no element {}", shown(node)));
            return;
        };
        if depth > DEEPEST {
            self.error(node, format!("{} stands too deep", shown(node)));
            return;
        }
        self.attributes(node, rule.attributes);
        self.content(node, rule.content, depth);
        match name {
            "deck" => self.deck(node),
            "card" => self.card(node),
            "list" => self.list(node),
            "table" => self.table(node),
            "row" => self.not_empty(node, "cell"),
            "columns" => self.columns(node),
            "image" => self.image(node),
            "heading" | "text" | "item" | "quote" | "code" if text(node).trim().is_empty() => {
                self.error(node, format!("{} has no text", shown(node)));
            }
            _ => {}
        }
        if name == "heading" {
            let length = text(node).trim().chars().count();
            if length > LONGEST_HEADING {
                let message = format!(
                    "the heading has {length} characters: more than {LONGEST_HEADING} are hard \
                     to take in"
                );
                self.warning(node, message);
            }
        }
    }

    fn attributes(&mut self, node: Node<'_, '_>, known: &[&str]) {
        let name = node.tag_name().name();
        for attribute in node.attributes() {
            let (key, value) = (attribute.name(), attribute.value());
            let is_known = known.iter().any(|known| known.trim_end_matches('!') == key);
            if !is_known || attribute.namespace().is_some() {
                self.error(node, format!("{} has no attribute {key}", shown(node)));
            } else if let Some(fault) = value_fault(name, key, value) {
                self.error(
                    node,
                    format!("{key} of {} is {value:?}: {fault}", shown(node)),
                );
            }
        }
        for needed in known.iter().filter_map(|known| known.strip_suffix('!')) {
            if node.attribute(needed).is_none() {
                self.error(node, format!("{} has no {needed}", shown(node)));
            }
        }
    }

    fn content(&mut self, node: Node<'_, '_>, content: Content, depth: usize) {
        for child in node.children() {
            if child.is_text() {
                let is_blank = child.text().unwrap_or_default().trim().is_empty();
                if !is_blank && !matches!(content, Content::Text | Content::Plain) {
                    self.error(child, format!("{} holds no text", shown(node)));
                }
                continue;
            }
            if !child.is_element() {
                continue;
            }
            let name = child.tag_name().name();
            let (fits, is_inline) = match content {
                Content::Elements(names) => (names.contains(&name), false),
                Content::Text => (INLINE.contains(&name), true),
                Content::Plain | Content::Empty => (false, false),
            };
            if fits {
                self.element(child, is_inline, depth + 1);
            } else if rule(name, false).or_else(|| rule(name, true)).is_none() {
                self.error(child, format!("there is no element {}", shown(child)));
            } else {
                self.error(
                    child,
                    format!("{} cannot stand in {}", shown(child), shown(node)),
                );
            }
        }
    }

    fn deck(&mut self, deck: Node<'_, '_>) {
        self.not_empty(deck, "card");
        let first = elements(deck).next();
        if let Some(card) = first.filter(|card| card.attribute("layout") != Some("title")) {
            self.warning(card, "the first card has not the layout title".to_owned());
        }
    }

    fn card(&mut self, card: Node<'_, '_>) {
        let name = |node: &Node<'_, '_>| node.tag_name().name().to_owned();
        let names: Vec<String> = elements(card).map(|child| name(&child)).collect();
        let count = |wanted: &str| names.iter().filter(|name| *name == wanted).count();
        if names.first().map(String::as_str) != Some("heading") {
            self.error(card, "a card begins with a <heading>".to_owned());
        }
        if count("heading") > 1 {
            self.error(card, "a card has one <heading>".to_owned());
        }
        if count("notes") > 1
            || count("notes") == 1 && names.last().map(String::as_str) != Some("notes")
        {
            self.error(
                card,
                "the <notes> of a card stand at its end, once".to_owned(),
            );
        }
        if let Some(id) = card.attribute("id") {
            let line = self.at(card).row;
            if let Some(first) = self.ids.get(id) {
                self.error(
                    card,
                    format!("the id {id:?} is that of the card in line {first}"),
                );
            } else {
                self.ids.insert(id.to_owned(), line);
            }
        }
        let shown_text = elements(card).filter(|child| child.tag_name().name() != "notes");
        let words: usize = shown_text.map(words).sum();
        if words > MOST_WORDS {
            self.warning(
                card,
                format!("the card has {words} words: more than {MOST_WORDS} are hard to take in"),
            );
        }
    }

    fn list(&mut self, list: Node<'_, '_>) {
        self.not_empty(list, "item");
        let items = elements(list).count();
        if items > MOST_ITEMS {
            self.warning(
                list,
                format!("the list has {items} items: more than {MOST_ITEMS} are hard to take in"),
            );
        }
    }

    fn table(&mut self, table: Node<'_, '_>) {
        self.not_empty(table, "row");
        let width = |row: Node<'_, '_>| elements(row).count();
        let first = elements(table).next().map_or(0, width);
        for row in elements(table) {
            let cells = width(row);
            if cells != first {
                self.error(
                    row,
                    format!("the row has {cells} cells, and the first has {first}"),
                );
            }
        }
    }

    fn columns(&mut self, columns: Node<'_, '_>) {
        let count = elements(columns).count();
        if !(2..=3).contains(&count) {
            self.error(
                columns,
                format!("<columns> holds {count} <column>: it holds two or three"),
            );
        }
        for column in elements(columns).filter(|column| elements(*column).next().is_none()) {
            self.error(column, "<column> is empty".to_owned());
        }
    }

    fn image(&mut self, image: Node<'_, '_>) {
        let src = image.attribute("src").filter(|src| !src.trim().is_empty());
        if let Some(Err(fault)) = src.map(|src| image::check(self.images, src)) {
            self.error(image, format!("src of <image>: {fault}"));
        }
    }

    fn not_empty(&mut self, node: Node<'_, '_>, child: &str) {
        if elements(node).next().is_none() {
            self.error(node, format!("{} holds no <{child}>", shown(node)));
        }
    }

    fn error(&mut self, node: Node<'_, '_>, message: String) {
        self.tell(node, Severity::Error, message);
    }

    fn warning(&mut self, node: Node<'_, '_>, message: String) {
        self.tell(node, Severity::Warning, message);
    }

    fn tell(&mut self, node: Node<'_, '_>, severity: Severity, message: String) {
        let at = self.at(node);
        self.problems.push(Problem {
            at,
            severity,
            message,
        });
    }

    fn at(&self, node: Node<'_, '_>) -> TextPos {
        self.document.text_pos_at(node.range().start)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let TextPos { row, col } = self.at;
        write!(formatter, "{row}:{col}: {severity}: {}", self.message)
    }
}

fn elements<'a, 'input>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(Node::is_element)
}

/// All text in an element.
fn text(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

fn words(node: Node<'_, '_>) -> usize {
    let texts = node.descendants().filter(Node::is_text);
    texts
        .filter_map(|node| node.text())
        .map(|text| text.split_whitespace().count())
        .sum()
}

fn shown(node: Node<'_, '_>) -> String {
    format!("<{}>", node.tag_name().name())
}
