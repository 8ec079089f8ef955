//! The Redis store: one script, one call, one reply. This module defines which bytes are sent. `blocking` (the caller's
//! thread), `aio` (tokio) or the host, which drives a [`ConnectionState`], moves them.

#[cfg(feature = "aio")]
mod aio;
mod blocking;
mod call;
mod command;
mod config;
#[cfg(feature = "redis-rs")]
pub(crate) mod connection_like;
mod encode;
#[cfg(feature = "redis-rs")]
mod guard;
mod hints;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
mod if_version;
mod key_list;
mod keys;
mod limiter_list;
mod listener;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
mod log;
mod most_refused;
mod names;
mod plain;
mod plain_release;
mod plain_reply;
mod reply;
mod route;
mod sentinel;
mod session;
mod socket;
mod statistics_of_keys;
mod tally;
#[cfg(feature = "tls")]
mod tls;
mod together;
mod wire;

#[doc(hidden)]
pub use crate::engine::compose::compose;
#[doc(hidden)]
pub use crate::engine::script::{SCRIPT, script_of_several};
pub use blocking::{DEFAULT_TIMEOUT, TRUSTED};
pub use call::{Call, CallOutcome};
pub use config::{Address, Certificates, RedisConfig};
#[cfg(feature = "redis-rs")]
pub(crate) use guard::Stopped;
#[cfg(feature = "redis-rs")]
pub use guard::{Guard, GuardInput, Guarded};
pub(crate) use listener::Listener;
pub use listener::Subscription;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
pub use log::LogEntry;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
pub(crate) use log::LogReply;
pub use route::Next;
pub use sentinel::SentinelQuery;
pub use session::{Completion, ConnectionState};
pub use socket::Socket;

pub(crate) use blocking::check_timeout;
pub(crate) use hints::Hints;
pub(crate) use key_list::PartialKeys;
pub(crate) use keys::{Keys, Roles};
pub(crate) use limiter_list::PartialPage;
pub(crate) use most_refused::MostRefused;
pub(crate) use names::{KeyParts, Names, PARTS, TAGS};
pub(crate) use statistics_of_keys::StatisticsOfKeys;
pub(crate) use tally::{Tallies, Tally};

use crate::base::per_process::PerProcess;
use std::collections::HashSet;
use std::io::Write;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use once_cell::race::OnceBox;

use crate::base::clock::monotonic;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::model::operation::Answer;
use crate::store::fork_safe::ForkSafe;
use crate::store::signal_handling::SignalHandling;
use blocking::Pool;
use route::Routes;

/// The longest wait for a server that shall take what a process has counted.
const PATIENCE: Duration = Duration::from_millis(500);

/// The open stores of this process and of those that it was forked from.
static OPEN: OnceBox<ForkSafe<Vec<Weak<Redis>>>> = OnceBox::new();

/// Sends what this process has counted and not yet sent, of all open stores. For hosts, when the process ends.
///
/// A process sends its counts by itself with its calls, and when a store is closed or dropped, which the end of a process may
/// not do. It waits for at most half a second for each server, and what a server does not take is lost.
///
/// # Examples
///
/// ```
/// # use paddlegate::Paddlegate;
/// let pg = Paddlegate::open("redis://localhost:6379", None)?;
/// paddlegate::store::redis::send_counts(); // nothing to send: it does not connect
/// # Ok::<(), paddlegate::Error>(())
/// ```
pub fn send_counts() {
    let Some(open) = OPEN.get() else { return };
    let stores: Vec<Arc<Redis>> = open.lock(Vec::new).iter().filter_map(Weak::upgrade).collect();
    for store in stores {
        store.send_counts();
    }
}

/// How a dropped store sends its counts: with a host's lock released, see [`around_send`].
static AROUND_SEND: OnceBox<AroundSend> = OnceBox::new();

/// A function that runs what it gets, once.
pub type AroundSend = fn(&mut (dyn FnMut() + Send));

/// Sets what a dropped store calls to send its counts, which takes half a second at most. For hosts whose lock must not be held
/// meanwhile. Only the first counts.
///
/// # Examples
///
/// ```
/// paddlegate::store::redis::around_send(|send| send());
/// ```
pub fn around_send(around: AroundSend) {
    let _ = AROUND_SEND.set(Box::new(around));
}

/// Who gets the warnings of this process.
static WARN: OnceBox<fn(&str)> = OnceBox::new();

/// The most limiters of a store that are warned of.
const MAX_WARNED: usize = 100;

/// Sets who gets what an operator must mend, of each limiter once: that Redis refuses the login of this process, or its user the
/// right to a command, so that [`OnUnavailable`](crate::OnUnavailable) decides. Without this a line goes to standard error. For the
/// logger of a host. Only the first counts.
///
/// # Examples
///
/// ```
/// paddlegate::store::redis::warn_by(|message| eprintln!("{message}"));
/// ```
pub fn warn_by(warn: fn(&str)) {
    let _ = WARN.set(Box::new(warn));
}

/// A Redis server or cluster, and this process's connections to it.
pub struct Redis {
    location: RedisConfig,
    timeout: Micros,
    process: PerProcess<Connections>,
    /// Whether calls only give back what this process has taken.
    closing: AtomicBool,
    closed: AtomicBool,
    tallies: Arc<Tallies>,
    /// Whether the whole script decides every call.
    is_whole: AtomicBool,
    /// The limiters that were warned of.
    warned: ForkSafe<HashSet<Box<str>>>,
}

/// State of one process, never shared with its forks.
#[derive(Default)]
pub(crate) struct Connections {
    pool: Pool,
    routes: Routes,
    #[cfg(feature = "aio")]
    links: aio::Links,
}

impl Redis {
    pub(crate) fn open(url: &str, timeout: Micros) -> Result<Arc<Self>> {
        let store = Arc::new(Self {
            location: RedisConfig::parse(url)?,
            timeout,
            process: PerProcess::default(),
            closing: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            tallies: Arc::default(),
            is_whole: AtomicBool::new(false),
            warned: ForkSafe::new(HashSet::new()),
        });
        let mut open = OPEN.get_or_init(|| ForkSafe::new(Vec::new()).into()).lock(Vec::new);
        open.retain(|store| store.strong_count() > 0);
        open.push(Arc::downgrade(&store));
        Ok(store)
    }

    /// Leaves every call to the whole script, for tests that compare it with the scripts of plain calls.
    #[doc(hidden)]
    pub fn decide_whole(&self, is_whole: bool) {
        self.is_whole.store(is_whole, Ordering::Relaxed);
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Relaxed)
    }

    /// Warns an operator, once for a limiter.
    pub(crate) fn warn_once(&self, name: &str, message: impl FnOnce() -> String) {
        let mut warned = self.warned.lock(HashSet::new);
        if warned.len() >= MAX_WARNED || warned.contains(name) {
            return;
        }
        warned.insert(name.into());
        drop(warned);
        match WARN.get() {
            Some(warn) => warn(&message()),
            // It may be closed.
            None => _ = writeln!(std::io::stderr(), "paddlegate: {}", message()),
        }
    }

    /// Returns what this process has counted and not yet sent.
    pub(crate) const fn tallies(&self) -> &Arc<Tallies> {
        &self.tallies
    }

    /// Sends what this process has counted and not yet sent. Returns whether the server has answered.
    fn send_counts(&self) -> bool {
        let (process, deadline) = (self.process.get(), monotonic() + self.timeout.duration().min(PATIENCE));
        // The first time shows whether the slots are on several nodes; what another node has is sent the second time.
        for _ in 0..2 {
            let mut reports = self.tallies.all(None);
            while !reports.is_empty() {
                let at_once = if self.tallies.is_cluster() { 1 } else { reports.len().min(tally::MAX_AT_ONCE) };
                let rest = reports.split_off(at_once);
                let Some(call) = Call::reports(mem::replace(&mut reports, rest)) else { return true };
                if blocking::run(self, &process, call, SignalHandling::Ignore, deadline).is_err() {
                    return false;
                }
            }
        }
        true
    }

    /// Returns the addresses of the servers and the credentials.
    pub const fn location(&self) -> &RedisConfig {
        &self.location
    }

    /// Returns the time-out of a call.
    pub const fn timeout(&self) -> Micros {
        self.timeout
    }

    /// Returns the node for a call: the target of its redirection, the learned node of its slot, or the current default
    /// node of the URL.
    pub fn route(&self, call: &Call) -> Address {
        self.process.get().routes.node(&self.location, call)
    }

    /// Returns the next step of a call that a connection has finished with. `left` is the time until its deadline.
    pub fn next(&self, outcome: CallOutcome, left: Duration) -> Next {
        match outcome {
            CallOutcome::Answered(result) => Next::Done(result),
            outcome => self.process.get().routes.next(outcome, left),
        }
    }

    /// Returns the next step of a call that the server cannot have received, with the error of its connection.
    ///
    /// `had_worked`: the server closed a connection that had worked, so that a new one may work. Otherwise the connection
    /// could not be opened; [forget](Self::forget) its node first. The call fails after as many of these as the URL has
    /// nodes, and at its deadline, which comes after the time `left`.
    pub fn next_unsent(&self, call: Call, error: Error, had_worked: bool, left: Duration) -> Next {
        route::next_unsent(&self.location, call, error, had_worked, left)
    }

    /// Forgets a node that does not reply, so that its slots are routed to another node.
    pub fn forget(&self, address: &Address) {
        self.process.get().routes.forget(&self.location, address);
    }

    /// Subscribes to a channel on a node; see [`WakeupListener`](crate::WakeupListener). Connects within `limit` and
    /// the time-out of a call.
    pub(crate) fn listen(&self, node: &Address, channel: &str, limit: Duration) -> Result<Listener> {
        Listener::open(&self.location, node, channel, monotonic() + self.timeout.duration().min(limit))
    }

    /// Returns the node that currently receives the calls of a slot.
    pub(crate) fn node_of(&self, slot: u16) -> Address {
        self.process.get().routes.node_of_slot(&self.location, slot)
    }

    /// Returns the last node known to own a slot, even if it does not reply.
    pub(crate) fn owner(&self, slot: u16) -> Option<Address> {
        self.process.get().routes.owner(slot)
    }

    /// Returns an error after [`Paddlegate::close`](crate::Paddlegate::close) has begun.
    pub fn check_open(&self) -> Result<()> {
        if self.closing.load(Ordering::Acquire) { Err(closed()) } else { self.check_not_closed() }
    }

    /// Returns an error after [`Paddlegate::close`](crate::Paddlegate::close) has closed the connections.
    pub(crate) fn check_not_closed(&self) -> Result<()> {
        if self.is_closed() { Err(closed()) } else { Ok(()) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Lets no call begin any more but those that give something back.
    pub(crate) fn begin_close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    /// Closes the unused connections of this process. A call in progress closes its own connection.
    pub(crate) fn close(&self) {
        // First, so that no call begins any more. What those in flight count is sent when the store is dropped.
        self.closed.store(true, Ordering::Release);
        if !self.send_counts() {
            // The drop would wait for it once more.
            self.tallies.forget();
        }
        let process = self.process.get();
        process.pool.clear_all();
        #[cfg(feature = "aio")]
        process.links.clear();
    }

    /// Runs a call on the caller's thread, within `limit` and the time-out of a call.
    pub(crate) fn run(&self, call: Call, interrupt: SignalHandling<'_>, limit: Duration) -> Result<Answer> {
        self.check_not_closed()?;
        let (process, deadline) = (self.process.get(), monotonic() + self.timeout.duration().min(limit));
        let result = blocking::run(self, &process, call, interrupt, deadline);
        self.clear_if_closed(&process);
        result
    }

    /// Runs calls as [`run`](Self::run) does, the calls of a node in one exchange. Each has a result of its own.
    pub(crate) fn run_several(&self, calls: Vec<Call>, interrupt: SignalHandling<'_>) -> Vec<Result<Answer>> {
        if let Err(error) = self.check_not_closed() {
            return calls.iter().map(|_| Err(error.clone())).collect();
        }
        let (process, deadline) = (self.process.get(), monotonic() + self.timeout.duration());
        let results = blocking::run_several(self, &process, calls, interrupt, deadline);
        self.clear_if_closed(&process);
        results
    }

    /// Closes the connection of a call that was in progress when the store was closed.
    fn clear_if_closed(&self, process: &Connections) {
        if self.is_closed() {
            process.pool.clear_all();
        }
    }

    /// Runs a call on the caller's tokio runtime.
    #[cfg(feature = "aio")]
    pub(crate) async fn run_async(&self, call: Call) -> Result<Answer> {
        self.check_not_closed()?;
        let process = self.process.get();
        aio::run(self, &process, call).await
    }
}

fn closed() -> Error {
    Error::invalid("store", "is closed; open another one")
}

impl Drop for Redis {
    fn drop(&mut self) {
        if self.tallies.has_some() {
            let mut send = || _ = self.send_counts();
            match AROUND_SEND.get() {
                Some(around) => around(&mut send),
                None => send(),
            }
        }
        self.tallies.end();
    }
}
