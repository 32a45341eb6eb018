//! The Chat Completions API, as OpenAI and compatible servers speak it.

mod answer;
mod calls;
mod request;

pub(crate) use request::Chat;
