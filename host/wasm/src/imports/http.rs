//! `wasi:http`: requests to granted hosts only. A redirect is the guest's own next request, and
//! is checked like any other.

use std::sync::Arc;

use http::Request;
use http::uri::{Scheme, Uri};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks, default_hooks};

use super::Profile;

/// Lets requests through to the hosts that the plugin's grants name.
pub(super) struct Gate {
    profile: Arc<Profile>,
}

impl Gate {
    pub(super) fn new(profile: Arc<Profile>) -> Self {
        Self { profile }
    }

    fn allows(&self, uri: &Uri) -> bool {
        let Some(authority) = uri.authority() else {
            return false;
        };
        let default_port = if uri.scheme() == Some(&Scheme::HTTPS) {
            443
        } else {
            80
        };
        let port = authority.port_u16().unwrap_or(default_port);
        // A name before an `@` is not part of the host, but reads like one.
        !authority.as_str().contains('@')
            && self
                .profile
                .grants
                .http
                .iter()
                .any(|host| host.covers(authority.host(), port, default_port))
    }
}

type Sent = Result<
    (
        http::Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for Gate {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        finished: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        if self.allows(request.uri()) {
            return default_hooks().send_request(request, options, finished);
        }
        tracing::warn!(
            plugin = self.profile.id,
            host = request
                .uri()
                .authority()
                .map(|authority| authority.as_str()),
            "request to a host that is not granted"
        );
        Box::new(std::future::ready(Err(Error::HttpRequestDenied)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::grants::{Grants, HttpHost};
    use crate::imports::HostEnvironment;
    use crate::limits::Limits;

    fn gate(hosts: &[&str]) -> Gate {
        Gate::new(Arc::new(Profile {
            number: 0,
            id: "guest".to_owned(),
            settings: "{}".to_owned(),
            files: OnceLock::new(),
            grants: Grants {
                http: hosts
                    .iter()
                    .filter_map(|host| HttpHost::parse(host).ok())
                    .collect(),
                ..Grants::default()
            },
            limits: Limits::default(),
            host: Arc::new(HostEnvironment {
                variables: std::collections::BTreeMap::new(),
                withheld: Vec::new(),
                watcher: None,
                children: Arc::new(tokio::sync::Semaphore::new(1)),
            }),
        }))
    }

    #[test]
    fn only_granted_hosts_are_let_through() {
        let gate = gate(&["example.com", "127.0.0.1:8080"]);
        for (uri, allowed) in [
            ("https://example.com/", true),
            ("http://example.com/", true),
            ("https://EXAMPLE.com:443/path?query", true),
            ("http://example.com:443/", false),
            ("https://example.com:80/", false),
            ("http://127.0.0.1:8080/", true),
            ("http://127.0.0.1/", false),
            ("https://evil.test/", false),
            ("https://example.com@evil.test/", false),
            ("https://evil.test@example.com/", false),
            ("/only/a/path", false),
        ] {
            let parsed: Result<Uri, _> = uri.parse();
            assert_eq!(parsed.is_ok_and(|uri| gate.allows(&uri)), allowed, "{uri}");
        }
    }
}
