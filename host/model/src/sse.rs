//! Server-sent events, from bytes cut anywhere (WHATWG HTML, §9.2).

/// The longest line, and the longest event, that is taken: a last event repeats the whole answer,
/// and services echo the instructions in it.
pub(crate) const EVENT_LIMIT: usize = 16 << 20;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The `event` field; empty when there was none.
    pub(crate) name: String,
    /// The `data` lines, joined by line feeds. Bytes, so that text is decoded only whole.
    pub(crate) data: Vec<u8>,
}

/// A line or an event grew over [`EVENT_LIMIT`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Splits bytes into events. A line ends at LF, CR or CR LF; a byte order mark at the very start
/// is skipped.
#[derive(Default)]
pub(crate) struct EventReader {
    buffer: Vec<u8>,
    /// Where the current line starts in `buffer`.
    line: usize,
    /// How far `buffer` was searched for a line end.
    searched: usize,
    /// The last line ended with CR: an LF right after it belongs to that line end.
    after_return: bool,
    started: bool,
    name: String,
    data: Option<Vec<u8>>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl EventReader {
    /// Adds bytes as they came.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.line > 0 {
            self.buffer.drain(..self.line);
            self.searched -= self.line;
            self.line = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event, if it is already there.
    pub(crate) fn next_event(&mut self) -> Result<Option<Event>, TooLong> {
        if !self.started {
            if self.buffer.len() < BYTE_ORDER_MARK.len()
                && BYTE_ORDER_MARK.starts_with(&self.buffer)
            {
                return Ok(None);
            }
            self.started = true;
            if self.buffer.starts_with(BYTE_ORDER_MARK) {
                self.start_line(BYTE_ORDER_MARK.len());
            }
        }
        loop {
            if self.after_return && self.line < self.buffer.len() {
                self.after_return = false;
                if self.buffer[self.line] == b'\n' {
                    self.start_line(self.line + 1);
                }
            }
            let rest = &self.buffer[self.searched..];
            let Some(length) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.searched = self.buffer.len();
                if self.searched - self.line > EVENT_LIMIT {
                    return Err(TooLong);
                }
                return Ok(None);
            };
            let end = self.searched + length;
            let start = self.line;
            self.after_return = self.buffer[end] == b'\r';
            self.start_line(end + 1);
            if let Some(event) = self.take_line(start, end)? {
                return Ok(Some(event));
            }
        }
    }

    /// The event that the end of the stream cut short of its line end or blank line, if any.
    pub(crate) fn end(&mut self) -> Result<Option<Event>, TooLong> {
        let (start, end) = (self.line, self.buffer.len());
        self.start_line(end);
        if start < end {
            self.take_line(start, end)?;
        }
        self.take_line(end, end)
    }

    fn start_line(&mut self, at: usize) {
        self.line = at;
        self.searched = at;
    }

    fn take_line(&mut self, start: usize, end: usize) -> Result<Option<Event>, TooLong> {
        let line = &self.buffer[start..end];
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            return Ok(self.data.take().map(|data| Event { name, data }));
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                None => self.data = Some(value.to_vec()),
                Some(data) => {
                    if data.len() + value.len() >= EVENT_LIMIT {
                        return Err(TooLong);
                    }
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            b"event" => self.name = str::from_utf8(value).unwrap_or_default().to_owned(),
            // Comments (an empty field name), `id`, `retry` and whatever else.
            _ => {}
        }
        Ok(None)
    }
}
