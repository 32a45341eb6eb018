//! Sizes, time spans and names as the config writes them.

use std::time::Duration;

/// Bytes, written with a binary unit: `512KiB`, `64MiB`, `1GiB`, `100B`. Never zero.
pub(super) fn size(text: &str) -> Option<u64> {
    let units = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("B", 1),
    ];
    measure(text, &units)
}

/// A time span, written with a unit: `500ms`, `30s`, `5m`, `1h`. Never zero.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    measure(text, &units).map(Duration::from_millis)
}

/// Whether `name` can be a plugin's id: `[a-z][a-z0-9_-]*`, at most 64 characters.
pub(super) fn is_plugin_id(name: &str) -> bool {
    let mut characters = name.chars();
    name.len() <= 64
        && characters
            .next()
            .is_some_and(|first| first.is_ascii_lowercase())
        && characters.all(|character| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || "_-".contains(character)
        })
}

/// Whether `name` can be the name of an environment variable.
pub(super) fn is_environment_name(name: &str) -> bool {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    name.chars().all(plain) && !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn measure(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    // `parse` would take a sign.
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u64 = number.parse().ok()?;
    number.checked_mul(*unit).filter(|value| *value > 0)
}
