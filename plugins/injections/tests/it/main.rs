//! The kinds, as the seed's tables have them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use raddle_plugin_injections::kinds;
use raddle_sdk::injections::{Coalescing, Delivery};

#[test]
fn delivery_is_that_of_the_delivery_table() {
    let table = [
        ("system_note", Delivery::NextTurn),
        ("system_guidance", Delivery::Steer),
        ("system_update", Delivery::Steer),
        ("client_view", Delivery::NextTurn),
        ("artifact_update", Delivery::Steer),
        ("workspace_update", Delivery::Steer),
        ("background_result", Delivery::FollowUp),
    ];
    let kinds = kinds();
    assert_eq!(kinds.len(), table.len());
    for (kind, (name, delivery)) in kinds.iter().zip(table) {
        assert_eq!((kind.name.as_str(), kind.delivery), (name, delivery));
        assert!(kind.meaning.starts_with(&format!("`{name}`: ")));
    }
}

#[test]
fn repeated_snapshots_coalesce_and_events_do_not() {
    let of = |name: &str| {
        let kinds = kinds();
        kinds
            .iter()
            .find(|kind| kind.name == name)
            .unwrap()
            .coalescing
    };
    assert_eq!(of("client_view"), Coalescing::SameKind);
    assert_eq!(of("artifact_update"), Coalescing::SameSubject);
    assert_eq!(of("workspace_update"), Coalescing::SameSubject);
    assert_eq!(of("system_update"), Coalescing::KeepAll);
}

#[test]
fn sections_follow_one_another_in_the_protocol_band() {
    let orders: Vec<i32> = kinds().iter().map(|kind| kind.order).collect();
    assert_eq!(orders, (211..218).collect::<Vec<_>>());
}
