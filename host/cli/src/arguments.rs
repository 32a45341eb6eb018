//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::programs;

const EXIT_CODES: &str = "\
Exit codes:
  0    good
  1    the thing checked is bad: a deployment, a component, a recording, a session
  2    used wrongly: an argument, or what it names is not there
  3    could not: the model service, the network or the disk
  4    stopped: a call was denied, a limit was reached, or the agent waits for the user
  130  interrupted";

/// Agents whose every word and tool comes from plugins.
#[derive(Debug, Parser)]
#[command(name = "raddle", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// Where and for which deployment.
    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// What the process was called with. Asked for help, or called wrongly, it ends here.
    pub(crate) fn of_process() -> Self {
        let matches = with_exit_codes(Self::command()).get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Every command's help ends with what it can exit with.
fn with_exit_codes(command: clap::Command) -> clap::Command {
    command
        .after_help(EXIT_CODES)
        .mut_subcommands(with_exit_codes)
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct PlaceArguments {
    /// The deployment's file, to read or for `init` to write; without it raddle.toml: the nearest
    /// one, upward from the directory, or for `init` the one in it
    #[arg(short, long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Directory of the session, `<session>` in grants; without it the current one
    #[arg(short = 'C', long = "cd", value_name = "DIR", global = true)]
    pub(crate) directory: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a small deployment to start from: raddle.toml, or the file of `--config`
    Init,
    /// Talk to the agent in the terminal
    Run(RunArguments),
    /// Run the agent once, for scripts
    Exec(ExecArguments),
    /// Serve conversations over HTTP, with server-sent events
    Serve(ServeArguments),
    /// Show the exact prompt, and why it is so
    Prompt(PromptArguments),
    /// Check the deployment: config, grants, contracts, ownership, restated facts
    Check(JsonArgument),
    /// Look at plugins
    #[command(subcommand)]
    Plugin(PluginCommand),
    /// Look at skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Look at sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Wait until another `raddle`, which started this one, is gone, and end what it left running
    #[command(name = programs::WATCH, hide = true)]
    WatchPrograms {
        /// Its name
        host: String,
    },
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
    /// The prompt variant of a new session; without it the first that its first message is about
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub(crate) variant: Option<String>,
}

/// `raddle exec`.
#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// The user's message; `-` reads it from stdin
    pub(crate) prompt: String,
    /// Go on with a session
    #[arg(long, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Use a recorded model, which needs no key
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// The prompt variant of a new session; without it the first that the message is about
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub(crate) variant: Option<String>,
    /// Print every event as a line of JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `raddle serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Where to listen; anything but this machine needs tokens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7327")]
    pub(crate) listen: SocketAddr,
    /// Use a recorded model, which needs no key
    #[arg(long, value_name = "FILE")]
    pub(crate) recording: Option<PathBuf>,
    /// Seconds that runs may take to end when the process is told to; then they are cancelled
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) grace: u64,
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
    /// The prompt of a variant
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub(crate) variant: Option<String>,
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

/// `raddle skill`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// The skills of the deployment
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the skills of the deployment, or those in folders: what keeps one from being loaded,
    /// what the public validator of Agent Skills does not accept, and what could be better
    Check {
        /// Folders of skills, instead of the deployment's
        #[arg(value_name = "FOLDER")]
        folders: Vec<PathBuf>,
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
    /// Cut the conversation of an idle session short: a summary stands for it
    Compact {
        /// The session, or the first characters of its id
        id: String,
    },
    /// Rebuild every request of a session from its log and compare digests
    Verify {
        /// The session, or the first characters of its id
        id: String,
    },
    /// Tell a session, running or not, what happened outside of it: with --kind and --summary, or
    /// as the JSON of an injection on stdin
    Inject(Box<InjectArguments>),
}

/// `raddle session inject`.
#[derive(Debug, Args)]
pub(crate) struct InjectArguments {
    /// The session, or the first characters of its id
    pub(crate) id: String,
    /// Its kind, one that a plugin of the session offers: `artifact_update`
    #[arg(long, requires = "summary")]
    pub(crate) kind: Option<String>,
    /// What the model reads
    #[arg(long, value_name = "TEXT", requires = "kind")]
    pub(crate) summary: Option<String>,
    /// Its own id: the same again is the same event; without it a new one
    #[arg(long, value_name = "ID")]
    pub(crate) event_id: Option<String>,
    /// When it happened, RFC 3339; without it now
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// client, server, tool, workspace or background_job
    #[arg(long, default_value = "client")]
    pub(crate) source: String,
    /// next_turn, steer or follow_up; without it as the kind says
    #[arg(long, value_name = "WHEN")]
    pub(crate) delivery: Option<String>,
    /// Somebody has to decide something about it
    #[arg(long)]
    pub(crate) requires_decision: bool,
    /// Of events with the same key, the model is told one
    #[arg(long, value_name = "KEY")]
    pub(crate) dedupe_key: Option<String>,
    /// What it is about, a stable reference
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// What it is about, a path in the workspace
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// The state that is in now
    #[arg(long)]
    pub(crate) revision: Option<String>,
    /// user, collaborator, agent or service
    #[arg(long)]
    pub(crate) actor: Option<String>,
    /// The front end's interaction it comes from
    #[arg(long, value_name = "ID")]
    pub(crate) interaction: Option<String>,
    /// The tool call it comes from
    #[arg(long, value_name = "ID")]
    pub(crate) tool_call: Option<String>,
    /// A JSON object for the harness and front ends; the model sees `change` of it
    #[arg(long, value_name = "JSON")]
    pub(crate) details: Option<String>,
}
