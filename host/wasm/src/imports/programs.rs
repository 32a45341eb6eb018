//! `process`: from the contract's types to what runs the programs, for the calling session.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use raddle_core::plugins::{DomainError, ErrorKind, Progress, SessionServices};

use super::capabilities::{holdings, resolve};
use super::process::{self as programs, Command, Companion, Heard, Permissions, Policy, Processes};
use super::services::answer;
use super::{Profile, State};
use crate::bindings::{process, types};
use crate::contributions;
use crate::grants::{ProcessGrant, Sandbox};
use crate::weight::Weight as _;

/// Programs that one call may talk with at once.
const MAX_COMPANIONS: usize = 8;

/// Bytes that one `read` gives at most.
const MAX_HEARD: u32 = 1024 * 1024;

impl process::Host for State {
    async fn run(
        &mut self,
        command: process::Command,
    ) -> wasmtime::Result<Result<process::Completed, types::Error>> {
        self.charge(command.weight() + command.input.len())?;
        let completed = self.run_program(command).await;
        if let Ok(completed) = &completed {
            self.charge(completed.output.len() + completed.errors.len())?;
        }
        answer(completed)
    }

    async fn open(
        &mut self,
        program: process::Companion,
    ) -> wasmtime::Result<Result<u32, types::Error>> {
        self.charge(program.weight())?;
        answer(self.open_companion(program).await)
    }

    async fn write(
        &mut self,
        program: u32,
        bytes: Vec<u8>,
    ) -> wasmtime::Result<Result<(), types::Error>> {
        self.charge(bytes.len())?;
        answer(match self.companion(program) {
            Ok(companion) => companion.write(&bytes).await,
            Err(error) => Err(error),
        })
    }

    async fn read(
        &mut self,
        program: u32,
        max: u32,
        timeout_ms: u32,
    ) -> wasmtime::Result<Result<process::Heard, types::Error>> {
        let max = max.min(MAX_HEARD).min(self.host_calls_left()) as usize;
        let limit = Duration::from_millis(timeout_ms.into());
        // A child has a time limit of its own, and an agent thinks for as long as it takes.
        let held = self.caller.child.is_some().then(|| self.deadline.hold());
        let heard = match self.companion(program) {
            Ok(companion) => Ok(companion.read(max, limit).await),
            Err(error) => Err(error),
        };
        drop(held);
        if let Ok(Heard::Output(bytes)) = &heard {
            self.charge(bytes.len())?;
        }
        answer(heard.map(|heard| match heard {
            Heard::Output(bytes) => process::Heard::Output(bytes),
            Heard::Silence => process::Heard::Silence,
            Heard::End => process::Heard::End,
        }))
    }

    async fn close(
        &mut self,
        program: u32,
    ) -> wasmtime::Result<Result<process::Completed, types::Error>> {
        let companion = self.companions.remove(&program);
        let completed = match companion {
            Some(companion) => Ok(completed(companion.close().await)),
            None => Err(no_companion(program)),
        };
        if let Ok(completed) = &completed {
            self.charge(completed.errors.len())?;
        }
        answer(completed)
    }
}

impl State {
    /// The programs of the calling session.
    fn processes(&self) -> Result<Arc<Processes>, DomainError> {
        let session = self.session()?;
        holdings(&*session)?.processes(&self.profile, || {
            let Profile { grants, host, .. } = &*self.profile;
            let grant = grants.process.as_ref().ok_or_else(|| {
                DomainError::new(ErrorKind::Denied, "not-granted", "no program is granted")
            })?;
            let directory = resolve(&grant.directory, &*session)?;
            Ok(Permissions {
                policy: policy(grant, &directory, &*session)?,
                programs: grant.programs.clone(),
                directory,
                environment: grant.environment.clone(),
                withheld: host.withheld.clone(),
                host_environment: host.variables.clone(),
                watcher: host.watcher.clone(),
            })
        })
    }

    async fn run_program(
        &mut self,
        command: process::Command,
    ) -> Result<process::Completed, DomainError> {
        let processes = self.processes()?;
        let mut show = |chunk: &str| {
            if let Some(session) = &self.caller.session {
                let chunk = Progress::Output(chunk.to_owned());
                session.progress(&self.profile.id, self.caller.call_id.as_deref(), chunk);
            }
        };
        let live = command.live;
        let command = Command {
            program: command.program,
            arguments: command.arguments,
            cwd: command.cwd,
            environment: contributions::facts(command.environment_variables),
            input: command.input,
            timeout: command
                .timeout_ms
                .map(|timeout| Duration::from_millis(timeout.into())),
            max_output: command.max_output,
            merge: command.merge,
        };
        let completed = processes
            .run(&command, if live { Some(&mut show) } else { None })
            .await?;
        Ok(self::completed(completed))
    }

    async fn open_companion(&mut self, program: process::Companion) -> Result<u32, DomainError> {
        self.changed_session()?;
        if self.companions.len() >= MAX_COMPANIONS {
            let message = format!("{MAX_COMPANIONS} programs are open already");
            return Err(DomainError::new(ErrorKind::Limit, "companions", message));
        }
        let command = Command {
            program: program.program,
            arguments: program.arguments,
            cwd: program.cwd,
            environment: contributions::facts(program.environment_variables),
            ..Command::default()
        };
        let companion = self.processes()?.open_companion(&command).await?;
        self.companions_opened += 1;
        self.companions.insert(self.companions_opened, companion);
        Ok(self.companions_opened)
    }

    fn companion(&mut self, number: u32) -> Result<&mut Companion, DomainError> {
        let companion = self.companions.get_mut(&number);
        companion.ok_or_else(|| no_companion(number))
    }
}

fn no_companion(number: u32) -> DomainError {
    let message = format!("no program {number} is open");
    DomainError::new(ErrorKind::NotFound, "companion", message)
}

fn completed(completed: programs::Completed) -> process::Completed {
    process::Completed {
        code: completed.code,
        signal: completed.signal,
        timed_out: completed.timed_out,
        output: completed.output,
        errors: completed.errors,
        omitted: u32::try_from(completed.omitted).unwrap_or(u32::MAX),
    }
}

/// What the programs of a grant are held to. Where this machine cannot hold them, and need not, that
/// was said when the deployment was loaded.
fn policy(
    grant: &ProcessGrant,
    directory: &Path,
    session: &dyn SessionServices,
) -> Result<Option<Policy>, DomainError> {
    let is_held = match grant.sandbox {
        Sandbox::Off => false,
        Sandbox::Try => programs::support().is_ok(),
        Sandbox::Require => true,
    };
    if !is_held {
        return Ok(None);
    }
    let mut write = vec![directory.to_path_buf(), std::env::temp_dir()];
    for folder in &grant.write {
        write.push(resolve(folder, session)?);
    }
    let network = grant.network;
    Ok(Some(Policy { write, network }))
}
