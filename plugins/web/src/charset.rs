//! Bytes of a page as text: UTF-8, UTF-16, and the Latin-1 that the web takes for Windows-1252.

/// Bytes in which a page names its own encoding, if it does.
const SNIFFED: usize = 1024;

/// What Windows-1252 has in place of the control characters 0x80 to 0x9F.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The text of `bytes`. Their encoding is what their mark says, else what `declared` (of the
/// header) says, else what the page's own `<meta>` says, else UTF-8 if they are that, else
/// Windows-1252. The error is the name of an encoding that is not read here.
pub fn decode(bytes: &[u8], declared: Option<&str>) -> Result<String, String> {
    if let Some(rest) = bytes.strip_prefix(b"\xEF\xBB\xBF") {
        return Ok(String::from_utf8_lossy(rest).into_owned());
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFF\xFE") {
        return Ok(wide(rest, u16::from_le_bytes));
    }
    if let Some(rest) = bytes.strip_prefix(b"\xFE\xFF") {
        return Ok(wide(rest, u16::from_be_bytes));
    }
    let own = || named_in_page(bytes);
    let Some(name) = declared.map(str::to_owned).or_else(own) else {
        return Ok(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| windows(*byte)).collect(),
        });
    };
    match name.to_ascii_lowercase().as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => Ok(String::from_utf8_lossy(bytes).into_owned()),
        "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" | "windows-1252" | "cp1252" => {
            Ok(bytes.iter().map(|byte| windows(*byte)).collect())
        }
        "utf-16" | "utf-16le" => Ok(wide(bytes, u16::from_le_bytes)),
        "utf-16be" => Ok(wide(bytes, u16::from_be_bytes)),
        _ => Err(name),
    }
}

/// The character that Windows-1252 has for `byte`.
pub fn windows(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS
            .get(usize::from(byte - 0x80))
            .copied()
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from(byte),
    }
}

fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| match pair {
        [first, second] => unit([*first, *second]),
        _ => 0xFFFD,
    });
    char::decode_utf16(units)
        .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// What stands after `charset=` near the beginning of the page. A page that can be read this far
/// is not UTF-16, whatever it says.
fn named_in_page(bytes: &[u8]) -> Option<String> {
    let start = bytes.get(..bytes.len().min(SNIFFED)).unwrap_or(bytes);
    let start: String = start
        .iter()
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    let (before, after) = start.split_once("charset=")?;
    before.rfind("<meta")?;
    let name: String = after
        .trim_start_matches(['"', '\'', ' '])
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || "-_".contains(*character))
        .collect();
    match name.as_str() {
        "" => None,
        wide if wide.starts_with("utf-16") => Some("utf-8".to_owned()),
        _ => Some(name),
    }
}
