//! `raddle serve`: conversations over HTTP.

use super::Place;
use crate::arguments::ServeArguments;
use crate::failure::Failure;
use crate::serve;

/// Serves until it is told to end.
pub(super) async fn run(arguments: &ServeArguments, place: &Place) -> Result<(), Failure> {
    let ServeArguments {
        listen,
        recording,
        grace,
    } = arguments;
    let config = place.deployment()?;
    let recording = recording.as_deref();
    let grace = std::time::Duration::from_secs(*grace);
    serve::run(config, &place.directory, *listen, recording, grace).await
}
