//! `Store`: the backend of a client, and the data that each process keeps beside it.

use std::sync::{Arc, Weak};
#[cfg(feature = "redis")]
use std::{collections::HashMap, sync::Mutex};

#[cfg(feature = "redis")]
use crate::base::clock::monotonic;
#[cfg(feature = "redis")]
use crate::base::locked;
#[cfg(feature = "redis")]
use crate::base::per_process::PerProcess;
use crate::base::test_clock::TestClock;
#[cfg(feature = "redis")]
use crate::client::circuit_breaker::CircuitBreaker;
#[cfg(feature = "redis")]
use crate::client::hub::Hub;
use crate::store::memory::Memory;
#[cfg(feature = "redis")]
use crate::store::redis::{Address, DEFAULT_TIMEOUT, Redis};

#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) backend: Backend,
    /// The clock of the store, if a test has set one.
    pub(crate) clock: Option<TestClock>,
    #[cfg(feature = "redis")]
    process: Arc<PerProcess<Process>>,
}

/// The location of the limits.
#[derive(Clone)]
pub(crate) enum Backend {
    Memory(Arc<Memory>),
    #[cfg(feature = "redis")]
    Redis(Arc<Redis>),
}

/// The data of one process, which forks never share.
#[cfg(feature = "redis")]
#[derive(Default)]
struct Process {
    /// By the known owner of a slot; one entry for all slots without a known owner.
    circuits: Mutex<HashMap<Option<Address>, Arc<CircuitBreaker>>>,
    /// The limits of this process alone, used while the servers do not reply.
    local: Arc<Memory>,
    /// The waiting calls by the node that sends their wake-ups.
    hubs: Mutex<HashMap<String, Arc<Hub>>>,
}

impl Store {
    pub(crate) fn memory(memory: Arc<Memory>, clock: Option<TestClock>) -> Self {
        if let Some(clock) = &clock {
            let weak: Weak<Memory> = Arc::downgrade(&memory);
            clock.add(weak);
        }
        Self::new(Backend::Memory(memory), clock)
    }

    #[cfg(feature = "redis")]
    pub(crate) fn redis(redis: Arc<Redis>, clock: Option<TestClock>) -> Self {
        Self::new(Backend::Redis(redis), clock)
    }

    fn new(backend: Backend, clock: Option<TestClock>) -> Self {
        Self {
            backend,
            clock,
            #[cfg(feature = "redis")]
            process: Arc::default(),
        }
    }

    /// Returns whether two limiters have one store.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.backend, &other.backend) {
            (Backend::Memory(memory), Backend::Memory(other)) => Arc::ptr_eq(memory, other),
            #[cfg(feature = "redis")]
            (Backend::Redis(redis), Backend::Redis(other)) => Arc::ptr_eq(redis, other),
            #[cfg(feature = "redis")]
            _ => false,
        }
    }

    /// Ends the waits of this process, which give back their tickets first, and closes its connections.
    #[cfg(feature = "redis")]
    pub(crate) fn close(&self) {
        let timeout = match &self.backend {
            Backend::Memory(memory) => {
                memory.close();
                DEFAULT_TIMEOUT
            }
            Backend::Redis(redis) => {
                redis.begin_close();
                redis.timeout()
            }
        };
        let process = self.process.get();
        let hubs: Vec<_> = locked(&process.hubs).values().cloned().collect();
        for hub in &hubs {
            hub.close();
        }
        let deadline = monotonic() + timeout.duration();
        for hub in &hubs {
            hub.wait_until_left(deadline);
        }
        if let Backend::Redis(redis) = &self.backend {
            redis.close();
        }
        // Not before: a wait would find no hub there and make another one.
        locked(&process.hubs).clear();
    }

    /// Returns the waiting calls of this process whose wake-ups this node sends.
    #[cfg(feature = "redis")]
    pub(crate) fn hub(&self, node: String) -> Arc<Hub> {
        locked(&self.process.get().hubs).entry(node).or_default().clone()
    }

    /// Returns the store of this process alone; `None` for a store in memory.
    pub(crate) fn local(&self) -> Option<Self> {
        match self.backend {
            Backend::Memory(_) => None,
            #[cfg(feature = "redis")]
            Backend::Redis(_) => Some(Self::memory(self.process.get().local.clone(), self.clock.clone())),
        }
    }

    /// Returns the memory of the store; `None` in Redis.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unnecessary_wraps))]
    pub(crate) fn in_memory(&self) -> Option<&Memory> {
        match &self.backend {
            Backend::Memory(memory) => Some(memory),
            #[cfg(feature = "redis")]
            Backend::Redis(_) => None,
        }
    }

    /// Returns the circuit breaker for the node of a slot.
    #[cfg(feature = "redis")]
    pub(crate) fn circuit(&self, redis: &Redis, slot: u16) -> Arc<CircuitBreaker> {
        locked(&self.process.get().circuits).entry(redis.owner(slot)).or_default().clone()
    }
}
