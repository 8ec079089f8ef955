//! `Server`: binds, serves and stops.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::app::App;
use crate::connections::{self, Crowded, Service, Version};
use crate::failure::Failure;
use crate::options::Options;
use crate::{envoy, files, otlp, routes, samples, tls};

/// The maximum number of connections of the metrics' own address.
const METRICS_CONNECTIONS: usize = 100;

/// The maximum number of connections beyond the bound.
const CROWDED_CONNECTIONS: usize = 64;

/// A server that is bound to its addresses.
pub struct Server {
    app: App,
    listener: TcpListener,
    address: SocketAddr,
    metrics: Option<(TcpListener, SocketAddr)>,
    grpc: Option<(TcpListener, SocketAddr, Service)>,
    service: Service,
}

impl Server {
    /// Checks the options, opens the store, reads the files and binds the addresses.
    pub async fn bind(options: Options) -> Result<Self, Failure> {
        options.check()?;
        let app = App::open(options)?;
        let tls = |protocols: &[&str]| {
            app.certificate().map(|certificate| tls::acceptor(certificate.clone(), protocols)).transpose()
        };
        let (tls, grpc_tls) = (tls(&[])?, tls(&["h2"])?);
        let options = app.options();
        let (listener, address) = listen(options.listen).await?;
        let metrics = match options.metrics {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let service = Service {
            routes: routes::router(&app),
            version: Version::One,
            tls,
            connections: Arc::new(Semaphore::new(options.max_connections)),
            crowded: Some(Arc::new(Crowded {
                routes: routes::crowded_router(&app),
                connections: Arc::new(Semaphore::new(CROWDED_CONNECTIONS)),
                app: app.clone(),
            })),
            client_timeout: options.client_timeout,
            keeps_alive: true,
        };
        let grpc = match options.grpc {
            Some(address) => {
                let (listener, address) = listen(address).await?;
                let routes = envoy::router(&app);
                let service =
                    Service { routes, version: Version::Two, tls: grpc_tls, crowded: None, ..service.clone() };
                Some((listener, address, service))
            }
            None => None,
        };
        Ok(Self { app, listener, address, metrics, grpc, service })
    }

    /// Returns the address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the metrics, if they have one of their own.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(_, address)| *address)
    }

    /// Returns the address of Envoy's rate limit service, if it is served.
    pub fn grpc_address(&self) -> Option<SocketAddr> {
        self.grpc.as_ref().map(|(_, address, _)| *address)
    }

    /// Returns what its requests share.
    pub const fn app(&self) -> &App {
        &self.app
    }

    /// Serves until `stop` is ready. Then requests that wait give up, and those in progress end.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        self.run_beside(stop, async {}).await;
    }

    /// Serves as [`run`](Self::run) does. The store is open until `beside` has ended too.
    async fn run_beside(self, stop: impl Future<Output = ()>, beside: impl Future<Output = ()>) {
        let Self { app, listener, metrics, grpc, service, .. } = self;
        let stopping = app.stopping().clone();
        // Of their own, so that they can be read while clients have all others.
        let connections = Arc::new(Semaphore::new(METRICS_CONNECTIONS));
        let of_metrics =
            Service { routes: routes::metrics_router(&app), connections, crowded: None, ..service.clone() };
        let sampling = tokio::spawn(samples::run(app.clone()));
        let served = async {
            let metrics = async {
                if let Some((listener, _)) = metrics {
                    connections::serve(listener, of_metrics, stopping.clone()).await;
                }
            };
            let grpc = async {
                if let Some((listener, _, service)) = grpc {
                    connections::serve(listener, service, stopping.clone()).await;
                }
            };
            tokio::join!(connections::serve(listener, service, stopping.clone()), metrics, grpc);
        };
        let until_stopped = async {
            tokio::pin!(served);
            tokio::select! {
                () = stop => stopping.cancel(),
                () = &mut served => return,
            }
            served.await;
        };
        tokio::join!(until_stopped, beside);
        let _ = sampling.await;
        let paddlegate = app.paddlegate().clone();
        // It sends what was counted and not yet sent, on this thread.
        let _ = tokio::task::spawn_blocking(move || paddlegate.close()).await;
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let bound = async {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    let failure = |error: std::io::Error| Failure::Other(format!("cannot listen: address={address} error={error}"));
    bound.await.map_err(failure)
}

/// Serves until SIGINT or SIGTERM, and reads the files again at SIGHUP. `ready` gets the server once it listens, `say` what
/// became of the files and of pushed metrics, and that connections are scarce.
pub async fn serve(mut options: Options, ready: impl FnOnce(&Server), say: impl Fn(&str)) -> Result<(), Failure> {
    let receive = |kind| signal(kind).map_err(|error| Failure::Other(format!("cannot receive signals: error={error}")));
    let mut interrupt = receive(SignalKind::interrupt())?;
    let mut terminate = receive(SignalKind::terminate())?;
    let mut hang_up = receive(SignalKind::hangup())?;
    if let Some(files) = files::raise()
        && files::connections(files) < options.max_connections
    {
        options.max_connections = files::connections(files);
        let connections = options.max_connections;
        say(&format!("few files: raise the hard limit of open files: files={files} connections={connections}"));
    }
    let server = Server::bind(options).await?;
    ready(&server);
    let app = server.app().clone();
    let stop = async {
        let mut is_told = false;
        loop {
            tokio::select! {
                () = app.crowded().notified(), if !is_told => {
                    is_told = true;
                    let connections = app.options().max_connections;
                    say(&format!("all connections are in use, others get status 503: connections={connections}"));
                }
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = hang_up.recv() => match app.reload() {
                    Ok(()) => say("read the files again"),
                    Err(failure) => say(&format!("kept the files as they were: {failure}")),
                },
            }
        }
    };
    let push = async {
        if let Some(otlp) = &app.options().otlp {
            otlp::push(&app, otlp, &say).await;
        }
    };
    server.run_beside(stop, push).await;
    Ok(())
}
