//! The connections: accepts them, bounds their number, and drops slow ones.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The pause after the system had no file for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The time for the requests in progress when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// The length of a head in bytes from which hyper reads no further; what it has read by then may be twice as long.
const MAX_HEAD: usize = 32 << 10;

/// The maximum number of headers of a request.
const MAX_HEADERS: usize = 64;

/// What is served on an address, and how.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) routes: Router,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) connections: Arc<Semaphore>,
    pub(crate) client_timeout: Duration,
}

/// Serves connections until `stopping`, then lets the requests in progress end.
pub(crate) async fn serve(listener: TcpListener, service: Service, stopping: CancellationToken) {
    let graceful = GracefulShutdown::new();
    loop {
        let permit = tokio::select! {
            () = stopping.cancelled() => break,
            Ok(permit) = service.connections.clone().acquire_owned() => permit,
        };
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of files, most likely: a loop without a pause would only burn time.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (service, watcher) = (service.clone(), graceful.watcher());
        tokio::spawn(async move {
            serve_one(stream, &service, watcher).await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = timeout(GRACE, graceful.shutdown()).await;
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
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(service.client_timeout)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(service.routes.clone()));
    // A client that leaves is no failure of the server.
    let _ = watcher.watch(connection).await;
}
