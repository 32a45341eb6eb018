//! What a command wrote, as the model sees it: text without terminal control, and not too long.

use crate::terminal;

/// What a command wrote, as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    /// The bytes kept.
    pub bytes: &'a [u8],
    /// Bytes that were left out between the first and the second half of `bytes`.
    pub omitted: u64,
}

impl Raw<'_> {
    /// The output as text: escape sequences removed, overwritten lines as they ended, what is over
    /// `limit` bytes cut from the middle with a note, binary output only named. It ends in a line
    /// end unless it is empty.
    pub fn shown(&self, limit: usize) -> String {
        if is_binary(self.bytes) {
            let total = self.bytes.len() as u64 + self.omitted;
            return format!("[binary output of {total} bytes, not shown]\n");
        }
        if self.omitted == 0 {
            let text = terminal::plain(self.bytes);
            if text.len() <= limit {
                return ended(text);
            }
            let (first, last) = (start(&text, limit / 2), end(&text, limit / 2));
            let left_out = text.len() - first.len() - last.len();
            return around(first, left_out as u64, last);
        }
        let (first, last) = self.bytes.split_at(self.bytes.len() / 2);
        let (first, last) = (whole_end(first), whole_start(last));
        let halved = self.bytes.len() - first.len() - last.len();
        let (first, last) = (terminal::plain(first), terminal::plain(last));
        let (shown_first, shown_last) = (start(&first, limit / 2), end(&last, limit / 2));
        let cut = first.len() - shown_first.len() + last.len() - shown_last.len();
        let left_out = self.omitted + (halved + cut) as u64;
        around(shown_first, left_out, shown_last)
    }
}

/// Bytes that are no text: more than a fifth of them control characters that no program writes
/// into text, or, where there are enough to judge by, more than three tenths not UTF-8.
fn is_binary(bytes: &[u8]) -> bool {
    const JUDGED: usize = 32;
    let control = bytes
        .iter()
        .filter(|byte| matches!(byte, 0x00..=0x06 | 0x0E..=0x1A | 0x1C..=0x1F))
        .count();
    let invalid: usize = bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum();
    control * 5 > bytes.len() || (bytes.len() >= JUDGED && invalid * 10 > bytes.len() * 3)
}

fn around(first: &str, left_out: u64, last: &str) -> String {
    let gap = if first.is_empty() || first.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    ended(format!("{first}{gap}[{left_out} bytes left out]\n{last}"))
}

fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// As much of the beginning of `text` as fits in `limit` bytes.
fn start(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit)).unwrap_or(text)
}

/// As much of the end of `text` as fits in `limit` bytes.
fn end(text: &str, limit: usize) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(limit));
    text.get(from..).unwrap_or_default()
}

/// `bytes` without a character that was cut at their end.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let cut = bytes
        .utf8_chunks()
        .last()
        .map_or(0, |chunk| chunk.invalid().len());
    bytes.get(..bytes.len() - cut).unwrap_or(bytes)
}

/// `bytes` without the rest of a character that was cut at their beginning.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes
        .iter()
        .take(3)
        .take_while(|byte| matches!(byte, 0x80..=0xBF))
        .count();
    bytes.get(rest..).unwrap_or(bytes)
}
