//! Output meant for a terminal, as plain text: what would still be read there in the end.

/// Plain text of `bytes`: escape sequences and control characters are gone, a line that was
/// written over after a carriage return stands in its last form, and what is not UTF-8 is U+FFFD.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader {
        text: &text,
        position: 0,
        endless_from: None,
    };
    let mut screen = Screen::default();
    while let Some(character) = reader.next() {
        match character {
            '\u{1B}' => reader.skip_escape(&mut screen),
            '\u{9B}' => reader.skip_control_sequence(&mut screen),
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => reader.skip_control_string(),
            other => screen.write(other),
        }
    }
    screen.text
}

#[derive(Default)]
struct Screen {
    text: String,
    /// Where the current line begins.
    line: usize,
    /// The next character writes over the current line.
    returned: bool,
}

struct Reader<'a> {
    text: &'a str,
    position: usize,
    /// From here to the end of its line no control string ends: looked for once, not again for
    /// every sequence that begins in it.
    endless_from: Option<(usize, usize)>,
}

impl Screen {
    fn write(&mut self, character: char) {
        match character {
            '\n' => {
                self.text.push('\n');
                self.line = self.text.len();
                self.returned = false;
            }
            '\r' => self.returned = true,
            '\u{8}' => {
                if self.text.len() > self.line {
                    self.text.pop();
                }
            }
            // Programs separate records with it; dropping it would join them.
            '\0' => self.put('\u{2400}'),
            '\t' => self.put('\t'),
            control if control.is_control() => {}
            other => self.put(other),
        }
    }

    fn put(&mut self, character: char) {
        if self.returned {
            self.erase_line();
        }
        self.text.push(character);
    }

    fn erase_line(&mut self) {
        self.text.truncate(self.line);
        self.returned = false;
    }
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.position..)?.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.position += character.len_utf8();
        Some(character)
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let from = self.position;
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
        from
    }

    /// What follows an escape character.
    fn skip_escape(&mut self, screen: &mut Screen) {
        match self.peek() {
            Some('[') => {
                self.next();
                self.skip_control_sequence(screen);
            }
            Some(']' | 'P' | 'X' | '^' | '_') => {
                self.next();
                self.skip_control_string();
            }
            Some(' '..='~') => {
                self.skip_while(|character| matches!(character, ' '..='/'));
                if matches!(self.peek(), Some('0'..='~')) {
                    self.next();
                }
            }
            _ => {}
        }
    }

    /// Parameters, intermediate characters and the final one. One that is cut short ends before
    /// the first character that cannot be part of it.
    fn skip_control_sequence(&mut self, screen: &mut Screen) {
        let from = self.skip_while(|character| matches!(character, '0'..='?'));
        let parameters = self.text.get(from..self.position).unwrap_or_default();
        self.skip_while(|character| matches!(character, ' '..='/'));
        if let Some(end @ '@'..='~') = self.peek() {
            self.next();
            let to_the_end = matches!(parameters, "" | "0");
            if end == 'K' && (parameters == "2" || (to_the_end && screen.returned)) {
                screen.erase_line();
            }
        }
    }

    /// A string up to its terminator in the same line. One that is not terminated there must not
    /// swallow the output: only its introducer goes.
    fn skip_control_string(&mut self) {
        if self
            .endless_from
            .is_some_and(|(from, to)| (from..to).contains(&self.position))
        {
            return;
        }
        let rest = self.text.get(self.position..).unwrap_or_default();
        let mut line = rest.len();
        for (place, character) in rest.char_indices() {
            match character {
                '\u{7}' | '\u{9C}' => {
                    self.position += place + character.len_utf8();
                    return;
                }
                // The terminator, or the beginning of another sequence.
                '\u{1B}' => {
                    let terminated = rest
                        .get(place + 1..)
                        .is_some_and(|rest| rest.starts_with('\\'));
                    self.position += if terminated { place + 2 } else { place };
                    return;
                }
                '\n' => {
                    line = place;
                    break;
                }
                _ => {}
            }
        }
        self.endless_from = Some((self.position, self.position + line));
    }
}
