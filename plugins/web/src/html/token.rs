//! HTML as tokens. Every text has some; nothing is an error.

use super::entity;

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Text between tags, decoded.
    Text(String),
    /// Content of a `<title>`, decoded.
    Title(String),
    /// A start tag.
    Open(Tag),
    /// The lower-case name of an end tag.
    Close(String),
}

/// A start tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    /// It closes itself.
    pub(super) closed: bool,
    attributes: Vec<(String, String)>,
}

/// The tokens of a page, in order.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// The element whose end ends the text that comes now.
    raw: Option<String>,
}

impl Tag {
    /// The decoded value of an attribute (its name in lower case).
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }
}

impl<'a> Tokens<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self {
            rest: html,
            raw: None,
        }
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(name) = self.raw.take() {
                if let Some(token) = self.raw_text(&name) {
                    return Some(token);
                }
                continue;
            }
            let text = self.take(self.rest.find('<').unwrap_or(self.rest.len()));
            if !text.is_empty() {
                return Some(Token::Text(entity::decode(text, false)));
            }
            if let Some(token) = self.markup() {
                return Some(token);
            }
        }
    }

    /// Takes what begins with the `<` that comes now. Comments and declarations give nothing.
    fn markup(&mut self) -> Option<Token> {
        let rest = self.rest;
        if let Some(comment) = rest.strip_prefix("<!--") {
            let end = comment.find("-->").map_or(rest.len(), |end| end + 7);
            self.take(end);
            return None;
        }
        if let Some(data) = rest.strip_prefix("<![CDATA[") {
            let end = data.find("]]>").unwrap_or(data.len());
            self.take((end + 12).min(rest.len()));
            return data.get(..end).map(|text| Token::Text(text.to_owned()));
        }
        let second = rest.chars().nth(1);
        match second {
            Some('!' | '?') => {
                self.take(rest.find('>').map_or(rest.len(), |end| end + 1));
                None
            }
            Some('/') => {
                let end = rest.find('>').map_or(rest.len(), |end| end + 1);
                let name: String = self.take(end).chars().skip(2).take_while(is_name).collect();
                (!name.is_empty()).then(|| Token::Close(name.to_ascii_lowercase()))
            }
            Some(letter) if letter.is_ascii_alphabetic() => Some(self.start_tag()),
            // A `<` that begins nothing is text.
            _ => Some(Token::Text(self.take(1).to_owned())),
        }
    }

    fn start_tag(&mut self) -> Token {
        self.take(1);
        let name = self
            .take_while(|character| is_name(&character))
            .to_ascii_lowercase();
        let mut tag = Tag {
            name,
            closed: false,
            attributes: Vec::new(),
        };
        loop {
            self.take_while(char::is_whitespace);
            match self.rest.chars().next() {
                None => break,
                Some('>') => {
                    self.take(1);
                    break;
                }
                Some('/') => {
                    self.take(1);
                    tag.closed = self.rest.starts_with('>');
                }
                Some(_) => {
                    let attribute = self.attribute();
                    tag.attributes.push(attribute);
                }
            }
        }
        if matches!(
            tag.name.as_str(),
            "script" | "style" | "title" | "textarea" | "iframe" | "noembed" | "noframes" | "xmp"
        ) {
            self.raw = Some(tag.name.clone());
        }
        Token::Open(tag)
    }

    fn attribute(&mut self) -> (String, String) {
        let mut first = true;
        let name = self.take_while(|character| {
            // A stray `=` begins a name: without this the tag would have no end.
            let part = first || character != '=';
            first = false;
            part && !character.is_whitespace() && character != '>' && character != '/'
        });
        let name = name.to_ascii_lowercase();
        let before = self.rest;
        self.take_while(char::is_whitespace);
        if !self.rest.starts_with('=') {
            self.rest = before;
            return (name, String::new());
        }
        self.take(1);
        self.take_while(char::is_whitespace);
        let value = match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                self.take(1);
                let value = self.take(self.rest.find(quote).unwrap_or(self.rest.len()));
                self.take(self.rest.len().min(1));
                value
            }
            _ => self.take_while(|character| !character.is_whitespace() && character != '>'),
        };
        (name, entity::decode(value, true))
    }

    /// Content of an element that holds no tags, up to its end tag. Scripts, styles and frames
    /// give nothing.
    fn raw_text(&mut self, name: &str) -> Option<Token> {
        let end = self
            .rest
            .match_indices("</")
            .map(|(place, _)| place)
            .find(|place| {
                let after = self.rest.get(place + 2..).unwrap_or_default();
                after
                    .get(..name.len())
                    .is_some_and(|own| own.eq_ignore_ascii_case(name))
                    && !after
                        .chars()
                        .nth(name.len())
                        .is_some_and(|next| is_name(&next))
            })
            .unwrap_or(self.rest.len());
        let text = self.take(end);
        match name {
            "title" => Some(Token::Title(entity::decode(text, false))),
            "textarea" => Some(Token::Text(entity::decode(text, false))),
            "xmp" => Some(Token::Text(text.to_owned())),
            _ => None,
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !wanted(character));
        self.take(end.unwrap_or(self.rest.len()))
    }
}

fn is_name(character: &char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | ':')
}
