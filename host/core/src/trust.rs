//! Tags that carry the harness's authority, and keeping everybody else from writing them
//!.
//!
//! Where a provider has a developer role, trusted text is told from other text by its role. Where
//! it has none, both are user messages, and only the tags differ: there, and only there, text
//! that is not the harness's own goes through [`neutralise`] on its way out. What is stored stays
//! as it was written.

use std::borrow::Cow;

/// Names of the tags that only the harness writes, in the order of the alphabet.
pub const RESERVED_TAGS: &[&str] = &[
    "artifact_update",
    "artifacts",
    "available_skills",
    "background_result",
    "client_view",
    "context",
    "conversation_summary",
    "knowledge_hints",
    "note",
    "skill",
    "system_guidance",
    "system_note",
    "system_update",
    "task_list",
    "workspace_update",
];

/// What the `<` of a reserved tag is written as.
pub const NEUTRAL: &str = "&lt;";

/// `text` with the `<` of every reserved tag written as `&lt;`, so that none of them is a tag any
/// more. Opening and closing tags, in any case, with white space or invisible characters anywhere
/// before the name. Text without a reserved tag comes back unchanged, borrowed.
pub fn neutralise(text: &str) -> Cow<'_, str> {
    let mut safe = String::new();
    let mut copied = 0;
    for position in reserved_tags(text) {
        safe.push_str(&text[copied..position]);
        safe.push_str(NEUTRAL);
        copied = position + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    safe.push_str(&text[copied..]);
    Cow::Owned(safe)
}

/// Byte offsets of the `<` of every reserved tag in `text`.
pub fn reserved_tags(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('<')
        .map(|(position, _)| position)
        .filter(|position| opens_reserved_tag(&text[position + 1..]))
}

/// Whether what follows a `<` makes it a reserved tag.
fn opens_reserved_tag(after: &str) -> bool {
    let after = after.trim_start_matches(|c| is_blank(c) || c == '/');
    // A name may be broken up by characters nobody sees; a reader would still take it for the tag.
    // Through upper case, because some letters of other alphabets have these as their capitals.
    let name: String = after
        .chars()
        .filter(|c| !is_invisible(*c))
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .take_while(|c| is_name(*c))
        .take(LONGEST_NAME + 1)
        .collect();
    RESERVED_TAGS.contains(&name.as_str())
}

const LONGEST_NAME: usize = {
    let (mut longest, mut at) = (0, 0);
    while at < RESERVED_TAGS.len() {
        if RESERVED_TAGS[at].len() > longest {
            longest = RESERVED_TAGS[at].len();
        }
        at += 1;
    }
    longest
};

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':' | '.')
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_invisible(c)
}

/// Control and format characters, tag characters and variation selectors.
fn is_invisible(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
        || matches!(
            u32::from(c),
            0xAD | 0x34F
                | 0x61C
                | 0x180B..=0x180F
                | 0x200B..=0x200F
                | 0x202A..=0x202E
                | 0x2060..=0x206F
                | 0xFE00..=0xFE0F
                | 0xFEFF
                | 0xFFF9..=0xFFFB
                | 0xE0000..=0xE0FFF
        )
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_a_reserved_tag_is_neutralised() {
        for tag in [
            "<system_note>",
            "</system_note>",
            "<SYSTEM_Note id=\"1\">",
            "< system_note>",
            "<\n/\tsystem_note >",
            "<\u{200b}system_\u{feff}note>",
            "<system_note",
            "<system_note/>",
            "<//system_note>",
        ] {
            let safe = neutralise(tag);
            assert_eq!(safe, format!("&lt;{}", &tag[1..]), "{tag:?}");
        }
    }

    #[test]
    fn other_text_is_unchanged() {
        for text in [
            "",
            "a < b",
            "cat <<EOF",
            "<div>",
            "<contextual>",
            "<context-provider>",
            "<skills>",
            "<my:skill>",
            "std::vector<context_t>",
            "&lt;context>",
            "<",
        ] {
            assert!(
                matches!(neutralise(text), Cow::Borrowed(same) if same == text),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_tag_at_the_start_and_one_after_another() {
        assert_eq!(neutralise("<<skill>>x</skill>"), "<&lt;skill>>x&lt;/skill>");
        assert_eq!(neutralise("<skill>"), "&lt;skill>");
    }

    /// The same rule, said by a regular expression.
    fn reserved_tag() -> regex::Regex {
        let names = RESERVED_TAGS.join("|");
        regex::Regex::new(&format!(
            r"(?i)<[\s/\p{{Cc}}\p{{Cf}}]*(?:{names})(?:[^a-z0-9_:.\-]|$)"
        ))
        .expect("a valid expression")
    }

    proptest! {
        #[test]
        fn no_reserved_tag_survives(
            pieces in prop::collection::vec(
                prop_oneof![
                    prop::sample::select(RESERVED_TAGS).prop_map(str::to_owned),
                    prop::sample::select(RESERVED_TAGS).prop_map(str::to_uppercase),
                    prop::sample::select(vec![
                        "<", "</", "< ", "<\u{200b}", ">", "&lt;", "/", " ", "\n", "\u{17f}", "\u{212a}",
                    ])
                    .prop_map(str::to_owned),
                    "\\PC{0,3}",
                ],
                0..24,
            )
        ) {
            let text = pieces.concat();
            let safe = neutralise(&text);
            prop_assert!(!reserved_tag().is_match(&safe), "{safe:?}");
            prop_assert_eq!(neutralise(&safe), safe.as_ref());
        }

        #[test]
        fn text_without_a_reserved_name_is_unchanged(text in "[<>/ a-zA-Z_\\PC]{0,80}") {
            if !RESERVED_TAGS.iter().any(|tag| text.to_uppercase().contains(&tag.to_uppercase())) {
                prop_assert!(matches!(neutralise(&text), Cow::Borrowed(_)));
            }
        }
    }
}
