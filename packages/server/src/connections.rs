//! The connections: accepts them, bounds their number, and drops slow ones.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// The maximum number of connections at once; others wait to be accepted.
const MAX_CONNECTIONS: usize = 10_000;

/// The time in which a client sends the head of a request, also the next one of a connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The pause after the system had no file for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The time for the requests in progress when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// Serves connections until `stopping`, then lets the requests in progress end.
pub(crate) async fn serve(listener: TcpListener, routes: Router, stopping: &CancellationToken) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    loop {
        let permit = tokio::select! {
            () = stopping.cancelled() => break,
            Ok(permit) = connections.clone().acquire_owned() => permit,
        };
        let stream = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of files, most likely: a loop without a pause would only burn time.
                Err(_) => {
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
        };
        let connection = graceful.watch(connection(stream, routes.clone()));
        tokio::spawn(async move {
            // A client that leaves is no failure of the server.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = timeout(GRACE, graceful.shutdown()).await;
}

fn connection(stream: TcpStream, routes: Router) -> http1::Connection<TokioIo<TcpStream>, TowerToHyperService<Router>> {
    let _ = stream.set_nodelay(true);
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes))
}
