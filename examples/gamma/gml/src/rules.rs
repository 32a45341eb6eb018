//! Which elements there are, and what each may hold.

/// What an element may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// These elements, and no text.
    Elements(&'static [&'static str]),
    /// Text with elements in it.
    Text,
    /// Text alone.
    Plain,
    /// Nothing.
    Empty,
}

/// An element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rule {
    /// Its attributes; those that are needed end with `!`.
    pub(crate) attributes: &'static [&'static str],
    /// What it may hold.
    pub(crate) content: Content,
}

/// The elements inside a text.
pub(crate) const INLINE: &[&str] = &["b", "i", "code", "a"];

const CARD: &[&str] = &[
    "heading", "text", "list", "quote", "image", "table", "columns", "code", "notes",
];

const COLUMN: &[&str] = &["text", "list", "quote", "image", "table", "code"];

/// The rule of an element that stands in a text or outside of one.
pub(crate) fn rule(name: &str, is_inline: bool) -> Option<Rule> {
    use Content::{Elements, Empty, Plain, Text};
    let (attributes, content): (&[&str], _) = match (name, is_inline) {
        ("b" | "i", true) => (&[], Text),
        ("code", true) => (&[], Plain),
        ("a", true) => (&["href!"], Text),
        (_, true) => return None,
        ("deck", _) => (&["title!", "theme", "lang"], Elements(&["card"])),
        ("card", _) => (&["id!", "layout"], Elements(CARD)),
        ("heading" | "text" | "item" | "cell" | "notes", _) => (&[], Text),
        ("list", _) => (&["ordered"], Elements(&["item"])),
        ("quote", _) => (&["by"], Text),
        ("image", _) => (&["src!", "alt!"], Empty),
        ("table", _) => (&[], Elements(&["row"])),
        ("row", _) => (&["head"], Elements(&["cell"])),
        ("columns", _) => (&[], Elements(&["column"])),
        ("column", _) => (&[], Elements(COLUMN)),
        ("code", _) => (&["lang"], Plain),
        _ => return None,
    };
    Some(Rule {
        attributes,
        content,
    })
}

/// What is wrong with the value of an attribute, if anything.
pub(crate) fn value_fault(element: &str, attribute: &str, value: &str) -> Option<&'static str> {
    let good = match (element, attribute) {
        ("deck", "theme") => matches!(value, "light" | "dark" | "paper"),
        ("deck" | "code", "lang") => {
            !value.is_empty()
                && value
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-+#_.".contains(c))
        }
        ("card", "id") => {
            value.starts_with(|c: char| c.is_ascii_lowercase())
                && value
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        }
        ("card", "layout") => matches!(value, "title" | "content" | "section"),
        ("list", "ordered") | ("row", "head") => matches!(value, "true" | "false"),
        ("a", "href") => ["http://", "https://", "mailto:"]
            .iter()
            .any(|start| value.starts_with(start)),
        _ => !value.trim().is_empty(),
    };
    if good {
        return None;
    }
    Some(match (element, attribute) {
        ("deck", "theme") => "it is one of light, dark, paper",
        ("card", "id") => "it begins with a small letter, then small letters, digits and hyphens",
        ("card", "layout") => "it is one of title, content, section",
        ("list", "ordered") | ("row", "head") => "it is true or false",
        ("a", "href") => "it begins with http://, https:// or mailto:",
        (_, "lang") => "it is the short name of a language",
        _ => "it is empty",
    })
}
