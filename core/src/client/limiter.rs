//! `Limiter`: a name and a policy on a store. Creating one contacts no server.

mod adjust;
mod calls;
mod prepare;
#[cfg(feature = "simulate")]
mod remaining;
mod run;
#[cfg(feature = "aio")]
mod run_async;
#[cfg(feature = "redis-rs")]
mod run_on;
mod settle_together;
mod together;
mod wakeups;

use std::fmt;
#[cfg(feature = "redis")]
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::circuit_breaker::CircuitBreaker;
use crate::client::last_known::LastKnown;
use crate::client::local_fallback;
use crate::client::store::{Backend, Store};
use crate::model::decision::Decision;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::{Answer, Operation};
use crate::model::permit;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;
use crate::store::memory::{Cell, Memory};
#[cfg(feature = "redis")]
use crate::store::redis::{Keys, Redis};

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
/// std::thread::spawn(move || other_thread.acquire(Request::cost(1))).join().unwrap()?;
/// assert_eq!(api.peek(Request::cost(1))?.remaining, Some(99));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone)]
pub struct Limiter {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    policy: Arc<Policy>,
    store: Store,
    location: StateLocation,
    ttl: Micros,
    on_unavailable: OnUnavailable,
    /// The limiters of one group have the same hash tag in Redis.
    group: Option<Box<str>>,
    /// The limiters that decide together in the place of this one; empty for a limiter with a state of its own.
    together: Box<[Limiter]>,
    /// The limiter of this process alone, used while the store cannot decide.
    local: OnceLock<Option<Limiter>>,
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
        name: String,
        cell: OnceLock<Cell>,
    },
    #[cfg(feature = "redis")]
    Redis {
        store: Arc<Redis>,
        keys: Arc<Keys>,
    },
}

impl StateLocation {
    fn new(store: &Store, name: &str, group: Option<&str>, policy: &Policy) -> Self {
        if policy.limits().is_empty() || policy.paused().is_some() {
            Self::Stateless
        } else {
            Self::of(store, name, group, policy)
        }
    }

    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    fn of(store: &Store, name: &str, group: Option<&str>, policy: &Policy) -> Self {
        match &store.backend {
            Backend::Memory(memory) => {
                Self::Memory { store: memory.clone(), name: name.to_owned(), cell: OnceLock::new() }
            }
            #[cfg(feature = "redis")]
            Backend::Redis(redis) => {
                Self::Redis { store: redis.clone(), keys: Arc::new(Keys::new(name, group, policy)) }
            }
        }
    }
}

impl Inner {
    fn new(location: StateLocation, store: &Store, name: &str, policy: &Arc<Policy>, ttl: Micros) -> Self {
        Self {
            name: name.to_owned(),
            policy: policy.clone(),
            store: store.clone(),
            location,
            ttl,
            on_unavailable: OnUnavailable::Raise,
            group: None,
            together: Box::default(),
            local: OnceLock::new(),
            last_known: LastKnown::default(),
            #[cfg(feature = "redis")]
            listed_at: AtomicU64::new(0),
        }
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
        let policy = Arc::new(policy);
        let location = StateLocation::new(store, name, None, &policy);
        Ok(Self::made(Inner::new(location, store, name, &policy, ttl)))
    }

    fn made(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// Returns a copy with this behaviour when the store is unavailable. In memory it has no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{ErrorKind, OnUnavailable, Paddlegate, Request};
    /// let pg = Paddlegate::open("unix:///no/such/socket", None)?;
    /// let api = pg.window("api", 100, Duration::from_secs(60))?;
    /// assert_eq!(api.acquire(Request::cost(1)).unwrap_err().kind(), ErrorKind::Unavailable);
    /// let decision = api.with_on_unavailable(OnUnavailable::Local { share_percent: 10 }).acquire(Request::cost(1))?;
    /// assert!(decision.allowed() && decision.degraded);
    /// assert_eq!(decision.remaining, Some(9), "of 10 percent of 100 units");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn with_on_unavailable(&self, on_unavailable: OnUnavailable) -> Self {
        let Inner { store, name, policy, ttl, group, together, .. } = &*self.inner;
        let location = StateLocation::new(store, name, group.as_deref(), policy);
        let on_unavailable = if together.is_empty() { on_unavailable } else { on_unavailable.together() };
        Self::made(Inner {
            on_unavailable,
            group: group.clone(),
            together: together.clone(),
            ..Inner::new(location, store, name, policy, *ttl)
        })
    }

    /// Returns a copy in a group, of 1 to 512 bytes. In a cluster the limiters of a group are on one node, so that they can
    /// decide [together](crate::Paddlegate::together).
    ///
    /// All processes must give a name the same group: with another one, or none, it has another state. In memory the group
    /// has no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let user = pg.window("user-7", 100, Duration::from_secs(60))?.with_group("acme")?;
    /// assert_eq!(user.group(), Some("acme"));
    /// assert_eq!(user.with_group("").unwrap_err().argument(), Some("group"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn with_group(&self, group: &str) -> Result<Self> {
        check_group(group)?;
        let Inner { store, name, policy, ttl, on_unavailable, together, .. } = &*self.inner;
        if !together.is_empty() {
            return Err(Error::invalid("group", "belongs to each limiter; give it to those that decide together"));
        }
        let location = StateLocation::new(store, name, Some(group), policy);
        let group = Some(group.into());
        Ok(Self::made(Inner {
            on_unavailable: *on_unavailable,
            group,
            ..Inner::new(location, store, name, policy, *ttl)
        }))
    }

    /// Returns the group, whose limiters can decide together in a cluster.
    pub fn group(&self) -> Option<&str> {
        self.inner.group.as_deref()
    }

    /// Returns a limiter of the same name without limits, whose commands reach the state of the name.
    fn named(&self) -> Self {
        let Inner { store, name, ttl, group, .. } = &*self.inner;
        let policy = Arc::new(Policy::without_limits());
        let location = StateLocation::of(store, name, group.as_deref(), &policy);
        Self::made(Inner { group: group.clone(), ..Inner::new(location, store, name, &policy, *ttl) })
    }

    /// Returns the behaviour when the store is unavailable.
    pub fn on_unavailable(&self) -> OnUnavailable {
        self.inner.on_unavailable
    }

    /// Returns the limiter of this process alone, used while the store cannot decide; `None` without one.
    pub(crate) fn local(&self) -> Option<&Self> {
        let OnUnavailable::Local { share_percent } = self.inner.on_unavailable else { return None };
        let made = self.inner.local.get_or_init(|| {
            let store = self.inner.store.local()?;
            let policy = local_fallback::shared(&self.inner.policy, share_percent)?;
            Self::new(&store, &self.inner.name, policy, None).ok()
        });
        made.as_ref()
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
        let (Operation::Correct { permit, .. } | Operation::Release { permit, .. } | Operation::Renew { permit, .. }) =
            *operation
        else {
            return None;
        };
        self.local().filter(|_| permit.starts_with(permit::LOCAL))
    }

    /// Returns the location of the state; of limiters that decide together, that of the first with a state.
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

    /// Returns an error once the store is closed.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unnecessary_wraps))]
    fn check_open(&self) -> Result<()> {
        match self.location() {
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, .. } => store.check_open(),
            _ => Ok(()),
        }
    }

    /// Returns how long statistics are kept after the last use.
    pub fn ttl(&self) -> Micros {
        self.inner.ttl
    }
}

/// Checks the name of a group.
pub(crate) fn check_group(group: &str) -> Result<()> {
    if group.is_empty() || group.len() > MAX_NAME {
        return Err(Error::invalid("group", format!("must have 1 to {MAX_NAME} bytes: bytes={}", group.len())));
    }
    Ok(())
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiter")
            .field("name", &self.inner.name)
            .field("policy", &self.inner.policy)
            .finish_non_exhaustive()
    }
}

pub(crate) fn unexpected(answer: &Answer) -> Error {
    Error::internal(format!("unexpected reply type: {answer:?}"))
}
