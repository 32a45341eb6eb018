//! Starting a program.
//!
//! `posix_spawn` shares the host's memory with the child until it runs the program; a fork, which
//! the standard library falls back to for a new session, copies the page tables first and costs
//! several times as much in a process of this size. `posix_spawn` has no portable way to set the
//! folder, though. So one thread with a current folder of its own starts all programs; the child
//! inherits it, by handle.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};

use nix::sched::CloneFlags;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::{SigSet, Signal};
use raddle_core::plugins::{DomainError, ErrorKind};
use rustix::fs::{CWD, OFlags};
use rustix::process::Pid;
use tokio::sync::oneshot;

use super::Command;
use super::capture::Written;
use super::environment::Variables;
use super::tree::{MARK, Tree};

/// Everything the starting thread needs.
#[derive(Debug)]
pub(super) struct Order {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    folder: Arc<OwnedFd>,
    input: OwnedFd,
    written: Written,
    mark: String,
}

impl Order {
    pub(super) fn new(
        program: &Path,
        command: &Command,
        mut variables: Variables,
        folder: Arc<OwnedFd>,
        input: OwnedFd,
        written: Written,
    ) -> Result<Self, DomainError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}.{number}", std::process::id());
        variables.insert(MARK.to_owned(), mark.clone().into());
        let arguments = std::iter::once(&command.program).chain(&command.arguments);
        Ok(Self {
            program: text(program.as_os_str())?,
            arguments: arguments
                .map(|argument| text(argument.as_ref()))
                .collect::<Result<_, _>>()?,
            environment: variables
                .iter()
                .map(|(name, value)| {
                    let mut pair = std::ffi::OsString::from(name);
                    pair.push("=");
                    pair.push(value);
                    text(&pair)
                })
                .collect::<Result<_, _>>()?,
            folder,
            input,
            written,
            mark,
        })
    }
}

/// Starts a program. When the future is dropped meanwhile, the program is ended.
pub(super) async fn spawn(order: Order) -> io::Result<Tree> {
    let (answer, answered) = oneshot::channel();
    let gone = |_| io::Error::other("the starting thread is gone");
    starter()?
        .send((order, answer))
        .map_err(|_| io::Error::other("the starting thread is gone"))?;
    answered.await.map_err(gone)?
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

type Job = (Order, oneshot::Sender<io::Result<Tree>>);

fn starter() -> io::Result<mpsc::Sender<Job>> {
    static STARTER: OnceLock<Option<mpsc::Sender<Job>>> = OnceLock::new();
    STARTER
        .get_or_init(|| {
            let (jobs, queue) = mpsc::channel::<Job>();
            std::thread::Builder::new()
                .name("raddle-spawn".to_owned())
                .stack_size(256 * 1024)
                .spawn(move || {
                    // Some container rules forbid this; then a shell changes the folder.
                    let own_folder = nix::sched::unshare(CloneFlags::CLONE_FS).is_ok();
                    let inherited = inherited();
                    for (order, answer) in queue {
                        // Nobody waits any more: the tree that comes back ends when it is dropped.
                        drop(answer.send(start(order, own_folder, &inherited)));
                    }
                })
                .ok()
                .map(|_| jobs)
        })
        .clone()
        .ok_or_else(|| io::Error::other("no thread to start programs on"))
}

/// Starts a program in a new session, with the three standard streams and no other. With
/// `own_folder`, this thread's current folder is its own to change.
fn start(mut order: Order, own_folder: bool, inherited: &[RawFd]) -> io::Result<Tree> {
    if own_folder {
        rustix::process::fchdir(&*order.folder)?;
    } else {
        change_folder_by_shell(&mut order)?;
    }
    let mut streams = PosixSpawnFileActions::init()?;
    streams.add_dup2(order.input.as_raw_fd(), 0)?;
    streams.add_dup2(order.written.output.as_raw_fd(), 1)?;
    let errors = order.written.errors.as_ref();
    let errors = errors.unwrap_or(&order.written.output);
    streams.add_dup2(errors.as_raw_fd(), 2)?;
    for descriptor in inherited {
        streams.add_close(*descriptor)?;
    }

    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
            | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK
            | PosixSpawnFlags::from_bits_retain(nix::libc::POSIX_SPAWN_SETSID.into()),
    )?;
    // The Rust runtime ignores it; programs expect it to end them.
    let mut defaults = SigSet::empty();
    defaults.add(Signal::SIGPIPE);
    attributes.set_sigdefault(&defaults)?;
    attributes.set_sigmask(&SigSet::empty())?;

    let id = nix::spawn::posix_spawn(
        order.program.as_c_str(),
        &streams,
        &attributes,
        &order.arguments,
        &order.environment,
    )?;
    let leader =
        Pid::from_raw(id.as_raw()).ok_or_else(|| io::Error::other("no process was started"))?;
    Ok(Tree::new(leader, &order.mark))
}

/// Descriptors that this process was started with and would pass on. Those it opens itself are
/// closed in a program anyway.
fn inherited() -> Vec<RawFd> {
    let Ok(folder) = std::fs::read_dir("/proc/self/fdinfo") else {
        return Vec::new();
    };
    let passed_on = |descriptor: &RawFd| {
        let path = format!("/proc/self/fdinfo/{descriptor}");
        let info = std::fs::read_to_string(path).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        flags.is_some_and(|flags| flags & OFlags::CLOEXEC.bits() == 0)
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
            Variables::new(),
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
