//! What the plugin runtime keeps for a session.

use std::any::Any;
use std::sync::OnceLock;

/// A place in a session for what the plugin runtime holds open on its behalf, such as the granted
/// folders. It goes when the session goes.
#[derive(Default)]
pub struct Held(OnceLock<Box<dyn Any + Send + Sync>>);

impl Held {
    /// The session's `T`, made when it is first asked for. `None` where another type is kept
    /// already: a session belongs to one runtime.
    pub fn get<T: Any + Default + Send + Sync>(&self) -> Option<&T> {
        self.0.get_or_init(|| Box::<T>::default()).downcast_ref()
    }
}
