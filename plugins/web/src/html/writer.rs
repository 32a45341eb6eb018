//! Text as it is laid out: white space collapsed, empty lines between blocks, lists, quotes and
//! code set off.

/// Deepest list or quote that is set in further.
const DEEPEST: usize = 8;

/// The output so far, and what comes before the next character.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    /// Line ends to come before the next character.
    lines: usize,
    /// A blank to come before the next character.
    blank: bool,
    /// The open lists, with the next number of numbered ones.
    lists: Vec<Option<u32>>,
    quotes: usize,
    /// The marker of the item that begins.
    marker: Option<String>,
    code: Code,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Code {
    #[default]
    None,
    /// A line end directly after the beginning is not part of the code.
    Begun,
    Inside,
}

impl Writer {
    /// Running text.
    pub(super) fn text(&mut self, text: &str) {
        if self.code != Code::None {
            return self.code(text);
        }
        for character in text.chars() {
            match character {
                '\u{A0}' => self.blank = true,
                '\u{AD}' | '\u{200B}' | '\u{FEFF}' => {}
                space if space.is_whitespace() => self.blank = true,
                control if control.is_control() => {}
                other => {
                    self.begin();
                    self.out.push(other);
                }
            }
        }
    }

    /// Characters of ours, which a blank before them does not part from what follows.
    pub(super) fn mark(&mut self, mark: &str) {
        self.begin();
        self.out.push_str(mark);
    }

    /// A mark directly behind what was written.
    pub(super) fn append(&mut self, mark: &str) {
        self.out.push_str(mark);
    }

    /// A blank before what follows.
    pub(super) fn space(&mut self) {
        self.blank = true;
    }

    /// At least `count` line ends before what follows.
    pub(super) fn lines(&mut self, count: usize) {
        if self.code == Code::None {
            self.lines = self.lines.max(count);
        }
    }

    /// One more line end, up to an empty line.
    pub(super) fn line_break(&mut self) {
        if self.code == Code::None {
            self.lines = (self.lines + 1).min(2);
        } else {
            self.code("\n");
        }
    }

    /// A list begins; numbered ones with their first number.
    pub(super) fn open_list(&mut self, first: Option<u32>) {
        self.lines(if self.lists.is_empty() { 2 } else { 1 });
        self.lists.push(first);
    }

    pub(super) fn close_list(&mut self) {
        self.marker = None;
        self.lists.pop();
        self.lines(if self.lists.is_empty() { 2 } else { 1 });
    }

    /// An item of the list that is open; outside of lists it is one of bullets.
    pub(super) fn item(&mut self) {
        self.lines(1);
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "- ".to_owned(),
        };
        self.marker = Some(marker);
    }

    pub(super) fn open_quote(&mut self) {
        self.lines(2);
        self.quotes += 1;
    }

    pub(super) fn close_quote(&mut self) {
        self.lines(2);
        self.quotes = self.quotes.saturating_sub(1);
    }

    pub(super) fn open_code(&mut self) {
        if self.code != Code::None {
            return;
        }
        self.lines(2);
        self.mark("```");
        self.lines = 1;
        self.code = Code::Begun;
    }

    pub(super) fn close_code(&mut self) {
        if self.code == Code::None {
            return;
        }
        self.code = Code::None;
        self.lines = 1;
        self.mark("```");
        self.lines(2);
    }

    /// The tick before (`opens`) or behind code in running text.
    pub(super) fn tick(&mut self, opens: bool) {
        if self.code != Code::None {
            return;
        }
        if opens {
            self.mark("`");
        } else {
            self.append("`");
        }
    }

    /// How much is written.
    pub(super) fn position(&self) -> usize {
        self.out.len()
    }

    /// What was written from `position` on.
    pub(super) fn since(&self, position: usize) -> &str {
        self.out.get(position..).unwrap_or_default()
    }

    pub(super) fn finish(mut self) -> String {
        self.close_code();
        self.out
    }

    /// Writes what comes before the next character.
    fn begin(&mut self) {
        if self.out.is_empty() {
            self.prefix();
        } else if self.lines > 0 {
            self.end_lines();
        } else if self.blank && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        self.lines = 0;
        self.blank = false;
    }

    fn end_lines(&mut self) {
        for _ in 0..self.lines {
            self.out.push('\n');
        }
        self.prefix();
    }

    /// What a line begins with.
    fn prefix(&mut self) {
        for _ in 0..self.quotes.min(DEEPEST) {
            self.out.push_str("> ");
        }
        let depth = self.lists.len().min(DEEPEST);
        match self.marker.take() {
            Some(marker) => {
                self.out.push_str(&"  ".repeat(depth.saturating_sub(1)));
                self.out.push_str(&marker);
            }
            None => self.out.push_str(&"  ".repeat(depth)),
        }
    }

    fn code(&mut self, text: &str) {
        for character in text.chars() {
            if character == '\n' && self.code == Code::Begun {
                self.code = Code::Inside;
                continue;
            }
            self.code = Code::Inside;
            match character {
                '\n' => self.lines += 1,
                '\r' => {}
                other => {
                    if self.lines > 0 {
                        self.end_lines();
                        self.lines = 0;
                    }
                    self.out.push(other);
                }
            }
        }
    }
}
