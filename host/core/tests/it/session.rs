//! The session log.

use raddle_core::session::EventData;

/// A type that is missing from the list would count as one of a newer release.
#[test]
fn every_type_of_event_is_listed() {
    let error = serde_json::from_str::<EventData>(r#"{"type": "?", "data": {}}"#).unwrap_err();
    let error = error.to_string();
    // unknown variant `?`, expected one of `run.started`, …
    let mut known: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    known.sort_unstable();
    assert_eq!(known, EventData::TYPES, "{error}");
}
