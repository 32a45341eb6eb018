//! `sessions`: child sessions, within what is granted.

use std::sync::Arc;

use raddle_core::plugins::{
    ChildLimits, ChildReport, ChildStart, ChildState, ChildWork, DomainError, ErrorKind,
    SessionServices,
};

use super::State;
use super::services::answer;
use crate::bindings::{sessions, types};
use crate::contributions;
use crate::weight::Weight as _;

impl sessions::Host for State {
    async fn delegate(
        &mut self,
        child: sessions::Child,
    ) -> wasmtime::Result<Result<sessions::Report, types::Error>> {
        self.charge(child.weight())?;
        let host = Arc::clone(&self.profile.host);
        let waiting = host.children.try_acquire().map_err(|_| crowded());
        let started = waiting.and_then(|waiting| Ok((waiting, self.child(child)?)));
        let report = match started {
            Ok((_waiting, (session, start))) => {
                let _held = self.deadline.hold();
                session.delegate(self.caller.clone(), start).await
            }
            Err(error) => Err(error),
        };
        self.report(report)
    }

    async fn detach(
        &mut self,
        child: sessions::Child,
    ) -> wasmtime::Result<Result<String, types::Error>> {
        self.charge(child.weight())?;
        let id = match self.child(child) {
            Ok((session, start)) => session.detach(self.caller.clone(), start).await,
            Err(error) => Err(error),
        };
        answer(id)
    }

    async fn status(
        &mut self,
        session: String,
    ) -> wasmtime::Result<Result<sessions::State, types::Error>> {
        self.charge(session.len())?;
        let state = match self.session() {
            Ok(parent) => parent.child_state(&session).await,
            Err(error) => Err(error),
        };
        let state = match state {
            Ok(ChildState::Running) => Ok(sessions::State::Running),
            Ok(ChildState::Ended(report)) => {
                let report = report_out(report);
                self.charge(report.weight())?;
                Ok(sessions::State::Ended(report))
            }
            Ok(ChildState::Failed(error)) => Ok(sessions::State::Failed(error.into())),
            Err(error) => Err(error),
        };
        answer(state)
    }

    async fn cancel(&mut self, session: String) -> wasmtime::Result<Result<bool, types::Error>> {
        self.charge(session.len())?;
        let ran = match self.changed_session() {
            Ok(parent) => parent.cancel_child(&session).await,
            Err(error) => Err(error),
        };
        answer(ran)
    }

    async fn run(
        &mut self,
        work: sessions::Work,
    ) -> wasmtime::Result<Result<sessions::Report, types::Error>> {
        self.charge(work.weight())?;
        let host = Arc::clone(&self.profile.host);
        let waiting = host.children.try_acquire().map_err(|_| crowded());
        let seated = waiting.and_then(|waiting| Ok((waiting, self.child_limits()?, self.seat()?)));
        let report = match seated {
            Ok((_waiting, limits, seat)) => {
                let _held = self.deadline.hold();
                let work = ChildWork {
                    prompt: work.prompt,
                    agent: work.agent,
                    inherit: work.inherit,
                    limits,
                };
                seat.run(work).await
            }
            Err(error) => Err(error),
        };
        self.report(report)
    }
}

impl State {
    /// The session that starts a child, and what it asks for.
    fn child(
        &self,
        child: sessions::Child,
    ) -> Result<(Arc<dyn SessionServices>, ChildStart), DomainError> {
        let start = ChildStart {
            provider: child.provider,
            prompt: child.prompt,
            agent: child.agent,
            options: contributions::facts(child.options),
            limits: self.child_limits()?,
        };
        Ok((self.changed_session()?, start))
    }

    fn child_limits(&self) -> Result<ChildLimits, DomainError> {
        self.profile.grants.sessions.ok_or_else(|| {
            DomainError::new(ErrorKind::Denied, "not-granted", "no session is granted")
        })
    }

    /// The child that the plugin was asked to run.
    fn seat(&self) -> Result<Arc<dyn raddle_core::plugins::Child>, DomainError> {
        self.caller.child.clone().ok_or_else(|| {
            let message = "only `subagents.start` runs a child";
            DomainError::new(ErrorKind::Denied, "no-start", message)
        })
    }

    fn report(
        &mut self,
        report: Result<ChildReport, DomainError>,
    ) -> wasmtime::Result<Result<sessions::Report, types::Error>> {
        let report = report.map(report_out);
        if let Ok(report) = &report {
            self.charge(report.weight())?;
        }
        answer(report)
    }
}

fn crowded() -> DomainError {
    let message = "too many sessions of this host have children just now";
    DomainError::new(ErrorKind::Limit, "crowded", message)
}

fn report_out(report: ChildReport) -> sessions::Report {
    sessions::Report {
        session: report.session,
        text: report.outcome.text,
        details: report.outcome.details.map(|details| details.to_string()),
    }
}
