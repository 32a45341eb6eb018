//! Requests through `wasi:http`. Which hosts are reached is the host's decision.

use raddle_sdk::Error;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, OutgoingRequest, Scheme,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

use crate::address::Address;
use crate::fetch::{Http, Response};

/// Bytes taken from the body at a time.
const PIECE: u64 = 64 * 1024;

/// What is asked for, and that it should come as it is.
const HEADERS: [(&str, &str); 3] = [
    (
        "accept",
        "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    ),
    ("accept-encoding", "identity"),
    (
        "user-agent",
        concat!("raddle-web/", env!("CARGO_PKG_VERSION")),
    ),
];

/// Requests that all end before one deadline.
pub(crate) struct WasiHttp {
    deadline: Pollable,
    seconds: u32,
}

impl WasiHttp {
    /// Everything has to be done `seconds` from now.
    pub(crate) fn within(seconds: u32) -> Self {
        Self {
            deadline: subscribe_duration(u64::from(seconds) * 1_000_000_000),
            seconds,
        }
    }

    /// Waits until `event`, unless the deadline is before it.
    fn wait(&self, event: &Pollable, address: &Address) -> Result<(), Error> {
        poll(&[event, &self.deadline]);
        if event.ready() {
            return Ok(());
        }
        Err(Error::limit(
            "timeout",
            format!("{address} did not answer within {} seconds", self.seconds),
        ))
    }

    fn response(&self, address: &Address) -> Result<IncomingResponse, Error> {
        let failed = |code| failure(address, &code);
        let pending = outgoing_handler::handle(request(address)?, None).map_err(failed)?;
        self.wait(&pending.subscribe(), address)?;
        match pending.get() {
            Some(Ok(response)) => response.map_err(failed),
            _ => Err(Error::failed(
                "no-response",
                format!("{address}: the host gave no response"),
            )),
        }
    }

    /// At most `limit` bytes of the body, and whether there are more.
    fn body(
        &self,
        address: &Address,
        body: &IncomingBody,
        limit: usize,
    ) -> Result<(Vec<u8>, bool), Error> {
        let broken = |what: &str| Error::failed("body", format!("{address}: {what}"));
        let stream = body
            .stream()
            .map_err(|()| broken("the body cannot be read"))?;
        let ready = stream.subscribe();
        let mut bytes = Vec::new();
        while bytes.len() <= limit {
            self.wait(&ready, address)?;
            match stream.read(PIECE) {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(StreamError::Closed) => return Ok((bytes, false)),
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(broken(&error.to_debug_string()));
                }
            }
        }
        bytes.truncate(limit);
        Ok((bytes, true))
    }
}

impl Http for WasiHttp {
    fn get(&mut self, address: &Address, limit: usize) -> Result<Response, Error> {
        let response = self.response(address)?;
        let headers = response.headers();
        let header = |name: &str| {
            let value = headers.get(name).into_iter().next()?;
            Some(String::from_utf8_lossy(&value).into_owned())
        };
        let (body, more) = match response.consume() {
            Ok(body) => self.body(address, &body, limit)?,
            Err(()) => (Vec::new(), false),
        };
        Ok(Response {
            status: response.status(),
            location: header("location"),
            content_type: header("content-type"),
            content_encoding: header("content-encoding"),
            body,
            more,
        })
    }
}

fn request(address: &Address) -> Result<OutgoingRequest, Error> {
    let refused = || Error::invalid("address", format!("the host does not take {address}"));
    let headers: Vec<(String, Vec<u8>)> = HEADERS
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
        .collect();
    let headers = Fields::from_list(&headers).map_err(|_| refused())?;
    let request = OutgoingRequest::new(headers);
    let scheme = if address.secure {
        Scheme::Https
    } else {
        Scheme::Http
    };
    request.set_scheme(Some(&scheme)).map_err(|()| refused())?;
    request
        .set_authority(Some(&address.authority))
        .map_err(|()| refused())?;
    request
        .set_path_with_query(Some(&address.path_and_query))
        .map_err(|()| refused())?;
    Ok(request)
}

fn failure(address: &Address, code: &ErrorCode) -> Error {
    let host = &address.authority;
    match code {
        ErrorCode::HttpRequestDenied => Error::denied(
            "not-granted",
            format!(
                "{host} is not among the hosts granted to this plugin (its grants.http.hosts in the deployment)"
            ),
        ),
        ErrorCode::DnsError(_) | ErrorCode::DnsTimeout | ErrorCode::DestinationNotFound => {
            Error::unavailable("no-host", format!("no such host: {host}"))
        }
        ErrorCode::ConnectionRefused
        | ErrorCode::ConnectionTerminated
        | ErrorCode::DestinationUnavailable => {
            Error::unavailable("no-connection", format!("{host} takes no connection"))
        }
        ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => {
            Error::limit("timeout", format!("{host} did not answer in time"))
        }
        ErrorCode::TlsProtocolError
        | ErrorCode::TlsCertificateError
        | ErrorCode::TlsAlertReceived(_) => {
            Error::failed("tls", format!("no secure connection to {host}: {code:?}"))
        }
        ErrorCode::InternalError(Some(message)) => {
            Error::failed("http", format!("{address}: {message}"))
        }
        _ => Error::failed("http", format!("{address}: {code:?}")),
    }
}
