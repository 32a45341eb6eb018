//! What the deployer allows a plugin to touch. Plain data: the
//! command line builds it from `[plugins.ID] grants`, nothing else can.

use std::fmt;
use std::path::PathBuf;

use raddle_core::plugins::ChildLimits;

/// Grants of one plugin. The default grants nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Directories behind the `workspace` import; empty means the import is not granted.
    pub workspace: Vec<WorkspaceGrant>,
    /// Hosts that `wasi:http` may reach; empty means the import is not granted.
    pub http: Vec<HttpHost>,
    /// Programs behind the `process` import.
    pub process: Option<ProcessGrant>,
    /// Requests behind the `model` import.
    pub model: Option<ModelGrant>,
    /// Children behind the `sessions` import.
    pub sessions: Option<ChildLimits>,
}

/// What the `model` import may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelGrant {
    /// Most tokens of one answer.
    pub max_tokens: u32,
}

/// One directory behind the `workspace` import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceGrant {
    /// Which directory.
    pub directory: Directory,
    /// What may be done in it.
    pub access: Access,
}

/// A directory of a grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Directory {
    /// The calling session's directory: `"<session>"` in the deployment.
    #[default]
    Session,
    /// An absolute path.
    Path(PathBuf),
}

/// What a `workspace` grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reading, listing and searching: `"ro"`.
    Read,
    /// Also replacing and removing files: `"rw"`.
    ReadWrite,
}

/// What the `process` import may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessGrant {
    /// Names of programs, found on the host's path, or absolute paths.
    pub programs: Vec<String>,
    /// Where they run; a command's own `cwd` stays inside it.
    pub directory: Directory,
    /// Names of the host's environment variables that are passed on, beyond the harmless ones.
    pub environment: Vec<String>,
    /// Where they may change files, beside that folder and the one for temporary files.
    pub write: Vec<Directory>,
    /// Whether they may use the network.
    pub network: bool,
    /// Whether they are held to all of this by the system.
    pub sandbox: Sandbox,
}

/// Whether the system holds programs to their grant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sandbox {
    /// Where it can.
    #[default]
    Try,
    /// Or they do not run.
    Require,
    /// They may do whatever the user may.
    Off,
}

/// A host that `wasi:http` may reach.
///
/// Written `host`, `host:port`, `*.domain` or `*.domain:port`. Without a port it stands for the
/// default port of the scheme (80, 443) only. The wildcard stands for one or more labels, so
/// `*.example.com` covers `a.example.com` and `a.b.example.com` but not `example.com`. Names
/// compare without regard to case; addresses are written as in a URL (`[::1]:8080`). There is no
/// form that grants every host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpHost {
    name: String,
    subdomains: bool,
    port: Option<u16>,
}

/// A string that is not an [`HttpHost`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{written}` is not a host: {reason}")]
pub struct HostSyntax {
    /// What was written.
    pub written: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl HttpHost {
    /// Reads a host as the deployment writes it.
    ///
    /// # Errors
    ///
    /// [`HostSyntax`] for anything but the four forms.
    pub fn parse(written: &str) -> Result<Self, HostSyntax> {
        let fault = |reason| HostSyntax {
            written: written.to_owned(),
            reason,
        };
        if written.contains("://") || written.contains('/') {
            return Err(fault("write the host alone, without scheme or path"));
        }
        let (subdomains, rest) = match written.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, written),
        };
        let (name, port) = split_port(rest).map_err(fault)?;
        if name.contains('*') {
            return Err(fault(
                "a wildcard stands at the front, as in `*.example.com`",
            ));
        }
        if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '@') {
            return Err(fault("a host name or an address is expected"));
        }
        Ok(Self {
            name: name.to_ascii_lowercase(),
            subdomains,
            port,
        })
    }

    /// Whether a request to `host` and `port` is covered. `default_port` is the scheme's.
    pub fn covers(&self, host: &str, port: u16, default_port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let name = if self.subdomains {
            host.strip_suffix(&self.name)
                .and_then(|front| front.strip_suffix('.'))
                .is_some_and(|label| !label.is_empty())
        } else {
            host == self.name
        };
        name && port == self.port.unwrap_or(default_port)
    }
}

impl fmt::Display for HttpHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.subdomains {
            formatter.write_str("*.")?;
        }
        formatter.write_str(&self.name)?;
        match self.port {
            Some(port) => write!(formatter, ":{port}"),
            None => Ok(()),
        }
    }
}

/// Splits `name:port`; brackets keep the colons of an IPv6 address together.
fn split_port(written: &str) -> Result<(&str, Option<u16>), &'static str> {
    let name_end = match written.strip_prefix('[') {
        Some(inner) => inner.find(']').map(|end| end + 2),
        None => Some(written.find(':').unwrap_or(written.len())),
    };
    let (name, rest) = name_end
        .and_then(|end| written.split_at_checked(end))
        .ok_or("an address in brackets does not end")?;
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok((name, None)),
        None => Err("only a port may follow the host"),
        Some(port) => match port.parse() {
            Ok(port) if port != 0 => Ok((name, Some(port))),
            _ => Err("the port is not a number from 1 to 65535"),
        },
    }
}
