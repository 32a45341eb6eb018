//! The plugin runtime, from bytes to answers: guests are built from text, loaded and called.

mod guest;
mod loading;
