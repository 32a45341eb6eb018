//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0    good
  1    the thing checked is bad: the deployment, a prompt, a session
  2    used wrongly
  3    could not: the model service, the network or the disk
  4    stopped: denied, or waiting for the user
  130  interrupted";

/// Agents whose every word and tool comes from plugins.
#[derive(Debug, Parser)]
#[command(name = "raddle", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// Where and for which deployment.
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct PlaceArguments {
    /// The deployment; without it the nearest raddle.toml, upward from the directory
    #[arg(short, long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Directory of the session, `<session>` in grants; without it the current one
    #[arg(short = 'C', long = "cd", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a small deployment to start from
    Init,
    /// Talk to the agent in the terminal
    #[command(after_help = EXIT_CODES)]
    Run(RunArguments),
    /// Run the agent once, for scripts
    #[command(after_help = EXIT_CODES)]
    Exec(ExecArguments),
    /// Show the exact prompt, and why it is so
    #[command(after_help = EXIT_CODES)]
    Prompt(PromptArguments),
    /// Check the deployment: config, grants, contracts, ownership, restated facts
    #[command(after_help = EXIT_CODES)]
    Check(JsonArgument),
    /// Look at plugins
    #[command(subcommand, after_help = EXIT_CODES)]
    Plugin(PluginCommand),
    /// Look at sessions
    #[command(subcommand, after_help = EXIT_CODES)]
    Session(SessionCommand),
}

/// `raddle run`.
#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Go on with a session; without ID the newest one of this deployment
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,
    /// Use a recorded model, which needs no key
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
}

/// `raddle exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// The user's message; `-` reads it from stdin
    pub(crate) prompt: String,
    /// Use a recorded model, which needs no key
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `raddle prompt`.
#[derive(Debug, Args)]
pub(crate) struct PromptArguments {
    /// Map every byte to its section, variable and plugin, with digests and tokens
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// Print `{system, context, tools, spans, digest}`
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what is different: in deployment OTHER, or without the plugins of `--without`
    #[arg(long, value_name = "OTHER", num_args = 0..=1, conflicts_with_all = ["json", "explain", "session"])]
    pub(crate) diff: Option<Option<PathBuf>>,
    /// Leave a plugin out; several with commas, or the option again
    #[arg(long, value_name = "PLUGIN", value_delimiter = ',')]
    pub(crate) without: Vec<String>,
    /// The prompt that a session uses, from its log
    #[arg(long, value_name = "ID", conflicts_with = "without")]
    pub(crate) session: Option<String>,
}

/// Commands that print for people or for machines.
#[derive(Debug, Args)]
pub(crate) struct JsonArgument {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `raddle plugin`.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Show what a component exports, imports and offers
    Inspect {
        /// A file, `std:NAME`, or the id of a plugin of the deployment
        plugin: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// `raddle session`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// All sessions, newest first
    List(JsonArgument),
    /// The conversation of a session
    Show {
        /// The session, or the first characters of its id
        id: String,
    },
    /// Every event of a session, as lines of JSON
    Export {
        /// The session, or the first characters of its id
        id: String,
    },
    /// Play a session again as the terminal showed it
    Replay {
        /// The session, or the first characters of its id
        id: String,
    },
    /// Rebuild every request of a session from its log and compare digests
    Verify {
        /// The session, or the first characters of its id
        id: String,
    },
}
