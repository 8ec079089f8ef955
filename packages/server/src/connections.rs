//! The connections: accepts them, bounds their number, and drops slow ones.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::app::App;

/// The pause after the system had no file for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The time for the requests in progress when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// The length of a head in bytes from which hyper reads no further; what it has read by then may be twice as long.
const MAX_HEAD: usize = 32 << 10;

/// The maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// The maximum number of requests at once on a connection of HTTP/2.
const MAX_STREAMS: u32 = 1_000;

/// The version of HTTP of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// HTTP/1.1.
    One,
    /// HTTP/2 alone, which gRPC is sent over.
    Two,
}

/// What is served on an address, and how.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) routes: Router,
    pub(crate) version: Version,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) connections: Arc<Semaphore>,
    /// What is served while all connections are in use: one request of each client. Without it they wait to be accepted.
    pub(crate) crowded: Option<Arc<Crowded>>,
    pub(crate) client_timeout: Duration,
    /// Whether a client may send several requests.
    pub(crate) keeps_alive: bool,
}

/// What is served beyond the bound.
pub(crate) struct Crowded {
    pub(crate) routes: Router,
    pub(crate) connections: Arc<Semaphore>,
    /// Told when the bound is reached.
    pub(crate) app: App,
}

/// Serves connections until `stopping`, then lets the requests in progress end.
pub(crate) async fn serve(listener: TcpListener, service: Service, stopping: CancellationToken) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of files, most likely: a loop without a pause would only burn time.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let taken = tokio::select! {
            () = stopping.cancelled() => break,
            taken = take(&service) => taken,
        };
        let Some((permit, service)) = taken else { break };
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            serve_one(stream, &service, watcher).await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = timeout(GRACE, graceful.shutdown()).await;
}

/// Returns a free place and what is served there.
async fn take(service: &Service) -> Option<(OwnedSemaphorePermit, Service)> {
    if let Ok(permit) = service.connections.clone().try_acquire_owned() {
        return Some((permit, service.clone()));
    }
    let of_service = service.connections.clone().acquire_owned();
    let Some(crowded) = &service.crowded else {
        return Some((of_service.await.ok()?, service.clone()));
    };
    crowded.app.crowded().notify_one();
    tokio::select! {
        permit = of_service => Some((permit.ok()?, service.clone())),
        permit = crowded.connections.clone().acquire_owned() => {
            let routes = crowded.routes.clone();
            Some((permit.ok()?, Service { routes, keeps_alive: false, ..service.clone() }))
        }
    }
}

async fn serve_one(stream: TcpStream, service: &Service, watcher: Watcher) {
    let _ = stream.set_nodelay(true);
    match &service.tls {
        None => carry(stream, service, watcher).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = timeout(service.client_timeout, tls.accept(stream)).await {
                carry(stream, service, watcher).await;
            }
        }
    }
}

async fn carry<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S, service: &Service, watcher: Watcher) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(service.client_timeout));
    if service.version == Version::Two {
        return carry_two(stream, service, watcher).await;
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(service.client_timeout)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .keep_alive(service.keeps_alive)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(service.routes.clone()));
    // A client that leaves is no failure of the server.
    let _ = watcher.watch(connection).await;
}

async fn carry_two<S: AsyncRead + AsyncWrite + Unpin + 'static>(
    mut stream: TimeoutStream<S>,
    service: &Service,
    watcher: Watcher,
) {
    // Who is there answers a ping in this time, also when it asks nothing.
    stream.set_read_timeout(Some(service.client_timeout));
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(service.client_timeout / 2))
        .keep_alive_timeout(service.client_timeout / 2)
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(service.routes.clone()));
    let _ = watcher.watch(connection).await;
}
