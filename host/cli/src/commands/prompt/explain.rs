//! The provenance map, as people read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_core::prompt::{Explanation, Span};
use raddle_core::registry::Registry;

/// Counts tokens with the vocabulary of the current OpenAI models; other models differ by some
/// percent. Made only when somebody asks: it takes a while and much memory.
pub(super) fn counter() -> impl Fn(&str) -> usize {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    |text| vocabulary.encode_ordinary(text).len()
}

/// Where the prompt names another model than the one that answers, because a filter changed it.
pub(super) fn stale(explanation: &Explanation, answering: &str) -> String {
    let mut text = String::new();
    for span in explanation.spans.iter() {
        let whole = part_text(explanation, &span.part).unwrap_or_default();
        let says = whole.get(span.start..span.end).unwrap_or_default();
        if span.variable.as_deref() == Some("model") && says != answering {
            let section = span.section.as_deref().unwrap_or_default();
            let _ = writeln!(
                text,
                "stale: `<<model>>` in section `{section}` says {says}; {answering} answers"
            );
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Every span by section, then the text with its owners.
pub(super) fn table(explanation: &Explanation, registry: Option<&Registry>) -> String {
    let orders = orders(registry);
    let parts = parts(explanation);
    let mut text = String::new();
    for group in ["system", "context", "tool"] {
        let of_group = |part: &str| part.split('/').next() == Some(group);
        let members = || parts.iter().filter(|(part, _)| of_group(part));
        let spans = || members().flat_map(|(_, spans)| spans);
        let bytes: usize = spans().map(|span| span.end - span.start).sum();
        let tokens: usize = spans().filter_map(|span| span.tokens).sum();
        let _ = writeln!(text, "{group}: {bytes} bytes, {tokens} tokens");
        if bytes > 0 {
            text.push_str(&row(
                "order", "section", "plugin", "lifetime", "bytes", "tokens", "digest",
            ));
        }
        for span in spans() {
            let order = span
                .section
                .as_deref()
                .and_then(|section| orders.get(section));
            text.push_str(&row(
                &order.map_or_else(String::new, ToString::to_string),
                &name(span),
                &span.plugin,
                &span
                    .lifetime
                    .map_or_else(String::new, |lifetime| lifetime.to_string()),
                &format!("{}..{}", span.start, span.end),
                &span.tokens.unwrap_or_default().to_string(),
                &span.digest.hex()[..12],
            ));
        }
        text.push('\n');
    }
    for (part, spans) in parts {
        let Some(whole) = part_text(explanation, part) else {
            continue;
        };
        let _ = writeln!(text, "──── {part}");
        for span in spans {
            let words = whole.get(span.start..span.end).unwrap_or_default();
            let owner = format!("{} · {}", span.plugin, name(span).trim_start());
            for (index, line) in words.split_inclusive('\n').enumerate() {
                let owner = if index == 0 { owner.as_str() } else { "" };
                let _ = writeln!(text, "{owner:<36} │ {}", line.trim_end_matches('\n'));
            }
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", explanation.digest);
    text
}

fn row(
    order: &str,
    section: &str,
    plugin: &str,
    lifetime: &str,
    bytes: &str,
    tokens: &str,
    digest: &str,
) -> String {
    format!(
        "{order:>6}  {section:<28} {plugin:<14} {lifetime:<10} {bytes:>13} {tokens:>6}  {digest}\n"
    )
}

/// The spans of each part, in the order of the prompt. The system prompt is always there.
fn parts(explanation: &Explanation) -> Vec<(&str, Vec<&Span>)> {
    let mut parts: Vec<(&str, Vec<&Span>)> = vec![("system", Vec::new())];
    for span in &explanation.spans {
        match parts.last_mut() {
            Some((part, spans)) if *part == span.part => spans.push(span),
            _ => parts.push((&span.part, vec![span])),
        }
    }
    parts
}

/// The whole text of a part.
pub(super) fn part_text(explanation: &Explanation, part: &str) -> Option<String> {
    if part == "system" {
        return Some(explanation.system.clone());
    }
    if let Some(index) = part.strip_prefix("context/") {
        let entry = explanation.context.get(index.parse::<usize>().ok()?)?;
        return Some(entry.text.clone());
    }
    let name = part.strip_prefix("tool/")?;
    let wire = raddle_core::registry::wire_name(name);
    let tool = explanation.tools.iter().find(|tool| tool.name == wire)?;
    serde_json::to_string(tool).ok()
}

fn orders(registry: Option<&Registry>) -> BTreeMap<String, i32> {
    let mut orders = BTreeMap::from([("agent:persona".to_owned(), 0)]);
    for section in registry.iter().flat_map(|registry| registry.sections()) {
        orders.insert(section.name.to_string(), section.order);
    }
    orders
}

fn name(span: &Span) -> String {
    match (&span.variable, &span.section) {
        (Some(variable), _) => format!("  <<{variable}>>"),
        (None, Some(section)) => section.clone(),
        (None, None) => span.part.clone(),
    }
}
