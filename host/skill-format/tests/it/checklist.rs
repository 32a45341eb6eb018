//! The steps of a body.

use raddle_skill_format::checklist;

#[test]
fn numbered_items_and_headings_are_steps() {
    let body = "# Deck\n\n1. Read **the brief**.\n   1. Not a step of its own.\n2. Research (optional).\n\n```\n3. in a code block\n```\n\nWords 4. in a line.\n\n## 3. Render\n\n### Step 4: Repair `it`\n\n9) **Last.** With more to say about it.\n2026. Not a step\n";
    let steps = checklist(body);
    let shown: Vec<(u32, &str, bool)> = steps
        .iter()
        .map(|s| (s.number, s.text.as_str(), s.optional))
        .collect();
    assert_eq!(
        shown,
        [
            (1, "Read the brief.", false),
            (2, "Research (optional).", true),
            (3, "Render", false),
            (4, "Repair it", false),
            (5, "Last.", false),
        ]
    );
}

#[test]
fn a_body_without_numbers_has_none() {
    assert!(checklist("# X\n\n- one\n- two\n").is_empty());
}
