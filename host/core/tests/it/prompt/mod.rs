//! The prompt, from plugins' offers to what the model is sent.

mod assembly;
mod cache;
mod cases;
mod filters;
mod fixture;
mod invariants;
mod lifetimes;
mod provenance;
mod registry;
mod restated;
mod settling;
mod tail;
mod template;
