//! The `raddle` command: deployments of plugins, run, shown and checked.

mod config;
mod failure;
mod report;
mod standard;

fn main() {}
