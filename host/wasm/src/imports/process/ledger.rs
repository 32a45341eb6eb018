//! The list of what runs, in a file in memory, so that the watcher can read it when this process
//! is gone. Writing to it wakes nobody.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::fs::MemfdFlags;
use rustix::io::{pread, pwrite};
use rustix::process::Pid;

/// Bytes of a line: two numbers.
const LINE: usize = 16;

const EMPTY: [u8; LINE] = [0; LINE];

/// A program that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Running {
    /// From 1, in the order of their starts.
    pub(super) number: u64,
    /// `None` while it is being started.
    pub(super) leader: Option<Pid>,
}

struct Ledger {
    memory: OwnedFd,
    /// Which lines are taken.
    taken: Mutex<Vec<bool>>,
}

/// A line of the list. Dropping it strikes it out.
#[derive(Debug)]
pub(super) struct Line {
    number: u64,
    /// `None` where there is no list: then nobody learns of the program.
    place: Option<usize>,
}

/// Adds a program that is about to be started.
pub(super) fn add(number: u64) -> Line {
    let place = LEDGER.get_or_init(Ledger::open).as_ref().map(|ledger| {
        let mut taken = ledger.taken();
        let free = taken.iter().position(|taken| !taken);
        let place = free.unwrap_or(taken.len());
        match taken.get_mut(place) {
            Some(line) => *line = true,
            None => taken.push(true),
        }
        place
    });
    let line = Line { number, place };
    line.write(encode(number, None));
    line
}

/// The list of this process.
pub(super) fn file() -> Option<BorrowedFd<'static>> {
    let ledger = LEDGER.get_or_init(Ledger::open).as_ref()?;
    Some(ledger.memory.as_fd())
}

/// What stands in the list of another process.
pub(super) fn read(memory: impl AsFd) -> io::Result<Vec<Running>> {
    let mut running = Vec::new();
    let mut line = EMPTY;
    let mut offset = 0;
    while pread(&memory, &mut line, offset)? == LINE {
        offset += LINE as u64;
        running.extend(decode(line));
    }
    Ok(running)
}

static LEDGER: OnceLock<Option<Ledger>> = OnceLock::new();

impl Ledger {
    fn open() -> Option<Self> {
        let memory = rustix::fs::memfd_create("running", MemfdFlags::CLOEXEC)
            .inspect_err(|error| tracing::warn!(%error, "there is no list of running programs"))
            .ok()?;
        Some(Self {
            memory,
            taken: Mutex::default(),
        })
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Vec<bool>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Line {
    /// Adds that the program was started.
    pub(super) fn started(&self, leader: Pid) {
        self.write(encode(self.number, Some(leader)));
    }

    fn write(&self, line: [u8; LINE]) {
        if let Some(place) = self.place
            && let Some(file) = file()
        {
            // Without memory for it nobody learns of the program: no reason not to run it.
            let _ = pwrite(file, &line, (place * LINE) as u64);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.write(EMPTY);
        if let Some(place) = self.place
            && let Some(Some(ledger)) = LEDGER.get()
        {
            ledger.taken()[place] = false;
        }
    }
}

fn encode(number: u64, leader: Option<Pid>) -> [u8; LINE] {
    let leader = leader.map_or(0, |leader| i64::from(leader.as_raw_nonzero().get()));
    let mut line = EMPTY;
    line[..8].copy_from_slice(&number.to_ne_bytes());
    line[8..].copy_from_slice(&leader.to_ne_bytes());
    line
}

fn decode(line: [u8; LINE]) -> Option<Running> {
    let (number, leader) = line.split_first_chunk()?;
    let number = u64::from_ne_bytes(*number);
    let leader = i64::from_ne_bytes(leader.try_into().ok()?);
    (number != 0).then(|| Running {
        number,
        leader: leader.try_into().ok().and_then(Pid::from_raw),
    })
}
