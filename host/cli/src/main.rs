//! The `raddle` command: deployments of plugins, run, shown and checked.

mod arguments;
mod commands;
mod config;
mod conversation;
mod deployment;
mod failure;
mod files;
mod folders;
mod live;
mod lock;
mod log;
mod model;
mod preview;
mod programs;
mod report;
mod serve;
mod sessions;
mod standard;
mod surroundings;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::of_process();
    log::start();
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal::complain(&failure);
            failure.code()
        }
    }
}
