//! A guest of the tests: built against release 0.1.1 of the contract, with everything that it has.

#[path = "../../release-0-1-0/src/everything.rs"]
mod everything;

/// What the release says, and nothing newer.
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/released/0.1.1",
        world: "host",
        generate_all,
        pub_export_macro: true,
    });
}

use bindings::raddle::plugin::process::{self, Companion, Heard};
use bindings::raddle::plugin::types::Error;
pub use everything::Everything;

#[cfg(target_arch = "wasm32")]
bindings::export!(Everything with_types_in bindings);

/// What is new in this release: a program to talk with.
fn newer() -> Result<String, Error> {
    let cat = Companion {
        program: "cat".to_owned(),
        arguments: Vec::new(),
        cwd: None,
        environment_variables: Vec::new(),
    };
    let cat = process::open(&cat)?;
    process::write(cat, b"an echo")?;
    let heard = process::read(cat, 100, 10_000)?;
    let ended = process::close(cat)?;
    match heard {
        Heard::Output(bytes) if ended.code == Some(0) => {
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => Ok("no echo".to_owned()),
    }
}
