//! What guests import: the state of one call, and the host functions that act on it. What stands
//! behind `workspace` and `process` is plain Rust that knows no runtime, so that its rules can be
//! tested without one.

mod capabilities;
mod clock;
mod holdings;
mod http;
mod inject;
mod model;
pub mod process;
mod programs;
mod services;
mod sessions;
mod skills;
mod tasks;
pub mod workspace;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use raddle_core::plugins::{Caller, DomainError, ErrorKind, LimitKind, SessionServices};
use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::bindings::{self, log, progress, session_state, settings_host, types};
use crate::deadline::Deadline;
use crate::grants::Grants;
use crate::last_words::LastWords;
use crate::limits::{Limits, Meter};
use crate::settings::Declared;

/// Random bytes a guest may ask for at once.
const MAX_RANDOM: u64 = 1 << 20;

/// What stays the same for every call of one plugin.
#[derive(Debug)]
pub(crate) struct Profile {
    /// Its id in the deployment.
    pub(crate) id: String,
    /// No other loading of any plugin has it: what a session keeps by the grants of one is not
    /// used by the grants of another.
    pub(crate) number: u64,
    /// Its settings, as JSON text.
    pub(crate) settings: String,
    /// The files these name; not set before they are checked.
    pub(crate) files: OnceLock<Declared>,
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) host: Arc<HostEnvironment>,
}

/// What programs get of the host.
#[derive(Debug, Clone)]
pub(crate) struct HostEnvironment {
    /// Its environment variables.
    pub(crate) variables: BTreeMap<String, OsString>,
    /// Names of those that no program ever gets.
    pub(crate) withheld: Vec<String>,
    /// What ends them when the host is killed.
    pub(crate) watcher: Option<process::Watcher>,
    /// One permit for each call that may wait for a child.
    pub(crate) children: Arc<tokio::sync::Semaphore>,
}

/// Why an instance runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To contribute or to answer: clocks and random numbers are the same every time, so that the
    /// same deployment gives the same bytes. Texts get the time from their context.
    Text,
    /// To act: clocks and random numbers are real.
    Act,
}

/// The data of one store: one call, or one set of questions.
pub(crate) struct State {
    pub(crate) profile: Arc<Profile>,
    purpose: Purpose,
    pub(crate) caller: Caller,
    pub(crate) meter: Meter,
    deadline: Deadline,
    /// Bytes that host calls may still move.
    host_calls: usize,
    wasi: WasiCtx,
    resources: ResourceTable,
    http: WasiHttpCtx,
    gate: http::Gate,
    /// The programs that are talked with, by number.
    companions: BTreeMap<u32, process::Companion>,
    companions_opened: u32,
}

impl State {
    pub(crate) fn new(
        profile: Arc<Profile>,
        purpose: Purpose,
        caller: Caller,
        deadline: Deadline,
        last_words: LastWords,
    ) -> Self {
        let mut wasi = WasiCtx::builder();
        wasi.stderr(last_words).max_random_size(MAX_RANDOM);
        if purpose == Purpose::Text {
            clock::fix(&mut wasi);
        }
        Self {
            purpose,
            caller,
            deadline,
            meter: Meter::new(profile.limits),
            host_calls: profile.limits.host_calls,
            wasi: wasi.build(),
            resources: ResourceTable::new(),
            http: WasiHttpCtx::new(),
            gate: http::Gate::new(profile.clone()),
            companions: BTreeMap::new(),
            companions_opened: 0,
            profile,
        }
    }

    /// The calling session, or the answer that there is none.
    fn session(&self) -> Result<Arc<dyn SessionServices>, DomainError> {
        self.caller.session.clone().ok_or_else(|| {
            DomainError::new(
                ErrorKind::Unavailable,
                "no-session",
                "there is no session here",
            )
        })
    }

    /// The same for what changes the session: a call may, a text that is asked for may not. A text
    /// is asked for as often as it is needed, also to look at a prompt that nobody sends.
    fn changed_session(&self) -> Result<Arc<dyn SessionServices>, DomainError> {
        let session = self.session()?;
        match self.purpose {
            Purpose::Act => Ok(session),
            Purpose::Text => Err(DomainError::new(
                ErrorKind::Denied,
                "no-call",
                "a text that is asked for does not change the session: a tool call may",
            )),
        }
    }

    /// Bytes that host calls may still move, as far as the contract counts.
    fn host_calls_left(&self) -> u32 {
        u32::try_from(self.host_calls).unwrap_or(u32::MAX)
    }

    /// Counts bytes that a host call moves.
    fn charge(&mut self, bytes: usize) -> wasmtime::Result<()> {
        match self.host_calls.checked_sub(bytes) {
            Some(left) => {
                self.host_calls = left;
                Ok(())
            }
            None => Err(self.profile.limits.breach(LimitKind::HostCalls).into()),
        }
    }
}

/// A linker with everything but `wasi:http`. Grants are checked when a component is loaded; what
/// is linked here refuses by itself what it has no grant for.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    types::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    log::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    settings_host::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    session_state::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::inject::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::model::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::sessions::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::skills_host::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::tasks::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    progress::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::workspace::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    bindings::process::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// `linker` with `wasi:http` as well.
pub(crate) fn with_http(linker: &Linker<State>) -> wasmtime::Result<Linker<State>> {
    let mut linker = linker.clone();
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    Ok(linker)
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.resources,
        }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            ctx: &mut self.http,
            table: &mut self.resources,
            hooks: &mut self.gate,
        }
    }
}

impl types::Host for State {}
