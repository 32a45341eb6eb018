//! Who may do what.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};
use sha2::{Digest as _, Sha256};

use super::problem::Problem;
use crate::config::{Scope, Token};
use crate::failure::Failure;

/// The tokens of a host, and the address it listens at.
pub(crate) struct Access {
    tokens: Vec<Known>,
    address: SocketAddr,
}

struct Known {
    name: String,
    digest: [u8; 32],
    scopes: Vec<Scope>,
}

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    /// The name of the token; none where no token is needed.
    pub(crate) name: Option<String>,
    scopes: Option<Vec<Scope>>,
}

impl Access {
    /// Reads the tokens from the environment.
    ///
    /// # Errors
    ///
    /// One is not set or too short, or none is there and the address can be reached from elsewhere.
    pub(crate) fn new(tokens: &[Token], address: SocketAddr) -> Result<Self, Failure> {
        let known = tokens.iter().map(Known::read);
        let tokens = known.collect::<Result<Vec<_>, _>>()?;
        if tokens.is_empty() && !address.ip().is_loopback() {
            return Err(Failure::Misuse(format!(
                "--listen {address}: everybody who reaches this address could talk to the agent; \
                 write a [[serve.token]], or listen at 127.0.0.1"
            )));
        }
        Ok(Self { tokens, address })
    }

    /// Who sent these headers.
    ///
    /// # Errors
    ///
    /// A page of another origin sent them, or a token is needed and is not there.
    pub(crate) fn client(&self, headers: &HeaderMap) -> Result<Client, Problem> {
        self.refuse_other_origins(headers)?;
        if self.tokens.is_empty() {
            return Ok(Client {
                name: None,
                scopes: None,
            });
        }
        let written = headers.get(header::AUTHORIZATION);
        let written = written.and_then(|value| value.to_str().ok());
        let token = written.and_then(|value| value.split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = token else {
            return Err(Problem::unauthorized("send `Authorization: Bearer TOKEN`"));
        };
        let digest: [u8; 32] = Sha256::digest(token.trim().as_bytes()).into();
        // All are looked at, and digests are compared: time tells nothing about a token.
        let mut found = None;
        for known in &self.tokens {
            if known.digest == digest {
                found = Some(known);
            }
        }
        let known = found.ok_or_else(|| Problem::unauthorized("this token is not known"))?;
        Ok(Client {
            name: Some(known.name.clone()),
            scopes: Some(known.scopes.clone()),
        })
    }

    /// A browser sends what any page wants sent: what comes from elsewhere is not served, nor what was
    /// addressed to another name that somebody made to lead here.
    fn refuse_other_origins(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |name| {
            let value = headers.get(name)?;
            Some(value.to_str().unwrap_or_default())
        };
        let host = text(header::HOST).unwrap_or_default();
        if self.address.ip().is_loopback() && !is_loopback(host) {
            return Err(Problem::forbidden("the `Host` is not this machine"));
        }
        match text(header::ORIGIN) {
            Some(origin) if origin.split_once("://").map(|(_, at)| at) != Some(host) => {
                Err(Problem::forbidden("pages of other origins are not served"))
            }
            _ => Ok(()),
        }
    }
}

impl Client {
    /// # Errors
    ///
    /// The token has none of these scopes.
    pub(crate) fn must_have(&self, scopes: &[Scope]) -> Result<(), Problem> {
        if scopes.iter().any(|scope| self.has(*scope)) {
            return Ok(());
        }
        let names: Vec<&str> = scopes.iter().map(|scope| scope.name()).collect();
        let names = names.join("` or `");
        Err(Problem::forbidden(format!(
            "the token lacks the scope `{names}`"
        )))
    }

    pub(crate) fn has(&self, scope: Scope) -> bool {
        let scopes = self.scopes.as_ref();
        scopes.is_none_or(|scopes| scopes.contains(&scope))
    }

    /// Whether a session of `owner` is its own.
    pub(crate) fn owns(&self, owner: Option<&str>) -> bool {
        match &self.name {
            Some(name) => owner == Some(name),
            None => true,
        }
    }
}

/// Characters of the shortest token.
const SHORTEST: usize = 16;

impl Known {
    fn read(token: &Token) -> Result<Self, Failure> {
        let Token { name, env, scopes } = token;
        let value = std::env::var(env).unwrap_or_default();
        let value = value.trim();
        if value.len() < SHORTEST {
            return Err(Failure::Unable(anyhow::anyhow!(
                "the token `{name}` needs the environment variable {env} with at least {SHORTEST} \
                 characters"
            )));
        }
        Ok(Self {
            name: name.clone(),
            digest: Sha256::digest(value.as_bytes()).into(),
            scopes: scopes.clone(),
        })
    }
}

fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
