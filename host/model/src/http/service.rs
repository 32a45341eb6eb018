//! One service: where it is, what every request carries, and its connections.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use raddle_core::provider::{ProviderError, ProviderErrorKind};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use reqwest::{Client, Url, redirect};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::failure::Failure;
use crate::settings::{ProviderSettings, SettingsError};

const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";
const EXPECTED_URL: &str = "expected http:// or https:// and a host";
const OPENAI_HOST: &str = "api.openai.com";

/// Shorter header values are too common to be cut out of every text.
const SHORTEST_SECRET: usize = 6;

/// A service, shared by all conversations with it.
pub(crate) struct Service {
    url: Url,
    headers: HeaderMap,
    has_key: bool,
    /// Texts that no error may repeat.
    secrets: Vec<String>,
    connect_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) max_attempts: u32,
    pub(super) backoff: Duration,
    pub(super) max_wait: Duration,
    pub(super) jitter: Arc<dyn Fn() -> f64 + Send + Sync>,
    pub(super) now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    /// Made with the first request.
    client: OnceLock<Result<Client, String>>,
}

/// Whether a base URL is OpenAI's own.
pub(crate) fn is_openai(base_url: Option<&str>) -> bool {
    Url::parse(base_url.unwrap_or(DEFAULT_BASE_URL))
        .is_ok_and(|url| url.host_str() == Some(OPENAI_HOST))
}

/// Whether requests can be sent to a service at `url`.
///
/// # Errors
///
/// [`SettingsError::BaseUrl`], as [`provider`](crate::provider) would give it.
pub fn check_base_url(url: &str) -> Result<(), SettingsError> {
    endpoint(url, "").map(drop)
}

/// Whether requests can carry a header.
///
/// # Errors
///
/// [`SettingsError::Header`], as [`provider`](crate::provider) would give it.
pub fn check_header(name: &str, value: &str) -> Result<(), SettingsError> {
    header(name, value).map(drop)
}

impl Service {
    pub(super) fn new(settings: &ProviderSettings, path: &str) -> Result<Self, SettingsError> {
        if settings.max_attempts == 0 {
            return Err(SettingsError::NoAttempts);
        }
        let url = endpoint(
            settings.base_url.as_deref().unwrap_or(DEFAULT_BASE_URL),
            path,
        )?;
        let (headers, secrets) = headers(settings)?;
        Ok(Self {
            url,
            has_key: headers.contains_key(AUTHORIZATION) || !settings.headers.is_empty(),
            headers,
            secrets,
            connect_timeout: settings.connect_timeout,
            idle_timeout: settings.idle_timeout,
            max_attempts: settings.max_attempts,
            backoff: settings.backoff,
            max_wait: settings.max_wait,
            jitter: Arc::clone(&settings.jitter),
            now: Arc::clone(&settings.now),
            client: OnceLock::new(),
        })
    }

    /// Sends a request and gives the answer's head.
    pub(super) async fn post(&self, body: Bytes) -> Result<reqwest::Response, Failure> {
        let client = match self.client.get_or_init(|| self.make_client()) {
            Ok(client) => client,
            Err(reason) => {
                let mut failure = Failure::new(ProviderErrorKind::Connection, reason);
                failure.retryable = false;
                return Err(failure);
            }
        };
        let request = client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body);
        match tokio::time::timeout(self.idle_timeout, request.send()).await {
            Ok(sent) => sent.map_err(|error| self.unreachable(error)),
            Err(_) => Err(Failure::new(
                ProviderErrorKind::Timeout,
                format!(
                    "no answer from {} within {:?}",
                    self.shown_url(),
                    self.idle_timeout
                ),
            )),
        }
    }

    /// What to do about a status, where there is something to do.
    pub(super) fn hint(&self, status: u16) -> Option<String> {
        match status {
            401 | 403 if !self.has_key => Some("no API key is set".to_owned()),
            401 => Some("check the API key".to_owned()),
            403 => Some("check what the API key is allowed to use".to_owned()),
            404 => Some(format!(
                "check the model's name and the base URL (the request went to {})",
                self.shown_url()
            )),
            300..=399 => Some(format!(
                "the service is elsewhere: check the base URL (the request went to {})",
                self.shown_url()
            )),
            _ => None,
        }
    }

    /// Takes every secret out of an error.
    pub(super) fn redact(&self, error: &mut ProviderError) {
        for secret in &self.secrets {
            if error.message.contains(secret) {
                error.message = error.message.replace(secret, "[secret]");
            }
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> Failure {
        let kind = if error.is_timeout() {
            ProviderErrorKind::Timeout
        } else {
            ProviderErrorKind::Connection
        };
        let cause = causes(&error.without_url());
        Failure::new(kind, format!("cannot reach {}: {cause}", self.shown_url()))
    }

    /// The URL without credentials and query.
    fn shown_url(&self) -> String {
        shown(&self.url)
    }

    fn make_client(&self) -> Result<Client, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = Client::builder()
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout)
            // A key goes where it was meant to go, and nowhere else.
            .redirect(redirect::Policy::none())
            .referer(false);
        let builder = if is_plain_loopback(&self.url) {
            // Nothing to encrypt and nobody in between: no certificate has to be read.
            let tls = tls
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth();
            builder.no_proxy().tls_backend_preconfigured(tls)
        } else {
            let mut tls = tls
                .with_platform_verifier()
                .map_err(|error| format!("no root certificates: {error}"))?
                .with_no_client_auth();
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            builder.tls_backend_preconfigured(tls)
        };
        builder.build().map_err(|error| causes(&error))
    }
}

/// An error with everything that led to it, in one line.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !line.contains(&cause_text) {
            line.push_str(": ");
            line.push_str(&cause_text);
        }
        source = cause.source();
    }
    line
}

fn endpoint(base: &str, path: &str) -> Result<Url, SettingsError> {
    let refuse = |url: String, reason: String| Err(SettingsError::BaseUrl { url, reason });
    let mut url = match Url::parse(base.trim()) {
        Ok(url) => url,
        // What cannot be taken apart may hold a secret anywhere.
        Err(error) => {
            let has_secrets = base.contains(['@', '?', '#']);
            let visible = if has_secrets { "…" } else { base };
            let reason = match base.contains("://") {
                true => error.to_string(),
                false => EXPECTED_URL.to_owned(),
            };
            return refuse(visible.to_owned(), reason);
        }
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return refuse(shown(&url), EXPECTED_URL.to_owned());
    }
    url.set_fragment(None);
    let base_path = url.path().trim_end_matches('/');
    if !base_path.ends_with(path) {
        let whole = format!("{base_path}{path}");
        url.set_path(&whole);
    }
    Ok(url)
}

fn headers(settings: &ProviderSettings) -> Result<(HeaderMap, Vec<String>), SettingsError> {
    let mut headers = HeaderMap::new();
    let mut secrets = Vec::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("raddle/", env!("CARGO_PKG_VERSION"))),
    );
    if let Some(key) = &settings.api_key {
        let key = key.expose().trim();
        if !key.is_empty() {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
                .map_err(|_| SettingsError::ApiKey)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
            secrets.push(key.to_owned());
        }
    }
    for (name, value) in &settings.headers {
        let (parsed, mut content) = header(name, value)?;
        content.set_sensitive(true);
        headers.insert(parsed, content);
        // The scheme (`Bearer`) is no secret.
        let secret = value.rsplit(' ').next().unwrap_or_default();
        if secret.len() >= SHORTEST_SECRET {
            secrets.push(secret.to_owned());
        }
    }
    // The longest first, so that none is cut into before it is found.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    Ok((headers, secrets))
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), SettingsError> {
    let refuse = |reason| SettingsError::Header {
        name: name.to_owned(),
        reason,
    };
    let parsed: HeaderName = name
        .parse()
        .map_err(|_| refuse("not a name a header can have"))?;
    let content = HeaderValue::from_str(value)
        .map_err(|_| refuse("its value holds characters no header can carry"))?;
    Ok((parsed, content))
}

fn is_plain_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    url.scheme() == "http"
        && (host == "localhost"
            || address
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback()))
}

fn shown(url: &Url) -> String {
    let mut shown = url.clone();
    // Both can only fail for URLs that have neither.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.set_fragment(None);
    shown.to_string()
}
