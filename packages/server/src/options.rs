//! `Options`: how a server runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use paddlegate::{Micros, OnUnavailable};

use crate::failure::Failure;
use crate::otlp::Otlp;

/// How a server runs. The default listens on a free port of this machine, with limits in memory.
#[derive(Clone, Debug)]
pub struct Options {
    /// The URL of the store, as of [`Paddlegate::open`](paddlegate::Paddlegate::open); `None` keeps limits in memory.
    pub redis: Option<String>,
    /// The time in which a call to the store ends; the default of the core when `None`.
    pub timeout: Option<Duration>,
    /// What decides while the store cannot. Default [`OnUnavailable::Raise`]: a call is answered with status 503.
    pub on_unavailable: OnUnavailable,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The address of the metrics; `None` serves them with the rest.
    pub metrics: Option<SocketAddr>,
    /// The address of Envoy's rate limit service, over gRPC; `None` serves it not.
    pub grpc: Option<SocketAddr>,
    /// The receiver to which the metrics are pushed; `None` pushes none.
    pub otlp: Option<Otlp>,
    /// Whether the job server of Open Job Spec is served.
    pub ojs: bool,
    /// Whether the metrics have those that Open Job Spec names, of each key of its jobs, too.
    pub ojs_metrics: bool,
    /// The file with the limiters, in any format of the core.
    pub limits: Option<PathBuf>,
    /// The file with the hashes of tokens and what each may do; without it everybody on this machine may do everything.
    pub tokens: Option<PathBuf>,
    /// The folder with the built page of the simulator, which is then served beside the other pages.
    pub simulator: Option<PathBuf>,
    /// The certificates and the private key of TLS, each a PEM file.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Whether an address of the network may be served without TLS, as behind a proxy that has it.
    pub insecure_http: bool,
    /// The names by which browsers and other clients call the server, besides addresses and `localhost`.
    pub hosts: Vec<String>,
    /// The longest time for which `acquire` holds a request. Default 300 s.
    pub max_wait: Duration,
    /// The maximum number of connections at once. Beyond it checks of health are answered, and other requests with status 503;
    /// those of gRPC wait to be accepted. Default 10,000; [`serve`](crate::serve) takes fewer where the process may open too few files.
    pub max_connections: usize,
    /// The time in which a client sends the head and the body of a request, each. Default 30 s.
    pub client_timeout: Duration,
    /// Where a clock begins that only requests move, in microseconds since 1970: for tests of workers.
    pub test_clock: Option<Micros>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            redis: None,
            timeout: None,
            on_unavailable: OnUnavailable::Raise,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            metrics: None,
            grpc: None,
            otlp: None,
            ojs: false,
            ojs_metrics: false,
            limits: None,
            tokens: None,
            simulator: None,
            test_clock: None,
            tls: None,
            insecure_http: false,
            hosts: Vec::new(),
            max_wait: Duration::from_secs(300),
            max_connections: 10_000,
            client_timeout: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// Fails for an address of the network that everybody could use or read along.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let addresses = [("--listen", Some(self.listen)), ("--metrics", self.metrics), ("--grpc", self.grpc)];
        for (option, address) in addresses.into_iter().filter_map(|(option, address)| Some((option, address?))) {
            if address.ip().is_loopback() {
                continue;
            }
            if self.tokens.is_none() {
                return Err(Failure::Input(format!(
                    "{option}: others reach this address; give --tokens FILE, or listen on 127.0.0.1: address={address}"
                )));
            }
            if self.tls.is_none() && !self.insecure_http {
                return Err(Failure::Input(format!(
                    "{option}: others could read the tokens; give --tls-cert and --tls-key, or --insecure-http behind a \
                     proxy that has TLS: address={address}"
                )));
            }
        }
        Ok(())
    }
}
