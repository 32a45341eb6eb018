//! Native stand-ins for what the host supplies, for unit tests of a plugin.

use std::cell::RefCell;

use crate::types::File;

thread_local! {
    static FILES: RefCell<Vec<File>> = const { RefCell::new(Vec::new()) };
    static SETTINGS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `test` with `settings` (a JSON object) as what [`crate::settings()`] reads on this
/// thread.
pub fn with_settings<R>(settings: &str, test: impl FnOnce() -> R) -> R {
    struct Restore(Option<String>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SETTINGS.set(self.0.take());
        }
    }
    let _restore = Restore(SETTINGS.replace(Some(settings.to_owned())));
    test()
}

/// Runs `test` with `files` as what [`crate::settings_files`] reads on this thread.
pub fn with_settings_files<R>(files: &[File], test: impl FnOnce() -> R) -> R {
    struct Restore(Vec<File>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FILES.replace(std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(FILES.replace(files.to_vec()));
    test()
}

/// The files set by [`with_settings_files`]; outside of it none.
pub(crate) fn current_files() -> Vec<File> {
    FILES.with_borrow(Clone::clone)
}

/// The settings set by [`with_settings`]; outside of it those of a plugin without settings.
pub(crate) fn current_settings() -> String {
    SETTINGS.with_borrow(|settings| settings.clone().unwrap_or_else(|| "{}".to_owned()))
}
