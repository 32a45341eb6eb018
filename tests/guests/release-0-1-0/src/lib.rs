//! A guest of the tests: built against release 0.1.0 of the contract, with everything that it has.

mod everything;

/// What the release says, and nothing newer.
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/released/0.1.0",
        world: "host",
        generate_all,
        pub_export_macro: true,
    });
}

pub use everything::Everything;

#[cfg(target_arch = "wasm32")]
bindings::export!(Everything with_types_in bindings);

/// What only a later release has.
fn newer() -> Result<String, bindings::raddle::plugin::types::Error> {
    Ok("nothing newer".to_owned())
}
