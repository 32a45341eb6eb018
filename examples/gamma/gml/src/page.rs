//! A deck as one HTML page that needs nothing else.

use roxmltree::{Document, Node};

use crate::image::{self, Images};

const STYLE: &str = include_str!("page.css");

/// The page of a deck without errors.
///
/// # Errors
///
/// An image cannot be read any more.
pub(crate) fn render(document: &Document<'_>, images: &dyn Images) -> Result<String, String> {
    let deck = document.root_element();
    let attribute = |name| deck.attribute(name).map(escaped);
    let mut page = Page {
        images,
        html: String::new(),
    };
    page.html.push_str(&format!(
        "<!doctype html>\n<html lang=\"{}\" class=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src \
         data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"gml\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        attribute("lang").unwrap_or_else(|| "en".to_owned()),
        attribute("theme").unwrap_or_else(|| "light".to_owned()),
        attribute("title").unwrap_or_default(),
    ));
    for (index, card) in elements(deck).enumerate() {
        page.card(card, index == 0)?;
    }
    page.html.push_str("</body>\n</html>\n");
    Ok(page.html)
}

struct Page<'a> {
    images: &'a dyn Images,
    html: String,
}

impl Page<'_> {
    fn card(&mut self, card: Node<'_, '_>, is_first: bool) -> Result<(), String> {
        let id = escaped(card.attribute("id").unwrap_or_default());
        let layout = escaped(card.attribute("layout").unwrap_or("content"));
        self.html
            .push_str(&format!("<section class=\"card {layout}\" id=\"{id}\">\n"));
        for child in elements(card) {
            match child.tag_name().name() {
                // One first heading on the page, as readers of pages want it.
                "heading" if is_first => self.line("h1", child),
                "heading" => self.line("h2", child),
                "notes" => {
                    self.html.push_str("<aside class=\"notes\" hidden>");
                    self.text(child);
                    self.html.push_str("</aside>\n");
                }
                _ => self.block(child)?,
            }
        }
        self.html.push_str("</section>\n");
        Ok(())
    }

    fn block(&mut self, block: Node<'_, '_>) -> Result<(), String> {
        match block.tag_name().name() {
            "text" => self.line("p", block),
            "list" => {
                let tag = match block.attribute("ordered") {
                    Some("true") => "ol",
                    _ => "ul",
                };
                self.html.push_str(&format!("<{tag}>\n"));
                elements(block).for_each(|item| self.line("li", item));
                self.html.push_str(&format!("</{tag}>\n"));
            }
            "quote" => {
                self.html.push_str("<blockquote>");
                self.text(block);
                if let Some(by) = block.attribute("by") {
                    self.html
                        .push_str(&format!("<footer>{}</footer>", escaped(by)));
                }
                self.html.push_str("</blockquote>\n");
            }
            "image" => {
                let src = image::address(self.images, block.attribute("src").unwrap_or_default())?;
                let alt = escaped(block.attribute("alt").unwrap_or_default());
                self.html
                    .push_str(&format!("<img src=\"{src}\" alt=\"{alt}\">\n"));
            }
            "table" => {
                self.html.push_str("<table>\n");
                for row in elements(block) {
                    let tag = match row.attribute("head") {
                        Some("true") => "th",
                        _ => "td",
                    };
                    self.html.push_str("<tr>\n");
                    elements(row).for_each(|cell| self.line(tag, cell));
                    self.html.push_str("</tr>\n");
                }
                self.html.push_str("</table>\n");
            }
            "columns" => {
                self.html.push_str("<div class=\"columns\">\n");
                for column in elements(block) {
                    self.html.push_str("<div>\n");
                    for block in elements(column) {
                        self.block(block)?;
                    }
                    self.html.push_str("</div>\n");
                }
                self.html.push_str("</div>\n");
            }
            "code" => {
                let code = block.text().unwrap_or_default();
                let code = escaped(code.trim_start_matches('\n').trim_end());
                self.html
                    .push_str(&format!("<pre><code>{code}</code></pre>\n"));
            }
            _ => {}
        }
        Ok(())
    }

    fn line(&mut self, tag: &str, node: Node<'_, '_>) {
        self.html.push_str(&format!("<{tag}>"));
        self.text(node);
        self.html.push_str(&format!("</{tag}>\n"));
    }

    /// The text of an element with what stands in it, without white space at its ends.
    fn text(&mut self, node: Node<'_, '_>) {
        let start = self.html.len();
        self.inline(node);
        let text = self.html.split_off(start);
        self.html.push_str(text.trim());
    }

    fn inline(&mut self, node: Node<'_, '_>) {
        for child in node.children() {
            if let Some(text) = child.text().filter(|_| child.is_text()) {
                self.html.push_str(&escaped(text));
            }
            let tag = match child.tag_name().name() {
                "b" => "strong",
                "i" => "em",
                "code" => "code",
                "a" => "a",
                _ => continue,
            };
            let href = child
                .attribute("href")
                .map(|href| format!(" href=\"{}\"", escaped(href)));
            self.html
                .push_str(&format!("<{tag}{}>", href.unwrap_or_default()));
            self.inline(child);
            self.html.push_str(&format!("</{tag}>"));
        }
    }
}

fn elements<'a, 'input>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(Node::is_element)
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
