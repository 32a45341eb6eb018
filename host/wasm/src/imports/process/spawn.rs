//! Starting a program.
//!
//! `posix_spawn` shares the host's memory with the child until it runs the program; a fork, which
//! the standard library falls back to for a new session, copies the page tables first and costs
//! several times as much in a process of this size. `posix_spawn` has no portable way to set the
//! folder, though. So threads with a current folder of their own start the programs; the child inherits
//! it, by handle, and whatever else holds the thread: one for each [`Policy`] of a session, and one for
//! all programs without.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};

use nix::sched::CloneFlags;
use nix::sys::signal::SigSet;
use raddle_core::plugins::{DomainError, ErrorKind};
use rustix::fs::{CWD, OFlags};
use tokio::sync::oneshot;

use super::capture::Written;
use super::environment::Variables;
use super::launch::Launch;
use super::tree::Tree;
use super::{Command, Policy, Watcher, ledger, mark};

/// Everything the starting thread needs.
#[derive(Debug)]
pub(super) struct Order {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    folder: Arc<OwnedFd>,
    input: OwnedFd,
    written: Written,
    number: u64,
    /// As it stands in the environment.
    mark: String,
}

/// Where programs are started.
#[derive(Debug, Clone)]
pub(super) struct Starter(mpsc::Sender<Job>);

#[derive(Debug)]
enum Job {
    Start(Box<Order>, oneshot::Sender<io::Result<Tree>>),
    Watch(Watcher),
}

impl Order {
    pub(super) fn new(
        program: &Path,
        command: &Command,
        variables: &Variables,
        folder: Arc<OwnedFd>,
        input: OwnedFd,
        written: Written,
    ) -> Result<Self, DomainError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = mark::of(mark::host(), number);
        let arguments = std::iter::once(&command.program).chain(&command.arguments);
        Ok(Self {
            program: text(program.as_os_str())?,
            arguments: arguments
                .map(|argument| text(argument.as_ref()))
                .collect::<Result<_, _>>()?,
            environment: variables
                .iter()
                .filter(|(name, _)| *name != mark::VARIABLE)
                .map(|(name, value)| {
                    let mut pair = OsString::from(name);
                    pair.push("=");
                    pair.push(value);
                    text(&pair)
                })
                .chain([text(mark.as_ref())])
                .collect::<Result<_, _>>()?,
            folder,
            input,
            written,
            number,
            mark,
        })
    }
}

impl Starter {
    /// The thread that holds to `policy`, or the one that all programs without one share. The
    /// `watcher` is started once, where nothing holds it.
    pub(super) fn open(
        policy: Option<Policy>,
        watcher: Option<Watcher>,
    ) -> Result<Self, DomainError> {
        let unheld = unheld().map_err(|error| unavailable(&error.to_string()))?;
        if let Some(watcher) = watcher {
            // It goes only with the process.
            drop(unheld.send(Job::Watch(watcher)));
        }
        let Some(policy) = policy else {
            return Ok(Self(unheld));
        };
        let (held, taken_on) = std::sync::mpsc::channel();
        let jobs = thread(move || {
            let taken = policy.take_on();
            let holds = taken.is_ok();
            drop(held.send(taken));
            holds
        });
        let jobs = jobs.map_err(|error| unavailable(&error.to_string()))?;
        match taken_on.recv() {
            Ok(Ok(())) => Ok(Self(jobs)),
            Ok(Err(error)) => Err(unavailable(&error.to_string())),
            Err(_) => Err(unavailable("the starting thread is gone")),
        }
    }

    /// Starts a program. When the future is dropped meanwhile, the program is ended.
    pub(super) async fn start(&self, order: Order) -> io::Result<Tree> {
        let (answer, answered) = oneshot::channel();
        let gone = || io::Error::other("the starting thread is gone");
        let job = Job::Start(Box::new(order), answer);
        self.0.send(job).map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

fn unavailable(message: &str) -> DomainError {
    let message = format!("programs cannot be started: {message}");
    DomainError::new(ErrorKind::Unavailable, "sandbox", message)
}

/// What to tell a plugin about a program that could not be started or watched.
pub(super) fn failure(program: &str, error: &io::Error) -> DomainError {
    let (kind, code) = match error.kind() {
        io::ErrorKind::NotFound => (ErrorKind::NotFound, "program"),
        io::ErrorKind::PermissionDenied => (ErrorKind::Denied, "program"),
        io::ErrorKind::ArgumentListTooLong => (ErrorKind::Limit, "arguments"),
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
            (ErrorKind::Unavailable, "resources")
        }
        _ => (ErrorKind::Failed, "spawn"),
    };
    DomainError::new(kind, code, format!("program {program:?}: {error}"))
}

/// The thread that all programs share which nothing holds.
fn unheld() -> io::Result<mpsc::Sender<Job>> {
    static UNHELD: OnceLock<Option<mpsc::Sender<Job>>> = OnceLock::new();
    UNHELD
        .get_or_init(|| thread(|| true).ok())
        .clone()
        .ok_or_else(|| io::Error::other("no thread to start programs on"))
}

/// A thread that starts programs for as long as somebody can ask it to, once it is `ready`.
fn thread(ready: impl FnOnce() -> bool + Send + 'static) -> io::Result<mpsc::Sender<Job>> {
    let (jobs, queue) = mpsc::channel::<Job>();
    std::thread::Builder::new()
        .name("raddle-spawn".to_owned())
        .stack_size(256 * 1024)
        .spawn(move || {
            // Some container rules forbid this; then a shell changes the folder.
            let own_folder = nix::sched::unshare(CloneFlags::CLONE_FS).is_ok();
            let inherited = inherited();
            let mut watched = false;
            if !ready() {
                return;
            }
            for job in queue {
                match job {
                    // Nobody waits any more: the tree that comes back ends when it is dropped.
                    Job::Start(order, answer) => {
                        drop(answer.send(start(*order, own_folder, &inherited)));
                    }
                    Job::Watch(watcher) if !watched => {
                        watched = true;
                        start_watcher(&watcher, &inherited);
                    }
                    Job::Watch(_) => {}
                }
            }
        })?;
    Ok(jobs)
}

/// Starts a program. With `own_folder`, this thread's current folder is its own to change.
fn start(mut order: Order, own_folder: bool, inherited: &[RawFd]) -> io::Result<Tree> {
    if own_folder {
        rustix::process::fchdir(&*order.folder)?;
    } else {
        change_folder_by_shell(&mut order)?;
    }
    let errors = order.written.errors.as_ref();
    let errors = errors.unwrap_or(&order.written.output);
    let line = ledger::add(order.number);
    let leader = Launch {
        program: &order.program,
        arguments: &order.arguments,
        environment: &order.environment,
        streams: [
            order.input.as_raw_fd(),
            order.written.output.as_raw_fd(),
            errors.as_raw_fd(),
        ],
        closed: inherited,
        blocked: SigSet::empty(),
    }
    .start()?;
    line.started(leader);
    Ok(Tree::new(leader, order.mark, line))
}

fn start_watcher(watcher: &Watcher, inherited: &[RawFd]) {
    if let Err(error) = watcher.start(inherited) {
        tracing::warn!(%error, "nobody will end running programs if this process is killed");
    }
}

/// Descriptors that this process was started with and would pass on. Those it opens itself are
/// closed in a program anyway.
fn inherited() -> Vec<RawFd> {
    let Ok(folder) = std::fs::read_dir("/proc/self/fd") else {
        return Vec::new();
    };
    let passed_on = |descriptor: &RawFd| {
        let path = format!("/proc/self/fdinfo/{descriptor}");
        let info = std::fs::read_to_string(path).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        // Where a process that may not be dumped cannot even read this, all are closed.
        flags.is_none_or(|flags| flags & OFlags::CLOEXEC.bits() == 0)
    };
    folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2 && passed_on(descriptor))
        .collect()
}

fn change_folder_by_shell(order: &mut Order) -> io::Result<()> {
    let handle = format!("/proc/self/fd/{}", order.folder.as_raw_fd());
    let folder = rustix::fs::readlinkat(CWD, handle, Vec::new())?;
    let program = std::mem::replace(&mut order.program, c"/bin/sh".to_owned());
    let arguments = std::mem::take(&mut order.arguments);
    order.arguments = [
        c"sh".to_owned(),
        c"-c".to_owned(),
        c"cd -- \"$0\" && exec \"$@\"".to_owned(),
        folder,
        program,
    ]
    .into_iter()
    .chain(arguments.into_iter().skip(1))
    .collect();
    Ok(())
}

fn text(text: &OsStr) -> Result<CString, DomainError> {
    CString::new(text.as_bytes()).map_err(|_| {
        DomainError::new(
            ErrorKind::Invalid,
            "nul",
            format!("{text:?} contains a NUL byte"),
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::path::Path;
    use std::sync::Arc;

    use super::{Command, Order, Variables, Written, start};

    /// Where a thread may not have a folder of its own, a shell changes it.
    #[test]
    fn a_shell_changes_the_folder_where_the_thread_may_not()
    -> Result<(), Box<dyn std::error::Error>> {
        let folder: OwnedFd = std::fs::File::open("/usr")?.into();
        let (mut read, write) = std::io::pipe()?;
        let command = Command {
            program: "sh".to_owned(),
            arguments: ["-c", "pwd; echo \"$@\"", "name", "a b", "$0"]
                .map(str::to_owned)
                .to_vec(),
            ..Command::default()
        };
        let written = Written {
            output: write.into(),
            errors: None,
        };
        let input = std::fs::File::open("/dev/null")?.into();
        let order = Order::new(
            Path::new("/bin/sh"),
            &command,
            &Variables::new(),
            Arc::new(folder),
            input,
            written,
        )?;
        let _ended_on_drop = start(order, false, &[])?;
        let mut output = String::new();
        read.read_to_string(&mut output)?;
        assert_eq!(output, "/usr\na b $0\n");
        Ok(())
    }
}
