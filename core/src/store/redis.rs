//! The Redis store: one script, one call, one reply. Which bytes travel is decided here, how they travel in
//! `blocking` (the caller's own thread), in `aio` (tokio), or in the host, which carries a [`ConnectionState`] itself.

#[cfg(feature = "aio")]
mod aio;
mod blocking;
mod call;
mod config;
mod keys;
mod listener;
mod reply;
mod session;
mod socket;
#[cfg(feature = "tls")]
mod tls;
mod wire;

#[doc(hidden)]
pub use crate::engine::script::SCRIPT;
pub use blocking::DEFAULT_TIMEOUT;
pub use call::{Asking, Call, Step};
pub use config::{Address, RedisConfig};
pub(crate) use listener::Listener;
pub use listener::Subscription;
pub use session::{CallOutcome, Completion, ConnectionState};
pub use socket::Socket;

pub(crate) use blocking::check_timeout;
pub(crate) use keys::{Keys, TAGS};

use crate::base::per_process::PerProcess;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::base::clock::monotonic;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::operation::Answer;
use crate::store::signal_handling::SignalHandling;
use blocking::Pool;
use config::Slots;

/// The environment variable that lets the callers of stores opened under it give the time: for tests only.
const TEST_CLOCK: &str = "PADDLEGATE_TEST_CLOCK";

/// A Redis server or cluster, and the connections of this process to it.
pub struct Redis {
    location: RedisConfig,
    timeout: Micros,
    process: PerProcess<Connections>,
    closed: AtomicBool,
    /// Whether callers may give the time.
    test_clock: bool,
}

/// What belongs to one process and is never shared with its forks.
#[derive(Default)]
pub(crate) struct Connections {
    pool: Pool,
    slots: Slots,
    #[cfg(feature = "aio")]
    links: aio::Links,
}

impl Redis {
    pub(crate) fn new(url: &str, timeout: Micros) -> Result<Self> {
        Ok(Self {
            location: RedisConfig::parse(url)?,
            timeout,
            process: PerProcess::default(),
            closed: AtomicBool::new(false),
            test_clock: std::env::var_os(TEST_CLOCK).is_some_and(|value| value == "1"),
        })
    }

    /// Where the servers are and how to log in.
    pub const fn location(&self) -> &RedisConfig {
        &self.location
    }

    /// Within which time a call is answered or fails.
    pub const fn timeout(&self) -> Micros {
        self.timeout
    }

    /// The node that a call goes to: the one that was learned for its slot, else the first that the URL names.
    pub fn route(&self, call: &Call) -> Address {
        self.process.get().slots.route(&self.location, call.slot())
    }

    /// Learns from a redirection where a slot lives.
    pub fn learn(&self, call: &Call, address: &Address) {
        self.process.get().slots.learn(call.slot(), address);
    }

    /// Forgets a node that does not answer, so that its slots are looked for elsewhere.
    pub fn forget(&self, address: &Address) {
        self.process.get().slots.forget(&self.location, address);
    }

    /// Listens at a node to a channel; see [`WakeupListener`](crate::WakeupListener). Connects within `limit` and the time-out of a call.
    pub(crate) fn listen(&self, node: &Address, channel: &str, limit: Duration) -> Result<Listener> {
        Listener::open(&self.location, node, channel, monotonic() + self.timeout.duration().min(limit))
    }

    /// The node that serves a slot as far as is known.
    pub(crate) fn node_of(&self, slot: u16) -> Address {
        self.process.get().slots.route(&self.location, slot)
    }

    /// The node that is known to own a slot, whether it answers or not.
    pub(crate) fn owner(&self, slot: u16) -> Option<Address> {
        self.process.get().slots.owner(slot)
    }

    /// Fails once [`Paddlegate::close`](crate::Paddlegate::close) was called.
    pub fn check_open(&self) -> Result<()> {
        if self.is_closed() { Err(Error::invalid("store", "is closed; open another one")) } else { Ok(()) }
    }

    /// Fails unless the store was opened for tests that give the time.
    pub(crate) fn check_test_clock(&self) -> Result<()> {
        if self.test_clock {
            return Ok(());
        }
        let message = format!("is for tests; give it in memory, or set {TEST_CLOCK}=1 before the store is opened");
        Err(Error::invalid("at", message))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Closes the unused connections of this process; a call on its way closes its own connection.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let process = self.process.get();
        process.pool.clear_all();
        #[cfg(feature = "aio")]
        process.links.clear();
    }

    /// Carries a call on the caller's own thread, within `limit` and the time-out of a call.
    pub(crate) fn run(&self, call: Call, interrupt: SignalHandling<'_>, limit: Duration) -> Result<Answer> {
        self.check_open()?;
        let deadline = monotonic() + self.timeout.duration().min(limit);
        blocking::run(self, &self.process.get(), call, interrupt, deadline)
    }

    /// Carries a call on the tokio runtime of the caller.
    #[cfg(feature = "aio")]
    pub(crate) async fn run_async(&self, call: Call) -> Result<Answer> {
        self.check_open()?;
        let process = self.process.get();
        aio::run(self, &process.links, call).await
    }
}
