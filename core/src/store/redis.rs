//! The Redis store: one script, one call, one reply. Which bytes travel is decided here, how they travel in
//! `blocking` (the caller's own thread), in `aio` (tokio), or in the host, which carries a [`Session`] itself.

mod address;
#[cfg(feature = "aio")]
mod aio;
mod blocking;
mod call;
mod keys;
mod listener;
mod process;
mod reply;
mod script;
mod session;
mod socket;
#[cfg(feature = "tls")]
mod tls;
mod wire;

pub use address::{Address, Location};
pub use blocking::DEFAULT_TIMEOUT;
pub use call::{Asking, Call, Step};
pub(crate) use listener::Listener;
pub use listener::Subscription;
#[doc(hidden)]
pub use script::SCRIPT;
pub use session::{Finished, Outcome, Session};
pub use socket::Socket;

pub(crate) use blocking::check_timeout;
pub(crate) use keys::{Keys, TAGS};

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::monotonic;
use crate::error::{Error, Result};
use crate::micros::Micros;
use crate::operation::{Answer, Interrupt};
use crate::store::memory::Memory;
use crate::unavailable::Circuit;
use crate::waiter::Hub;
use address::Slots;
use blocking::Pool;
pub(crate) use process::PerProcess;

/// The environment variable that lets the callers of stores opened under it give the time: for tests only.
const TEST_CLOCK: &str = "PADDLEGATE_TEST_CLOCK";

/// A Redis server or cluster, and the connections of this process to it.
pub struct Redis {
    location: Location,
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
    /// By the node that was learned to own a slot; of all slots of which nothing was learned together.
    circuits: Mutex<HashMap<Option<Address>, Arc<Circuit>>>,
    /// The limits of this process alone, while the servers do not answer.
    local: Arc<Memory>,
    /// The waiters by the node that tells them.
    hubs: Mutex<HashMap<String, Arc<Hub>>>,
    #[cfg(feature = "aio")]
    links: aio::Links,
}

impl Redis {
    pub(crate) fn new(url: &str, timeout: Micros) -> Result<Self> {
        Ok(Self {
            location: Location::parse(url)?,
            timeout,
            process: PerProcess::default(),
            closed: AtomicBool::new(false),
            test_clock: std::env::var_os(TEST_CLOCK).is_some_and(|value| value == "1"),
        })
    }

    /// Where the servers are and how to log in.
    pub const fn location(&self) -> &Location {
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

    /// Listens at a node to a channel; see [`Hints`](crate::Hints). Connects within `limit` and the time-out of a call.
    pub(crate) fn listen(&self, node: &Address, channel: &str, limit: Duration) -> Result<Listener> {
        Listener::open(&self.location, node, channel, monotonic() + self.timeout.duration().min(limit))
    }

    /// The waiters of this process at a node.
    pub(crate) fn hub(&self, node: &Address) -> Arc<Hub> {
        locked(&self.process.get().hubs).entry(node.to_string()).or_default().clone()
    }

    /// The node that serves a slot as far as is known.
    pub(crate) fn node_of(&self, slot: u16) -> Address {
        self.process.get().slots.route(&self.location, slot)
    }

    /// The limits of this process alone, while the servers do not answer.
    pub(crate) fn local(&self) -> Arc<Memory> {
        self.process.get().local.clone()
    }

    /// Whether the node of a slot answers, as this process has seen it.
    pub(crate) fn circuit(&self, slot: u16) -> Arc<Circuit> {
        let process = self.process.get();
        locked(&process.circuits).entry(process.slots.owner(slot)).or_default().clone()
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

    /// Closes the unused connections of this process and ends its waits; a call on its way closes its own connection.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let process = self.process.get();
        process.pool.clear_all();
        #[cfg(feature = "aio")]
        process.links.clear();
        let hubs = std::mem::take(&mut *locked(&process.hubs));
        for hub in hubs.values() {
            hub.close();
        }
    }

    /// Carries a call on the caller's own thread, within `limit` and the time-out of a call.
    pub(crate) fn run(&self, call: Call, interrupt: Interrupt<'_>, limit: Duration) -> Result<Answer> {
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

/// For values that a panic cannot leave half changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
