//! Plugin state and leases.

use raddle_core::store::Store;

use crate::{header, store};

#[tokio::test]
async fn keys_belong_to_one_plugin_in_one_session() {
    let (store, _directory) = store();
    for id in ["s", "t"] {
        store.create(header(id)).await.unwrap();
    }
    store
        .set_state("s", "p", "k", Some("1".into()))
        .await
        .unwrap();
    store
        .set_state("s", "q", "k", Some("2".into()))
        .await
        .unwrap();
    store
        .set_state("t", "p", "k", Some("3".into()))
        .await
        .unwrap();
    store
        .set_state("s", "p", "k", Some("4\0é".into()))
        .await
        .unwrap();
    let get = async |session, plugin| store.get_state(session, plugin, "k").await.unwrap();
    assert_eq!(get("s", "p").await.as_deref(), Some("4\0é"));
    assert_eq!(get("s", "q").await.as_deref(), Some("2"));
    assert_eq!(get("t", "p").await.as_deref(), Some("3"));
    store.set_state("s", "p", "k", None).await.unwrap();
    store.set_state("s", "p", "k", None).await.unwrap();
    assert_eq!(get("s", "p").await, None);
    assert_eq!(get("s", "q").await.as_deref(), Some("2"));
}

#[tokio::test]
async fn keys_are_listed_by_prefix_in_order() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    for key in ["b", "a/2", "a/10", "a%", "A/1", "ä"] {
        store
            .set_state("s", "p", key, Some(String::new()))
            .await
            .unwrap();
    }
    let list = async |prefix| store.list_state("s", "p", prefix).await.unwrap();
    assert_eq!(list("a/").await, ["a/10", "a/2"]);
    assert_eq!(list("a%").await, ["a%"]);
    assert_eq!(list("").await, ["A/1", "a%", "a/10", "a/2", "b", "ä"]);
    assert_eq!(list("_").await, [""; 0]);
}

#[tokio::test]
async fn a_swap_sees_what_was_there() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let swap = async |expected: Option<&str>, value: &str| {
        let expected = expected.map(str::to_owned);
        store
            .swap_state("s", "p", "k", expected, value.to_owned())
            .await
            .unwrap()
    };
    assert!(!swap(Some("1"), "2").await);
    assert!(swap(None, "1").await);
    assert!(!swap(None, "2").await);
    assert!(swap(Some("1"), "2").await);
    assert_eq!(
        store.get_state("s", "p", "k").await.unwrap().as_deref(),
        Some("2")
    );
}

#[tokio::test]
async fn swaps_at_once_let_one_win() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let swaps = (0..20).map(|number| store.swap_state("s", "p", "k", None, number.to_string()));
    let won = futures::future::try_join_all(swaps).await.unwrap();
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
}

#[tokio::test]
async fn a_lease_is_taken_renewed_released_and_runs_out() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let lease = async |owner, now, until| store.lease("s", owner, now, until).await.unwrap();
    assert!(
        lease(
            "one",
            "2026-01-01T00:00:00.000Z",
            "2026-01-01T00:00:30.000Z"
        )
        .await
    );
    assert!(
        !lease(
            "two",
            "2026-01-01T00:00:29.999Z",
            "2026-01-01T00:01:00.000Z"
        )
        .await
    );
    assert!(
        lease(
            "one",
            "2026-01-01T00:00:20.000Z",
            "2026-01-01T00:00:50.000Z"
        )
        .await
    );
    assert!(
        !lease(
            "two",
            "2026-01-01T00:00:49.999Z",
            "2026-01-01T00:01:20.000Z"
        )
        .await
    );
    assert!(
        lease(
            "two",
            "2026-01-01T00:00:50.000Z",
            "2026-01-01T00:01:20.000Z"
        )
        .await
    );
    assert!(
        !lease(
            "one",
            "2026-01-01T00:00:50.000Z",
            "2026-01-01T00:01:20.000Z"
        )
        .await
    );

    // Only its owner gives it back.
    store.release("s", "one").await.unwrap();
    assert!(
        !lease(
            "one",
            "2026-01-01T00:01:00.000Z",
            "2026-01-01T00:01:30.000Z"
        )
        .await
    );
    store.release("s", "two").await.unwrap();
    assert!(
        lease(
            "one",
            "2026-01-01T00:01:00.000Z",
            "2026-01-01T00:01:30.000Z"
        )
        .await
    );
}

#[tokio::test]
async fn lease_times_are_instants() {
    let (store, _directory) = store();
    store.create(header("s")).await.unwrap();
    let lease = async |owner, now, until| store.lease("s", owner, now, until).await.unwrap();
    assert!(lease("one", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z").await);
    // Half a second before, though it sorts after.
    assert!(!lease("two", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:02Z").await);
    assert!(lease("two", "2026-01-01T00:00:01.000Z", "2026-01-01T00:00:02Z").await);
}
