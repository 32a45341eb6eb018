//! A program and everything it started.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use futures::future::join_all;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open,
    pidfd_send_signal, test_kill_process_group, waitid,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

use super::ledger::Line;

/// Rounds of looking for processes that were started while others were being killed.
const ROUNDS: usize = 20;

/// How long killed processes may take to be gone.
const KILLED: Duration = Duration::from_millis(500);

/// A running program with all its descendants. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Tree {
    /// The program itself, leader of its own session and process group.
    leader: Pid,
    mark: String,
    reaped: bool,
    finished: bool,
    /// Stands in the list for as long as this does.
    _line: Line,
}

/// How the program itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

/// Which processes of a tree are meant.
#[derive(Debug, Clone)]
pub(super) enum Which {
    /// Every one.
    All,
    /// Those in the program's process group, and those that hold one of these pipes.
    Attached(Vec<String>),
}

impl Tree {
    pub(super) fn new(leader: Pid, mark: String, line: Line) -> Self {
        Self {
            leader,
            mark,
            reaped: false,
            finished: false,
            _line: line,
        }
    }

    /// Waits until the program itself has exited. It stays to be reaped.
    pub(super) async fn exited(&self) -> io::Result<()> {
        ended(pidfd_open(self.leader, PidfdFlags::empty())?).await
    }

    /// Takes the status of the program, if it has exited.
    pub(super) fn reap(&mut self) -> Option<Status> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::Pid(self.leader), options).ok().flatten()?;
        self.reaped = true;
        Some(Status {
            code: status.exit_status(),
            signal: status.terminating_signal(),
        })
    }

    /// Whether nothing is left in the process group. Only true once the program is reaped.
    pub(super) fn group_is_empty(&self) -> bool {
        test_kill_process_group(self.leader) == Err(Errno::SRCH)
    }

    /// Ends processes of the tree: asks them to terminate, and kills them after `grace`.
    pub(super) async fn end(&self, which: Which, grace: Duration) {
        let asked = self.find(which.clone()).await;
        for member in &asked {
            member.signal(Signal::TERM);
            // One that is stopped would not hear it.
            member.signal(Signal::CONT);
        }
        drop(timeout(grace, join_all(asked.into_iter().map(Member::ended))).await);
        for _ in 0..ROUNDS {
            let left = self.find(which.clone()).await;
            if left.is_empty() {
                return;
            }
            for member in &left {
                member.signal(Signal::KILL);
            }
            drop(timeout(KILLED, join_all(left.into_iter().map(Member::ended))).await);
        }
    }

    /// Says that everything that had to end has ended.
    pub(super) fn finish(mut self) {
        self.finished = true;
    }

    async fn find(&self, which: Which) -> Vec<Member> {
        let (leader, mark) = (self.leader, self.mark.clone());
        let search = move || members(Some(leader), mark.as_bytes(), &which);
        tokio::task::spawn_blocking(search)
            .await
            .unwrap_or_default()
    }

    fn kill(&self) {
        if !self.reaped {
            // Stops most of it before the slower search. Fails when there is nobody left.
            let _ = kill_process_group(self.leader, Signal::KILL);
        }
        kill(Some(self.leader), self.mark.as_bytes());
    }
}

/// Kills a program with all its descendants, also where only its mark is known.
pub(super) fn kill(leader: Option<Pid>, mark: &[u8]) {
    let mut killed = BTreeSet::new();
    for _ in 0..ROUNDS {
        let mut news = false;
        for member in members(leader, mark, &Which::All) {
            member.signal(Signal::KILL);
            news |= killed.insert(member.id);
        }
        if !news {
            return;
        }
    }
}

/// When a process was started, in ticks since the machine was.
pub(super) fn started(id: Pid) -> Option<u64> {
    Some(entry_of(id.as_raw_nonzero().get())?.started)
}

impl Drop for Tree {
    fn drop(&mut self) {
        if !self.finished {
            self.kill();
        }
        if self.reaped || self.reap().is_some() {
            return;
        }
        let leader = self.leader;
        let wait = move || waitid(WaitId::Pid(leader), WaitIdOptions::EXITED);
        // Without a thread, a dead process stays in the table until the host ends: no more than that.
        drop(
            std::thread::Builder::new()
                .name("raddle-reap".to_owned())
                .spawn(wait),
        );
    }
}

/// A living process of a tree.
#[derive(Debug)]
struct Member {
    id: i32,
    /// Names this very process, whatever later has its number.
    handle: OwnedFd,
}

impl Member {
    fn signal(&self, signal: Signal) {
        // It has ended meanwhile, or belongs to somebody else (`sudo`): neither can be helped.
        let _ = pidfd_send_signal(&self.handle, signal);
    }

    async fn ended(self) {
        drop(ended(self.handle).await);
    }
}

async fn ended(handle: OwnedFd) -> io::Result<()> {
    #[expect(
        deprecated,
        reason = "unsound only for types that lie about their descriptor; the new way is unsafe"
    )]
    let handle = AsyncFd::with_interest(handle, Interest::READABLE)?;
    handle.readable().await.map(drop)
}

/// What `/proc/ID/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    alive: bool,
    parent: i32,
    group: i32,
    session: i32,
    started: u64,
}

fn members(leader: Option<Pid>, mark: &[u8], which: &Which) -> Vec<Member> {
    let leader = leader.map(|leader| leader.as_raw_nonzero().get());
    let table = processes();
    let first = leader.and_then(|leader| table.get(&leader));
    let first = first.map_or(0, |entry| entry.started);
    let mut tree: BTreeSet<i32> = table
        .iter()
        // Nothing that is older was started by it; and most of a machine is older.
        .filter(|(_, entry)| entry.started >= first)
        .filter(|(id, entry)| {
            let is_leader = |id| Some(id) == leader;
            is_leader(**id) || is_leader(entry.session) || marked(**id, mark)
        })
        .map(|(id, _)| *id)
        .collect();
    loop {
        let children: Vec<i32> = table
            .iter()
            .filter(|(id, entry)| !tree.contains(id) && tree.contains(&entry.parent))
            .map(|(id, _)| *id)
            .collect();
        if children.is_empty() {
            break;
        }
        tree.extend(children);
    }
    let wanted = |id: i32, entry: &Entry| match which {
        Which::All => true,
        Which::Attached(pipes) => Some(entry.group) == leader || holds(id, pipes),
    };
    tree.into_iter()
        .filter_map(|id| Some((id, *table.get(&id)?)))
        .filter(|(id, entry)| entry.alive && wanted(*id, entry))
        .filter_map(|(id, entry)| {
            let handle = pidfd_open(Pid::from_raw(id)?, PidfdFlags::empty()).ok()?;
            // The number may have passed to another process before the handle was opened.
            let same = entry_of(id).is_some_and(|now| now.started == entry.started && now.alive);
            same.then_some(Member { id, handle })
        })
        .collect()
}

fn processes() -> BTreeMap<i32, Entry> {
    let Ok(folder) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, entry_of(id)?)))
        .collect()
}

fn entry_of(id: i32) -> Option<Entry> {
    let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
    parse(&stat)
}

/// Reads `ID (NAME) STATE PARENT GROUP SESSION …`; the name may hold anything, brackets too.
fn parse(stat: &[u8]) -> Option<Entry> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Entry {
        alive: !matches!(state, "Z" | "X" | "x"),
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        session: fields.next()?.parse().ok()?,
        started: fields.nth(15)?.parse().ok()?,
    })
}

fn marked(id: i32, mark: &[u8]) -> bool {
    fs::read(format!("/proc/{id}/environ")).is_ok_and(|environment| {
        environment
            .split(|byte| *byte == 0)
            .any(|pair| pair == mark)
    })
}

fn holds(id: i32, pipes: &[String]) -> bool {
    let Ok(handles) = fs::read_dir(format!("/proc/{id}/fd")) else {
        return false;
    };
    handles
        .filter_map(|handle| fs::read_link(handle.ok()?.path()).ok())
        .any(|target| {
            pipes
                .iter()
                .any(|pipe| target.as_os_str().as_bytes() == pipe.as_bytes())
        })
}

#[cfg(test)]
mod tests {
    use super::{Entry, parse};

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_confuse() {
        let stat = b"42 (a) S b (c) R 7 40 39 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 0";
        let entry = Entry {
            alive: true,
            parent: 7,
            group: 40,
            session: 39,
            started: 987_654,
        };
        assert_eq!(parse(stat), Some(entry));
        assert_eq!(parse(b"42 (a"), None);
    }
}
