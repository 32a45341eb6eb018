//! HTML as readable text: headings, paragraphs, lists, tables, quotes, code and links stay
//! recognisable; scripts, styles and everything else that is not read on a page is gone.

mod entity;
mod token;
mod writer;

use crate::address::{Address, BadAddress};
use token::{Tag, Token, Tokens};
use writer::Writer;

/// A page's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title, empty if it has none.
    pub title: String,
    /// Its text, in a plain form of Markdown.
    pub text: String,
}

/// Elements whose whole content is not text of the page.
const SKIPPED: [&str; 6] = ["svg", "math", "template", "object", "canvas", "audio"];

/// The text of `html`, which was found at `address`.
pub fn to_text(html: &str, address: &Address) -> Page {
    let mut renderer = Renderer {
        base: address.clone(),
        title: String::new(),
        writer: Writer::default(),
        link: None,
        skipping: None,
        cells: 0,
    };
    let mut tokens = Tokens::new(html);
    while let Some(token) = tokens.next() {
        match token {
            Token::Text(text) => renderer.text(&text),
            Token::Title(title) => renderer.title(&title),
            Token::Open(tag) => renderer.open(&tag),
            Token::Close(name) => renderer.close(&name),
        }
    }
    renderer.end_link();
    Page {
        title: renderer.title,
        text: renderer.writer.finish(),
    }
}

struct Renderer {
    base: Address,
    title: String,
    writer: Writer,
    link: Option<Link>,
    /// The skipped element that is open, and how often inside itself.
    skipping: Option<(String, usize)>,
    /// Cells of the current row so far.
    cells: usize,
}

/// An open link: where it leads, and where its text begins in the output.
struct Link {
    target: String,
    start: usize,
}

impl Renderer {
    fn text(&mut self, text: &str) {
        if self.skipping.is_none() {
            self.writer.text(text);
        }
    }

    fn title(&mut self, title: &str) {
        if self.title.is_empty() && self.skipping.is_none() {
            let words: Vec<&str> = title.split_whitespace().collect();
            self.title = words.join(" ");
        }
    }

    fn open(&mut self, tag: &Tag) {
        let name = tag.name.as_str();
        if let Some((skipped, depth)) = &mut self.skipping {
            *depth += usize::from(skipped == name && !tag.closed);
            return;
        }
        if SKIPPED.contains(&name) {
            if !tag.closed {
                self.skipping = Some((name.to_owned(), 1));
            }
            return;
        }
        match name {
            "a" => {
                self.end_link();
                if let Some(target) = tag.attribute("href").and_then(|href| self.target(href)) {
                    let start = self.writer.position();
                    self.link = Some(Link { target, start });
                }
            }
            "base" => {
                if let Some(Ok(base)) = tag.attribute("href").map(|href| self.base.join(href)) {
                    self.base = base;
                }
            }
            "br" => self.writer.line_break(),
            "hr" => {
                self.writer.lines(2);
                self.writer.mark("---");
                self.writer.lines(2);
            }
            "img" => {
                let alt = tag.attribute("alt").unwrap_or_default().trim();
                if !alt.is_empty() {
                    self.writer.text(&format!("[image: {alt}]"));
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.writer.lines(2);
                let level = name
                    .as_bytes()
                    .get(1)
                    .map_or(1, |digit| usize::from(digit - b'0'));
                self.writer.mark(&"#".repeat(level));
                self.writer.space();
            }
            "ul" | "menu" => self.writer.open_list(None),
            "ol" => {
                let start = tag.attribute("start").and_then(|start| start.parse().ok());
                self.writer.open_list(Some(start.unwrap_or(1)));
            }
            "li" => self.writer.item(),
            "blockquote" => self.writer.open_quote(),
            "pre" => self.writer.open_code(),
            "code" | "kbd" | "samp" | "tt" => self.writer.tick(true),
            "tr" => {
                self.writer.lines(1);
                self.cells = 0;
            }
            "td" | "th" => {
                if self.cells > 0 {
                    self.writer.space();
                    self.writer.mark("|");
                    self.writer.space();
                }
                self.cells += 1;
            }
            _ => self.writer.lines(lines_around(name)),
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipping {
            if skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipping = None;
                }
            }
            return;
        }
        match name {
            "a" => self.end_link(),
            "ul" | "ol" | "menu" => self.writer.close_list(),
            "blockquote" => self.writer.close_quote(),
            "pre" => self.writer.close_code(),
            "code" | "kbd" | "samp" | "tt" => self.writer.tick(false),
            "li" | "tr" => self.writer.lines(1),
            _ => self.writer.lines(lines_around(name)),
        }
    }

    /// Puts the target behind the text of the link that is open. A link without text, or whose
    /// text is its target, needs none.
    fn end_link(&mut self) {
        let Some(link) = self.link.take() else {
            return;
        };
        let text = self.writer.since(link.start).trim();
        let bare = |target: &str| {
            let target = target.trim_end_matches('/');
            target
                .split_once("://")
                .map_or(target, |(_, rest)| rest)
                .to_owned()
        };
        if !text.is_empty() && bare(text) != bare(&link.target) {
            self.writer.append(&format!(" ({})", link.target));
        }
    }

    /// Where a link leads, if that is elsewhere.
    fn target(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        match self.base.join(href) {
            Ok(address) => Some(address.to_string()),
            Err(BadAddress::Scheme(scheme)) if scheme.eq_ignore_ascii_case("mailto") => {
                Some(href.to_owned())
            }
            Err(_) => None,
        }
    }
}

/// Line ends before and after an element: two make an empty line.
fn lines_around(name: &str) -> usize {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "table" | "figure" | "dl" | "fieldset"
        | "article" | "section" | "main" => 2,
        "address" | "aside" | "body" | "caption" | "dd" | "details" | "dialog" | "div" | "dt"
        | "figcaption" | "footer" | "form" | "header" | "html" | "legend" | "nav" | "option"
        | "summary" | "tbody" | "tfoot" | "thead" => 1,
        _ => 0,
    }
}
