//! `Server`: binds, serves and stops.

use std::future::Future;
use std::net::SocketAddr;

use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::app::App;
use crate::connections;
use crate::failure::Failure;
use crate::options::Options;
use crate::routes;

/// A server that is bound to its address.
pub struct Server {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
    routes: Router,
}

impl Server {
    /// Opens the store, reads the limits file and binds the address.
    pub async fn bind(options: Options) -> Result<Self, Failure> {
        let app = App::open(options)?;
        let listen = app.options().listen;
        let bound = async {
            let listener = TcpListener::bind(listen).await?;
            let address = listener.local_addr()?;
            Ok((listener, address))
        };
        let (listener, address) = bound.await.map_err(|error: std::io::Error| {
            Failure::Other(format!("cannot listen: address={listen} error={error}"))
        })?;
        let routes = routes::router(&app);
        Ok(Self { app, listener, address, routes })
    }

    /// Returns the address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns what its requests share.
    pub const fn app(&self) -> &App {
        &self.app
    }

    /// Serves until `stop` is ready. Then requests that wait give up, and those in progress end.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { app, listener, routes, .. } = self;
        let stopping = app.stopping().clone();
        let served = connections::serve(listener, routes, &stopping);
        tokio::pin!(served);
        tokio::select! {
            () = stop => stopping.cancel(),
            () = &mut served => return,
        }
        served.await;
        let paddlegate = app.paddlegate().clone();
        // It sends what was counted and not yet sent, on this thread.
        let _ = tokio::task::spawn_blocking(move || paddlegate.close()).await;
    }
}

/// Serves until SIGINT or SIGTERM. `ready` gets the address once the server listens.
pub async fn serve(options: Options, ready: impl FnOnce(SocketAddr)) -> Result<(), Failure> {
    let signals = |error: std::io::Error| Failure::Other(format!("cannot receive signals: error={error}"));
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt()).map_err(signals)?, signal(SignalKind::terminate()).map_err(signals)?);
    let server = Server::bind(options).await?;
    ready(server.address());
    let stop = async {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    server.run(stop).await;
    Ok(())
}
