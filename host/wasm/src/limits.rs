//! What one plugin may use up, and how it is watched.

use std::fmt;
use std::time::Duration;

use raddle_core::plugins::{Fault, LimitKind};
use wasmtime::ResourceLimiter;

/// Limits of one plugin, for each call (for `answer`: for each set of questions).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all its memories together, their initial sizes included.
    pub memory: usize,
    /// Elements of all its tables together, their initial sizes included.
    pub table_elements: usize,
    /// Bytes of what one exported function returns.
    pub output: usize,
    /// Bytes moved through host calls, arguments and results together.
    pub host_calls: usize,
    /// Wall clock, from before its start functions run to the answer.
    pub timeout: Duration,
    /// Calls that run at the same time, of all sessions together; further ones wait.
    pub concurrency: usize,
    /// How often in a row one of its functions may fail before it is called no more.
    pub strikes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            table_elements: 100_000,
            output: 1 << 20,
            host_calls: 64 << 20,
            timeout: Duration::from_secs(30),
            concurrency: 64,
            strikes: 5,
        }
    }
}

impl Limits {
    /// The breach of one of these limits.
    pub(crate) fn breach(&self, limit: LimitKind) -> Breach {
        let allowed = match limit {
            LimitKind::Memory => size(self.memory),
            LimitKind::Tables => format!("{} elements", self.table_elements),
            LimitKind::Stack => size(MAX_WASM_STACK),
            LimitKind::Output => size(self.output),
            LimitKind::HostCalls => size(self.host_calls),
            LimitKind::Time => duration(self.timeout),
        };
        Breach { limit, allowed }
    }
}

/// Stack of a guest. One for all plugins: the engine fixes it.
pub(crate) const MAX_WASM_STACK: usize = 512 << 10;

/// Core instances, memories and tables of one component. Components that interpreters come in
/// have some dozens of core instances and one memory.
pub(crate) const MAX_CORE_INSTANCES: u32 = 200;
/// See [`MAX_CORE_INSTANCES`].
pub(crate) const MAX_MEMORIES: u32 = 4;
/// See [`MAX_CORE_INSTANCES`].
pub(crate) const MAX_TABLES: u32 = 8;

/// A limit was reached: the error that ends the guest, and the fault it becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    limit: LimitKind,
    allowed: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "over the {} limit of {}",
            self.limit, self.allowed
        )
    }
}

impl std::error::Error for Breach {}

impl From<Breach> for Fault {
    fn from(breach: Breach) -> Self {
        Self::Limit {
            limit: breach.limit,
            allowed: breach.allowed,
        }
    }
}

/// Counts the memory and the tables of one store. Going over a limit ends the guest instead of
/// failing the growth, so that the deployer reads which limit it was.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    memory: Count,
    table_elements: Count,
}

/// A sum that can take its last addition back.
#[derive(Debug, Default)]
struct Count {
    total: usize,
    last: usize,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            memory: Count::default(),
            table_elements: Count::default(),
        }
    }
}

impl Count {
    /// Adds the growth from `current` to `desired`, or says that it goes over `allowed`.
    fn grow(&mut self, current: usize, desired: usize, allowed: usize) -> bool {
        self.last = desired.saturating_sub(current);
        self.total = self.total.saturating_add(self.last);
        self.total <= allowed
    }

    fn take_back(&mut self) {
        self.total = self.total.saturating_sub(std::mem::take(&mut self.last));
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if !self.memory.grow(current, desired, self.limits.memory) {
            return Err(self.limits.breach(LimitKind::Memory).into());
        }
        let fits = maximum.is_none_or(|maximum| desired <= maximum);
        if !fits {
            self.memory.take_back();
        }
        Ok(fits)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.memory.take_back();
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if !self
            .table_elements
            .grow(current, desired, self.limits.table_elements)
        {
            return Err(self.limits.breach(LimitKind::Tables).into());
        }
        let fits = maximum.is_none_or(|maximum| desired <= maximum);
        if !fits {
            self.table_elements.take_back();
        }
        Ok(fits)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.table_elements.take_back();
        Ok(())
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES as usize
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES as usize
    }
}

/// A size for people: the largest binary unit that divides it.
pub(crate) fn size(bytes: usize) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes != 0 && bytes.trailing_zeros() >= shift {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} bytes")
}

fn duration(duration: Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{} s", duration.as_secs()),
        _ => format!("{} ms", duration.as_millis()),
    }
}
