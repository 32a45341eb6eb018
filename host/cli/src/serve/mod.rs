//! `raddle serve`: conversations over HTTP. A request asks for something of a session; one task owns
//! the session ([`room`]), and tells what happens to all that follow it ([`hub`]).

mod access;
mod host;
mod hub;
mod metrics;
mod problem;
mod room;
mod routes;
mod stream;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::extract::DefaultBodyLimit;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::config::Config;
use crate::deployment::{Deployment, unsandboxed};
use crate::failure::Failure;
use crate::live::{Live, News};
use crate::model::Link;
use crate::sessions::Sessions;
use crate::terminal::{notice, print};
use access::Access;
use host::Host;

/// Bytes of the largest body.
const MAX_BODY: usize = 2 * 1024 * 1024;

/// Bytes of the longest request head, and how many headers it has.
const MAX_HEAD: usize = 64 * 1024;
const MAX_HEADERS: usize = 64;

/// How long a request's head may take, and how long a connection may idle.
const HEAD_TIME: Duration = Duration::from_secs(15);

/// How long the next piece of a body may take.
const BODY_TIME: Duration = Duration::from_secs(15);

/// Connections at the same time; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 2048;

/// How long an accept that failed is not tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked whether runs have ended, and how long cancelled ones may take.
const GLANCE: Duration = Duration::from_millis(50);
const CANCELLED: Duration = Duration::from_secs(5);

/// Serves until the process is told to end.
pub(crate) async fn run(
    config: Config,
    directory: &Path,
    address: SocketAddr,
    recording: Option<&Path>,
    grace: Duration,
) -> Result<(), Failure> {
    let link = Link::open(&config, recording)?;
    let access = |address| Access::new(&config.tokens, address);
    // Before anything is loaded: what is wrong with it is told at once.
    access(address)?;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("--listen {address}"))?;
    let address = listener.local_addr().context("the address is not known")?;
    let access = access(address)?;
    let sessions = Sessions::open(&config);
    let deployment = Arc::new(Deployment::load_early(config).await?);
    let sessions = sessions.opened().await?;
    let live = Live::of(Arc::clone(&deployment));
    let _watching = live.watch(tell);
    for unsandboxed in unsandboxed(&deployment.config) {
        notice(unsandboxed);
    }
    for left_out in &deployment.left_out {
        for fault in &left_out.faults {
            notice(format!("left out: {fault}"));
        }
    }
    let host = Host::new(live, link, sessions, directory.to_path_buf(), access);
    print(&format!("http://{address}\n"))?;
    serve(listener, &host, grace).await
}

/// Serves until the process is told to end; then runs may end, and what has not is cancelled.
async fn serve(listener: TcpListener, host: &Arc<Host>, grace: Duration) -> Result<(), Failure> {
    let router = routes::router(host)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(RequestBodyTimeoutLayer::new(BODY_TIME));
    let service = TowerToHyperService::new(router);
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut ends = Ends::listen()?;
    loop {
        let accepted = tokio::select! {
            biased;
            () = ends.told() => break,
            accepted = accept(&listener, &connections) => accepted,
        };
        let Some((stream, permit)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // What is told is small and is to arrive at once.
        let _ = stream.set_nodelay(true);
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(MAX_HEAD)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(stream), service.clone());
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // Who breaks off is nobody to tell about it.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    host.closing.send_replace(true);
    tokio::select! {
        () = quiet(host) => {}
        () = tokio::time::sleep(grace) => {}
        () = ends.told() => {}
    }
    host.cancel_all().await;
    drop(tokio::time::timeout(CANCELLED, quiet(host)).await);
    host.closed.send_replace(true);
    drop(tokio::time::timeout(CANCELLED, graceful.shutdown()).await);
    Ok(())
}

/// Waits until no run is under way.
async fn quiet(host: &Host) {
    while host.is_busy() {
        tokio::time::sleep(GLANCE).await;
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> Option<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(connections).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(error) => {
            tracing::warn!(%error, "a connection was not accepted");
            None
        }
    }
}

/// The ways in which the process is told to end.
struct Ends {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

impl Ends {
    fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).context("signals cannot be received");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn told(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// What became of a change of the deployment.
fn tell(news: News) {
    match news {
        News::Ready { changes, texts } => {
            let all: Vec<String> = changes.into_iter().chain(texts).collect();
            notice(format!("reloaded: {}", all.join(", ")));
        }
        News::Refused(reasons) => {
            for reason in reasons {
                notice(format!("not reloaded: {reason}"));
            }
        }
    }
}
