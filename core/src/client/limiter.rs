//! `Limiter`: a name and a policy on a store. Creating one contacts no server.

mod adjust;
#[cfg(feature = "redis")]
mod all_keys;
mod calls;
#[cfg(feature = "redis")]
mod each;
#[cfg(feature = "redis-rs")]
mod guarded;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
mod if_version;
mod inspect;
mod keyed;
#[cfg(feature = "redis")]
mod most_refused;
mod plain;
mod prepare;
#[cfg(feature = "redis")]
mod record;
#[cfg(feature = "simulate")]
mod remaining;
mod run;
#[cfg(feature = "aio")]
mod run_async;
#[cfg(feature = "redis-rs")]
mod run_on;
mod settle_together;
mod together;
mod variants;
mod wakeups;

use std::fmt;
use std::sync::Arc;
#[cfg(feature = "redis")]
use std::sync::atomic::AtomicU64;

use once_cell::race::OnceBox;

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::circuit_breaker::CircuitBreaker;
use crate::client::last_known::LastKnown;
use crate::client::local_fallback;
use crate::client::store::{Backend, Store};
use crate::model::decision::Decision;
use crate::model::limit::Limit;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::Operation;
use crate::model::permit;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;
use crate::store::memory::{Cell, Memory, StateName};
#[cfg(feature = "redis")]
use crate::store::redis::{KeyParts, Keys, Redis};

#[cfg(feature = "redis")]
pub use all_keys::KeyChange;
#[cfg(all(feature = "redis-rs", feature = "aio"))]
pub use if_version::ChangeIfVersion;
use keyed::AllKeys;
pub use keyed::MAX_KEY;
use plain::PlainLimiter;
#[cfg(feature = "redis")]
pub use record::{MAX_RECORDED, MAX_RECORDED_PAGE, RecordedPage, Recording};
#[cfg(feature = "documents")]
pub(crate) use variants::check_group;

/// The maximum length of a limiter's name, in bytes.
pub const MAX_NAME: usize = 512;

/// The default maximum wait of `acquire` and `within_limit` in the packages: 5 s.
pub const WAIT_TIMEOUT: Micros = Micros(5_000_000);

/// A named policy on a store. Cheap to clone and safe to share between threads; create it once and keep it.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Paddlegate, Request};
/// let api = Paddlegate::memory().window("api", 100, Duration::from_secs(60))?;
/// assert_eq!((api.name(), api.policy().limits()[0].amount()), ("api", 100));
/// let other_thread = api.clone();
/// std::thread::spawn(move || other_thread.try_acquire(Request::cost(1))).join().unwrap()?;
/// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(99));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone)]
pub struct Limiter {
    inner: Arc<Inner>,
}

struct Inner {
    /// `None` for a limiter whose calls need the whole engine.
    plain: Option<PlainLimiter>,
    name: Arc<str>,
    policy: Arc<Policy>,
    store: Store,
    location: StateLocation,
    ttl: Micros,
    on_unavailable: OnUnavailable,
    /// The limiters of one group have the same hash tag in Redis. A name in another group has another state.
    group: Option<Arc<str>>,
    /// Whether the limiter has statistics and an entry in the list of limiters.
    has_statistics: bool,
    /// What all keys of a keyed limiter have in common; `None` for a limiter that is not keyed.
    keys: Option<Arc<AllKeys>>,
    /// The key of the state; `None` for a limiter that is not keyed, and for a keyed one without a key.
    key: Option<Arc<str>>,
    /// The limiters that decide together in the place of this one; empty for a limiter with a state of its own.
    together: Box<[Limiter]>,
    /// The limiter of this process alone, used while the store cannot decide.
    local: OnceBox<Option<Limiter>>,
    last_known: LastKnown,
    /// The second at which the limiter was last added to the list of limiters; zero for never.
    #[cfg(feature = "redis")]
    listed_at: AtomicU64,
}

/// The location of the state of one limiter.
enum StateLocation {
    /// No limit or a pause, which need no state.
    Stateless,
    Memory {
        store: Arc<Memory>,
        name: StateName,
        cell: OnceBox<Cell>,
    },
    #[cfg(feature = "redis")]
    Redis {
        store: Arc<Redis>,
        keys: Arc<Keys>,
    },
}

impl Inner {
    fn new(store: &Store, name: Arc<str>, policy: &Arc<Policy>, ttl: Micros) -> Self {
        Self {
            plain: None,
            name,
            policy: policy.clone(),
            store: store.clone(),
            location: StateLocation::Stateless,
            ttl,
            on_unavailable: OnUnavailable::Raise,
            group: None,
            has_statistics: true,
            keys: None,
            key: None,
            together: Box::default(),
            local: OnceBox::new(),
            last_known: LastKnown::default(),
            #[cfg(feature = "redis")]
            listed_at: AtomicU64::new(0),
        }
    }

    /// Returns the limiter with the location that follows from its other fields.
    fn located(mut self) -> Limiter {
        if !(self.is_of_all_keys() || self.policy.limits().is_empty() || self.policy.paused().is_some()) {
            self.location = self.state_location();
        }
        self.made()
    }

    /// Returns whether this is a keyed limiter without a key.
    fn is_of_all_keys(&self) -> bool {
        self.keys.is_some() && self.key.is_none()
    }

    fn made(mut self) -> Limiter {
        self.plain = PlainLimiter::new(&self);
        Limiter { inner: Arc::new(self) }
    }

    fn state_location(&self) -> StateLocation {
        match &self.store.backend {
            Backend::Memory(memory) => {
                StateLocation::Memory { store: memory.clone(), name: self.state_name(), cell: OnceBox::new() }
            }
            #[cfg(feature = "redis")]
            Backend::Redis(redis) => {
                let keys = match &self.keys {
                    Some(all) => all.in_redis(self.key_parts(), &self.policy),
                    None => Keys::new(self.key_parts(), &self.policy),
                };
                let tally = self.has_statistics.then(|| match &self.keys {
                    Some(all) => all.tally(&keys, redis),
                    None => keys.new_tally(redis.tallies()),
                });
                StateLocation::Redis { store: redis.clone(), keys: Arc::new(keys.with_tally(tally)) }
            }
        }
    }

    fn state_name(&self) -> StateName {
        StateName { name: self.name.clone(), group: self.group.clone() }
    }

    #[cfg(feature = "redis")]
    fn key_parts(&self) -> KeyParts<'_> {
        let (group, key) = (self.group.as_deref(), self.key.as_ref());
        KeyParts { name: &self.name, group, key, has_statistics: self.has_statistics }
    }
}

impl Limiter {
    pub(crate) fn new(store: &Store, name: &str, policy: Policy, ttl: Option<Micros>) -> Result<Self> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(Error::invalid("name", format!("must have 1 to {MAX_NAME} bytes: bytes={}", name.len())));
        }
        let ttl = ttl.unwrap_or(DEFAULT_STATISTICS_TTL);
        if ttl < Micros(1_000_000) || ttl > MAX_SPAN {
            return Err(Error::invalid("ttl", format!("must be from one second to ten years: ttl_us={}", ttl.0)));
        }
        Ok(Inner::new(store, name.into(), &Arc::new(policy), ttl).located())
    }

    /// Returns the behaviour when the store is unavailable.
    pub fn on_unavailable(&self) -> OnUnavailable {
        self.inner.on_unavailable
    }

    /// Returns the limiter of this process alone, used while the store cannot decide; `None` without one.
    pub(crate) fn local(&self) -> Option<&Self> {
        let OnUnavailable::Local { share_percent } = self.inner.on_unavailable else { return None };
        let make = || {
            let store = self.inner.store.local()?;
            let policy = local_fallback::shared(&self.inner.policy, share_percent)?;
            let mut inner = Inner::new(&store, self.inner.name.clone(), &Arc::new(policy), DEFAULT_STATISTICS_TTL);
            (inner.keys, inner.key) = (self.inner.keys.as_ref().map(|_| Arc::default()), self.inner.key.clone());
            inner.group.clone_from(&self.inner.group);
            Some(inner.located())
        };
        self.inner.local.get_or_init(|| Box::new(make())).as_ref()
    }

    /// Records a decision of the store, from which this process continues if it has to decide alone.
    pub(crate) fn record_decision(&self, decision: &Decision) {
        if matches!(self.inner.on_unavailable, OnUnavailable::Local { .. }) {
            self.inner.last_known.update(decision, self.now());
        }
    }

    /// Applies the last recorded decision to the limiter of this process.
    pub(crate) fn seed_local(&self, local: &Self) -> Result<()> {
        self.inner.last_known.seed(local)
    }

    /// Returns the limiter of this process for an operation on a permit that it granted alone.
    pub(crate) fn local_of(&self, operation: &Operation<'_>) -> Option<&Self> {
        let (Operation::Correct { permit, .. }
        | Operation::Extend { permit, .. }
        | Operation::Release { permit, .. }
        | Operation::Renew { permit, .. }) = *operation
        else {
            return None;
        };
        self.local().filter(|_| permit.starts_with(permit::LOCAL))
    }

    /// Returns the location of the state; of limiters that decide together, the location of the first that has a state.
    #[inline]
    fn location(&self) -> &StateLocation {
        if self.inner.together.is_empty() {
            return &self.inner.location;
        }
        let mut each = self.inner.together.iter().map(|limiter| &limiter.inner.location);
        each.find(|location| !matches!(location, StateLocation::Stateless)).unwrap_or(&self.inner.location)
    }

    /// Returns the server of the store.
    #[cfg(feature = "redis")]
    fn server(&self) -> Result<&Arc<Redis>> {
        match &self.inner.store.backend {
            Backend::Redis(redis) => Ok(redis),
            Backend::Memory(_) => Err(Error::internal("unexpected call to a server: the limiter is in memory")),
        }
    }

    /// Counts a call that the store did not decide; `is_degraded`: this process decided it instead.
    #[cfg(feature = "redis")]
    pub(crate) fn count_undecided(&self, is_degraded: bool) {
        let at = is_degraded.then(|| Micros(self.now()));
        let each = if self.inner.together.is_empty() { std::slice::from_ref(self) } else { &self.inner.together };
        for limiter in each {
            if let StateLocation::Redis { keys, .. } = &limiter.inner.location {
                keys.count_undecided(at);
            }
        }
    }

    /// Says once that this process decides alone until an operator mends its login or its rights.
    #[cfg(feature = "redis")]
    pub(crate) fn warn_of_rights(&self, error: &Error) {
        if let Backend::Redis(redis) = &self.inner.store.backend {
            let (name, mode) = (self.name(), self.inner.on_unavailable.name());
            redis.warn_once(name, || {
                let message = error.message();
                format!("redis refuses this process, so on_unavailable={mode} decides every call: limiter={name:?} {message}")
            });
        }
    }

    /// Returns whether a server decides.
    #[cfg(feature = "redis")]
    pub(crate) fn is_on_server(&self) -> bool {
        matches!(self.location(), StateLocation::Redis { .. })
    }

    /// Notes that the store has answered a call.
    #[cfg(feature = "redis")]
    pub(crate) fn store_is_back(&self) {
        if let Backend::Redis(redis) = &self.inner.store.backend {
            redis.tallies().is_back();
        }
    }

    /// Returns the circuit breaker of the limiter's node; `None` where it has no effect.
    pub(crate) fn circuit(&self) -> Option<Arc<CircuitBreaker>> {
        match self.location() {
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, keys } if self.inner.on_unavailable != OnUnavailable::Raise => {
                Some(self.inner.store.circuit(store, keys.slot()))
            }
            _ => None,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    /// Returns the limits of the policy; where several limiters decide together, the limits of each in order.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::memory();
    /// let (org, user) = (pg.bucket("org", 9, Duration::from_secs(60))?, pg.throttle("user", Duration::from_secs(1))?);
    /// assert_eq!(org.limits().map(|limit| limit.amount()).collect::<Vec<_>>(), [9]);
    /// assert_eq!(pg.together(&[&org, &user])?.limits().count(), 2);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limits(&self) -> impl Iterator<Item = &Limit> {
        let several = self.inner.together.iter().flat_map(|limiter| limiter.policy().limits());
        self.policy().limits().iter().chain(several)
    }

    /// Returns an error once the store is being closed, for a call that may need the server.
    pub(crate) fn check_open(&self) -> Result<()> {
        #[cfg(feature = "redis")]
        if let Some(redis) = self.needed_server() {
            return redis.check_open();
        }
        match self.inner.store.in_memory() {
            Some(memory) if self.has_state() || self.inner.is_of_all_keys() || !self.limiters().is_empty() => {
                memory.check_open()
            }
            _ => Ok(()),
        }
    }

    /// Returns an error once the store is closed, for a call that gives something back.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unnecessary_wraps, clippy::unused_self))]
    fn check_not_closed(&self) -> Result<()> {
        #[cfg(feature = "redis")]
        if let Some(redis) = self.needed_server() {
            return redis.check_not_closed();
        }
        Ok(())
    }

    /// Returns the server, if a call may need it.
    #[cfg(feature = "redis")]
    fn needed_server(&self) -> Option<&Redis> {
        match (&self.inner.store.backend, self.location()) {
            (Backend::Memory(_), _) => None,
            // A keyed limiter without a key has no state, and statistics on the server.
            (Backend::Redis(_), StateLocation::Stateless) if !self.inner.is_of_all_keys() => None,
            (Backend::Redis(redis), _) => Some(redis),
        }
    }

    /// Returns how long statistics are kept after the last use.
    pub fn ttl(&self) -> Micros {
        self.inner.ttl
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("name", &self.inner.name)
            .field("policy", &self.inner.policy)
            .finish_non_exhaustive()
    }
}
