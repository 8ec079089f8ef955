//! `Options`: how a server runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use paddlegate::Micros;

/// How a server runs. The default listens on a free port of this machine, with limits in memory.
#[derive(Clone, Debug)]
pub struct Options {
    /// The URL of the store, as of [`Paddlegate::open`](paddlegate::Paddlegate::open); `None` keeps limits in memory.
    pub redis: Option<String>,
    /// The time in which a call to the store ends; the default of the core when `None`.
    pub timeout: Option<Duration>,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The file with the limiters, in any format of the core.
    pub limits: Option<PathBuf>,
    /// The file with the hashes of tokens and what each may do; without it everybody on this machine may do everything.
    pub tokens: Option<PathBuf>,
    /// Where a clock begins that only requests move, in microseconds since 1970: for tests of workers.
    pub test_clock: Option<Micros>,
}

impl Default for Options {
    fn default() -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        Self { redis: None, timeout: None, listen, limits: None, tokens: None, test_clock: None }
    }
}
