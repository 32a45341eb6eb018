//! The bar that shows plugins compile.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressStyle};
use raddle_wasm::LoadProgress;

/// Shows a bar on stderr while plugins compile: not when all of them come from the cache, and
/// not when nobody looks.
#[derive(Default)]
pub(crate) struct CompileProgress(Mutex<Compiling>);

#[derive(Default)]
struct Compiling {
    bar: Option<ProgressBar>,
    plugins: BTreeSet<String>,
}

impl CompileProgress {
    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Some(bar) = self.state().bar.take() {
            bar.finish_and_clear();
        }
    }

    fn state(&self) -> MutexGuard<'_, Compiling> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoadProgress for CompileProgress {
    fn compiling(&self, plugin: &str) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let state = &mut *self.state();
        let bar = state.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(0);
            // The template is fixed; without it indicatif's own is as good.
            if let Ok(style) = ProgressStyle::with_template("compiling {bar:20} {pos}/{len} {msg}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.inc_length(1);
        bar.set_message(plugin.to_owned());
        state.plugins.insert(plugin.to_owned());
    }

    fn finished(&self, plugin: &str) {
        let state = &mut *self.state();
        // Those from the cache are no part of the bar.
        if state.plugins.remove(plugin)
            && let Some(bar) = &state.bar
        {
            bar.inc(1);
        }
    }
}
