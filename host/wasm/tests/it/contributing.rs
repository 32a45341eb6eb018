//! What loads, and what is said about what does not.

use raddle_core::plugins::{Content, Environment, Lifetime, Section};

use crate::guest::{Guest, data, load, words};

#[tokio::test]
async fn a_section_is_offered() {
    // One section: name at 1100, order 5, verbatim, lifetime session, fixed text at 1200.
    let guest = Guest::new()
        .core(&words(1024, &[0, 1040, 1]))
        .core(&words(1040, &[1100, 5, 5, 0x0101, 0, 1200, 11]))
        .core(&data(1100, "greet"))
        .core(&data(1200, "Hello there"))
        .offer("sections", "(i32.const 1024)")
        .function(
            "sections",
            "render",
            "(param i32) (result i32)",
            "(unreachable)",
        )
        .build();
    let plugin = load(guest).await;
    let offer = plugin.offer(&Environment::default()).await.unwrap();
    assert_eq!(
        offer.sections,
        [Section {
            name: "greet".to_owned(),
            order: 5,
            verbatim: true,
            lifetime: Lifetime::Session,
            content: Content::Fixed("Hello there".to_owned()),
        }]
    );
    assert_eq!(plugin.info().exports, ["sections"]);
}
