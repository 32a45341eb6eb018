//! Words that live in files.

/// The text of `prompts/<name>` beside the plugin's `Cargo.toml`, without its final newline.
///
/// JSON schemas of tool arguments and of settings are words too: keep them in `prompts/` as
/// well, `parameters: include_prompt!("read.json").to_owned()`.
#[macro_export]
macro_rules! include_prompt {
    ($name:literal) => {{
        const PROMPT: &str = $crate::trim_prompt(include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/prompts/",
            $name
        )));
        PROMPT
    }};
}

/// `text` without the line ends it ends with. Files end with a newline, prompts do not.
pub const fn trim_prompt(text: &str) -> &str {
    let mut text = text;
    while let Some((rest, b'\n' | b'\r')) = split_last(text) {
        text = rest;
    }
    text
}

/// The last byte of an ASCII-ended text and what stands before it.
const fn split_last(text: &str) -> Option<(&str, u8)> {
    match text.as_bytes() {
        [.., last] if last.is_ascii() => {
            let (rest, _) = text.split_at(text.len() - 1);
            Some((rest, *last))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::trim_prompt;

    #[test]
    fn line_ends_go_and_everything_else_stays() {
        assert_eq!(trim_prompt("a\nb\n"), "a\nb");
        assert_eq!(trim_prompt("a\r\n\r\n"), "a");
        assert_eq!(trim_prompt("a \u{e9}"), "a \u{e9}");
        assert_eq!(trim_prompt(""), "");
        assert_eq!(trim_prompt("\n"), "");
    }
}
