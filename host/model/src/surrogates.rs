//! Characters that a service cut in two.
//!
//! A service that counts in UTF-16 may end one piece of text between the two halves of a
//! character and write each half as an escape of its own (`\ud83d` now, `\ude42` in the next
//! event). No JSON reader takes half a character, so the halves are put together before reading.

use std::borrow::Cow;

/// The half that still waits for the other.
#[derive(Debug, Default)]
pub(crate) struct Surrogates {
    held: Option<[u8; 6]>,
}

impl Surrogates {
    /// The event with every first half that stands alone taken out, and the half that was taken
    /// out before put in front of the second half it belongs to.
    pub(crate) fn mend<'a>(&mut self, event: &'a [u8]) -> Cow<'a, [u8]> {
        let mut mended: Vec<u8> = Vec::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(offset) = event[at..].iter().position(|byte| *byte == b'\\') {
            at += offset;
            let Some(escape) = unicode_escape(&event[at..]) else {
                // Whatever is escaped is one byte, a backslash among others.
                at = (at + 2).min(event.len());
                continue;
            };
            let is_whole = is_first(&escape) && {
                let other = unicode_escape(&event[at + 6..]);
                other.is_some_and(|other| is_second(&other))
            };
            if is_whole {
                at += 12;
                continue;
            }
            if is_first(&escape) {
                mended.extend_from_slice(&event[copied..at]);
                copied = at + 6;
                self.held = Some(escape);
            } else if is_second(&escape)
                && let Some(first) = self.held.take()
            {
                mended.extend_from_slice(&event[copied..at]);
                copied = at;
                mended.extend_from_slice(&first);
            }
            at += 6;
        }
        if copied == 0 && mended.is_empty() {
            return Cow::Borrowed(event);
        }
        mended.extend_from_slice(&event[copied..]);
        Cow::Owned(mended)
    }

    /// Whether a half is waiting.
    pub(crate) fn is_waiting(&self) -> bool {
        self.held.is_some()
    }
}

/// The escape at the start of `bytes`, when it is one of the form `\uXXXX`.
fn unicode_escape(bytes: &[u8]) -> Option<[u8; 6]> {
    let escape: [u8; 6] = bytes.get(..6)?.try_into().ok()?;
    let is_one = escape.starts_with(b"\\u") && escape[2..].iter().all(u8::is_ascii_hexdigit);
    is_one.then_some(escape)
}

fn is_first(escape: &[u8; 6]) -> bool {
    matches!(
        escape[2..4],
        [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B']
    )
}

fn is_second(escape: &[u8; 6]) -> bool {
    matches!(escape[2..4], [b'd' | b'D', b'c'..=b'f' | b'C'..=b'F'])
}
