//! What the process has to say about itself, on stderr.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;

/// The variable that asks for more, in the form of `tracing`'s filters (`debug`,
/// `raddle_wasm=trace`).
const VARIABLE: &str = "RADDLE_LOG";

/// Starts logging: warnings, or what the environment asks for.
pub(crate) fn start() {
    let format = tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false);
    match std::env::var(VARIABLE) {
        Ok(directives) => format
            .with_env_filter(EnvFilter::builder().parse_lossy(directives))
            .init(),
        // A filter of one level costs no start-up time.
        Err(_) => format.with_max_level(LevelFilter::WARN).init(),
    }
}
