//! OpenAI's Responses API.

mod answer;
mod request;

pub(crate) use request::Responses;
