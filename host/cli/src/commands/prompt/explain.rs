//! The provenance map, as people read it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use raddle_core::plugins::Lifetime;
use raddle_core::prompt::{Explanation, Span};
use raddle_core::registry::Registry;

/// Counts tokens with the vocabulary of the current OpenAI models; other models differ by some
/// percent. Made only when somebody asks: it takes a while and much memory.
pub(super) fn counter() -> impl Fn(&str) -> usize {
    let vocabulary = tiktoken_rs::o200k_base_singleton();
    |text| vocabulary.encode_ordinary(text).len()
}

/// Every span by section, then the text with its owners.
pub(super) fn table(explanation: &Explanation, registry: Option<&Registry>) -> String {
    let orders = orders(registry);
    let mut text = String::new();
    for (part, spans) in parts(explanation) {
        let bytes = spans.last().map_or(0, |span| span.end);
        let tokens: usize = spans.iter().filter_map(|span| span.tokens).sum();
        let _ = writeln!(text, "{part}: {bytes} bytes, {tokens} tokens");
        if spans.is_empty() {
            continue;
        }
        let _ = writeln!(
            text,
            "{:>6}  {:<28} {:<14} {:<10} {:>13} {:>6}  digest",
            "order", "section", "plugin", "lifetime", "bytes", "tokens"
        );
        for span in spans {
            let order = span.section.as_deref().and_then(|section| orders.get(section));
            let order = order.map_or_else(String::new, ToString::to_string);
            let _ = writeln!(
                text,
                "{:>6}  {:<28} {:<14} {:<10} {:>13} {:>6}  {}",
                order,
                name(span),
                span.plugin,
                lifetime(span.lifetime),
                format!("{}..{}", span.start, span.end),
                span.tokens.unwrap_or_default(),
                &span.digest.hex()[..12],
            );
        }
        text.push('\n');
    }
    for (part, spans) in parts(explanation) {
        let Some(whole) = part_text(explanation, part) else {
            continue;
        };
        let _ = writeln!(text, "──── {part}");
        for span in spans {
            let words = whole.get(span.start..span.end).unwrap_or_default();
            let owner = format!("{} · {}", span.plugin, name(span));
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
    let tool = explanation
        .tools
        .iter()
        .find(|tool| tool.name == wire)?;
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

fn lifetime(lifetime: Option<Lifetime>) -> &'static str {
    match lifetime {
        None => "",
        Some(Lifetime::Deployment) => "deployment",
        Some(Lifetime::Session) => "session",
        Some(Lifetime::Turn) => "turn",
        Some(Lifetime::Step) => "step",
    }
}
