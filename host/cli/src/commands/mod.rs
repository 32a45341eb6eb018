//! One file for each command.

mod check;
mod compact;
mod exec;
mod init;
pub(crate) mod inject;
mod plugin;
mod prompt;
mod run;
mod serve;
mod session;
mod skill;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::arguments::{Arguments, Command, PlaceArguments, PluginCommand, SessionCommand};
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::programs;

/// Does what the command line says.
pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    if let Command::WatchPrograms { host } = &arguments.command {
        return programs::watch(host);
    }
    let place = Place::of(&arguments.place)?;
    if let Command::Init = arguments.command {
        return init::run(&place);
    }
    // Plugins of a batch run side by side; more threads would only cost memory.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no threads can be started")?;
    // On a worker thread: what it waits for mostly happens there, and need not wake another.
    let done = runtime.spawn(async move { follow(&arguments.command, &place).await });
    let done = runtime.block_on(done);
    // A thread that waits for the keyboard must not keep the process.
    runtime.shutdown_background();
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => Err(Failure::Unable(error.into())),
    })
}

async fn follow(command: &Command, place: &Place) -> Result<(), Failure> {
    match command {
        Command::Init | Command::WatchPrograms { .. } => Ok(()),
        Command::Run(arguments) => run::run(arguments, place).await,
        Command::Exec(arguments) => exec::run(arguments, place).await,
        Command::Serve(arguments) => serve::run(arguments, place).await,
        Command::Prompt(arguments) => prompt::run(arguments, place).await,
        Command::Check(arguments) => check::run(arguments.json, place).await,
        Command::Plugin(PluginCommand::Inspect { plugin, json }) => {
            plugin::inspect(plugin, *json, place).await
        }
        Command::Skill(command) => skill::run(command, place),
        Command::Session(SessionCommand::Compact { id }) => compact::run(id, place).await,
        Command::Session(command) => session::run(command, place).await,
    }
}

/// Where a command works.
struct Place {
    /// Absolute path of the session's directory.
    directory: PathBuf,
    config: Option<PathBuf>,
}

impl Place {
    fn of(arguments: &PlaceArguments) -> Result<Self, Failure> {
        let named = arguments.directory.as_deref().unwrap_or(Path::new("."));
        let directory = named
            .canonicalize()
            .map_err(|error| Failure::Misuse(format!("--cd {}: {error}", named.display())))?;
        if !directory.is_dir() {
            let message = format!("--cd {}: this is no directory", named.display());
            return Err(Failure::Misuse(message));
        }
        Ok(Self {
            directory,
            config: arguments.config.clone(),
        })
    }

    /// The deployment that is meant; there must be one.
    fn deployment(&self) -> Result<Config, Failure> {
        Config::load(&config::find(self.config.as_deref(), &self.directory)?)
    }

    /// The deployment that is meant, if any.
    fn deployment_if_any(&self) -> Result<Option<Config>, Failure> {
        match config::find(self.config.as_deref(), &self.directory) {
            Err(_) if self.config.is_none() => Ok(None),
            found => Ok(Some(Config::load(&found?)?)),
        }
    }
}
