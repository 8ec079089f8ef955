//! `Limiter`: a name and a policy on a store. Creating one contacts no server.

mod adjust;
mod prepare;
#[cfg(feature = "simulate")]
mod remaining;
#[cfg(feature = "redis-rs")]
mod run_on;

use crate::client::local_fallback;
use crate::client::store::Backend;
use crate::client::store::Store;
use std::fmt;
#[cfg(feature = "redis")]
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::client::circuit_breaker::CircuitBreaker;
#[cfg(feature = "redis")]
use crate::client::hub::Hub;
use crate::client::last_known::LastKnown;
#[cfg(feature = "redis")]
use crate::client::local_fallback::Fallback;
use crate::client::prepared::Prepared;
use crate::client::wakeup::WakeupListener;
use crate::model::decision::Decision;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::{Answer, Operation};
use crate::model::permit;
use crate::model::permit::Settlement;
use crate::model::policy::Policy;
use crate::model::request::{Request, Wait};
use crate::model::statistics::{DEFAULT_STATISTICS_TTL, Statistics};
use crate::store::memory::{Cell, Memory};
#[cfg(feature = "redis")]
use crate::store::redis::{Keys, Redis};
use crate::store::signal_handling::SignalHandling;

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
        key: String,
        cell: OnceLock<Cell>,
    },
    #[cfg(feature = "redis")]
    Redis {
        store: Arc<Redis>,
        keys: Arc<Keys>,
    },
}

impl StateLocation {
    fn new(store: &Store, name: &str, policy: &Policy) -> Self {
        if policy.limits().is_empty() || policy.paused().is_some() {
            return Self::Stateless;
        }
        match &store.backend {
            Backend::Memory(memory) => {
                Self::Memory { store: memory.clone(), key: format!("{}:{name}", policy.shape()), cell: OnceLock::new() }
            }
            #[cfg(feature = "redis")]
            Backend::Redis(redis) => Self::Redis { store: redis.clone(), keys: Arc::new(Keys::new(name, policy)) },
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
        Ok(Self::made(store, name, &Arc::new(policy), ttl, OnUnavailable::Raise))
    }

    fn made(store: &Store, name: &str, policy: &Arc<Policy>, ttl: Micros, on_unavailable: OnUnavailable) -> Self {
        let inner = Inner {
            name: name.to_owned(),
            policy: policy.clone(),
            store: store.clone(),
            location: StateLocation::new(store, name, policy),
            ttl,
            on_unavailable,
            local: OnceLock::new(),
            last_known: LastKnown::default(),
            #[cfg(feature = "redis")]
            listed_at: AtomicU64::new(0),
        };
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
        let Inner { store, name, policy, ttl, .. } = &*self.inner;
        Self::made(store, name, policy, *ttl, on_unavailable)
    }

    /// Returns the behaviour when the store is unavailable.
    pub fn on_unavailable(&self) -> OnUnavailable {
        self.inner.on_unavailable
    }

    /// Returns the limiter of this process alone, used while the store cannot decide; `None` without one.
    pub(crate) fn local(&self) -> Option<&Self> {
        let OnUnavailable::Local { share_percent } = self.inner.on_unavailable else { return None };
        let made = self.inner.local.get_or_init(|| {
            let store = Store::memory(self.inner.store.local()?);
            let policy = local_fallback::shared(&self.inner.policy, share_percent)?;
            Self::new(&store, &self.inner.name, policy, None).ok()
        });
        made.as_ref()
    }

    /// Records a decision of the store, from which this process continues if it has to decide alone.
    pub(crate) fn record_decision(&self, decision: &Decision) {
        if matches!(self.inner.on_unavailable, OnUnavailable::Local { .. }) {
            self.inner.last_known.update(decision);
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

    /// Returns the circuit breaker of the limiter's node; `None` where it has no effect.
    pub(crate) fn circuit(&self) -> Option<Arc<CircuitBreaker>> {
        match &self.inner.location {
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

    /// Takes the cost if every limit allows it and no ticket is ahead, otherwise nothing. Never waits for a limit.
    ///
    /// `Invalid` when the cost can never be granted; `Unavailable` when the store cannot decide.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?;
    /// assert_eq!(api.acquire(Request::cost(2))?.remaining, Some(0));
    /// let refused = api.acquire(Request::cost(1))?;
    /// assert!(!refused.allowed() && refused.retry_after.unwrap() <= Micros(60_000_000));
    /// assert_eq!(api.acquire(Request::cost(3)).unwrap_err().argument(), Some("cost"), "never possible");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire(&self, request: Request) -> Result<Decision> {
        match self.run(Operation::Acquire(request), SignalHandling::Ignore)? {
            Answer::Decision(decision) => Ok(decision),
            other => Err(unexpected(&other)),
        }
    }

    /// Checks that a plain yes or no is enough for this limiter; `allow` of every package calls it first.
    ///
    /// `Invalid` for a policy with a concurrency limit: its grants are leases, and a lease cannot be released without
    /// its permit.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::memory();
    /// assert!(pg.window("api", 2, Duration::from_secs(60))?.check_allow().is_ok());
    /// assert!(pg.concurrent("workers", 2, Duration::from_secs(60))?.check_allow().is_err());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn check_allow(&self) -> Result<()> {
        match self.inner.policy.concurrency() {
            None => Ok(()),
            Some(_) => Err(Error::invalid(
                "allow",
                "returns no permit, so the lease of the concurrency limit could not be released; use acquire",
            )),
        }
    }

    /// Returns an error for an operation with a time, unless the store accepts a test clock.
    ///
    /// A wrong time in one process could end the leases of all others, or stop their clock.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unnecessary_wraps, unused_variables))]
    fn check_clock(&self, operation: &Operation<'_>) -> Result<()> {
        match &self.inner.location {
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, .. } if operation.at().is_some() => store.check_test_clock(),
            _ => Ok(()),
        }
    }

    /// Returns an error once the store is closed.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unnecessary_wraps))]
    fn check_open(&self) -> Result<()> {
        match &self.inner.location {
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, .. } => store.check_open(),
            _ => Ok(()),
        }
    }

    /// Takes the cost as [`acquire`](Self::acquire) does, under an id of the caller. With `wait` the call may queue.
    ///
    /// The id names the lease and the ticket: a repeated call takes no second lease and keeps the queue position. A
    /// queued caller repeats the call with the same id after `retry_after`, or on a wake-up from its channel; a caller
    /// that gives up calls [`cancel`](Self::cancel).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Settlement, Status, Wait};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let wait = Some(Wait::up_to(Micros(5_000_000)));
    /// assert_eq!(workers.acquire_with_id(Request::cost(1), "a", wait)?.status, Status::Granted);
    /// assert_eq!(workers.acquire_with_id(Request::cost(1), "a", wait)?.status, Status::Granted, "the same lease");
    /// let queued = workers.acquire_with_id(Request::cost(1), "b", wait)?;
    /// assert_eq!((queued.status, queued.ticket.unwrap().position), (Status::Queued, 0));
    /// assert_eq!(workers.cancel("b")?, Settlement::Cancelled);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire_with_id(&self, request: Request, id: &str, wait: Option<Wait<'_>>) -> Result<Decision> {
        match self.run(Operation::AcquireWithId { request, id, wait }, SignalHandling::Ignore)? {
            Answer::Decision(decision) => Ok(decision),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns what [`acquire`](Self::acquire) would return now and changes nothing. `remaining` does not subtract the
    /// cost.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?;
    /// assert!(api.peek(Request::cost(2))?.allowed());
    /// assert_eq!(api.peek(Request::cost(2))?.remaining, Some(2), "nothing was taken");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn peek(&self, request: Request) -> Result<Decision> {
        match self.run(Operation::Peek(request), SignalHandling::Ignore)? {
            Answer::Decision(decision) => Ok(decision),
            other => Err(unexpected(&other)),
        }
    }

    /// Replaces the estimate of a permit by the actual cost, once; later calls change nothing.
    ///
    /// A lower cost is refunded; a higher one becomes debt, capped at one full limit. A bucket is corrected only while
    /// its interval lasts, a window only where it still contains the grant. A throttle counts starts and is not
    /// corrected.
    ///
    /// A meter (`leaky`, `points`) refunds the whole difference, including what has drained since the grant: of 1,000
    /// points that refill in 20 s, 2,000 can be granted in 20 s when the first 1,000 are corrected to 0. In a window
    /// the actual use never exceeds the limit: behind more than 1,000 newer units a higher cost is charged to a later
    /// time, and a lower one is refunded with the oldest units.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(86_400))?;
    /// let permit = shop.acquire(Request::estimate(200))?.permit.unwrap();
    /// assert_eq!(shop.correct(&permit, 50)?, Settlement::Settled);
    /// assert_eq!(shop.peek(Request::cost(1))?.remaining, Some(950));
    /// assert_eq!(shop.correct(&permit, 0)?, Settlement::Already);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn correct(&self, permit: &str, actual: u64) -> Result<Settlement> {
        self.settlement(Operation::Correct { permit, actual, at: None })
    }

    /// Ends the lease of a permit, once.
    ///
    /// Returns `Released`; `Late` when the lease had ended before, `Unknown` when there is no such lease. Never ends
    /// another lease, whatever the id. Without a concurrency limit there is nothing to release.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let permit = workers.acquire(Request::cost(1))?.permit.unwrap();
    /// assert_eq!(workers.release(&permit)?, Settlement::Released);
    /// assert_eq!(workers.release("unheard of")?, Settlement::Unknown);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn release(&self, permit: &str) -> Result<Settlement> {
        self.settlement(Operation::Release { permit, at: None })
    }

    /// Restarts the duration of a lease and returns it; `None` when the lease has ended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let permit = workers.acquire(Request::cost(1))?.permit.unwrap();
    /// assert_eq!(workers.renew(&permit)?, Some(Micros(30_000_000)));
    /// workers.release(&permit)?;
    /// assert_eq!(workers.renew(&permit)?, None);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn renew(&self, permit: &str) -> Result<Option<Micros>> {
        match self.run(Operation::Renew { permit, at: None }, SignalHandling::Ignore)? {
            Answer::Renewal(renewal) => Ok(renewal),
            other => Err(unexpected(&other)),
        }
    }

    /// Removes the ticket of a call from the queue, and ends the lease that it may have become.
    ///
    /// Returns `Cancelled`, or `Unknown` when there was neither.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, Settlement, Status, Wait};
    /// let mail = Paddlegate::memory().throttle("mail", Duration::from_secs(60))?;
    /// mail.acquire(Request::cost(1))?;
    /// let wait = Some(Wait::up_to(Micros(300_000_000)));
    /// assert_eq!(mail.acquire_with_id(Request::cost(1), "letter", wait)?.status, Status::Queued);
    /// assert_eq!(mail.cancel("letter")?, Settlement::Cancelled);
    /// assert_eq!(mail.cancel("letter")?, Settlement::Unknown);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn cancel(&self, id: &str) -> Result<Settlement> {
        self.settlement(Operation::Cancel { id, gave_up: false, at: None })
    }

    /// Returns the counters of this limiter over all processes, and its current leases and tickets.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// api.acquire(Request::cost(5))?;
    /// api.acquire(Request::cost(1))?;
    /// let statistics = api.statistics()?;
    /// assert_eq!((statistics.granted, statistics.refused, statistics.units), (1, 1, 5));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn statistics(&self) -> Result<Statistics> {
        match self.run(Operation::Statistics { at: None }, SignalHandling::Ignore)? {
            Answer::Statistics(statistics) => Ok(*statistics),
            other => Err(unexpected(&other)),
        }
    }

    /// Deletes the state: charged units, permits, leases, tickets, statistics, overrides, learned limits and a pause.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?;
    /// api.acquire(Request::cost(1))?;
    /// api.reset()?;
    /// assert!(api.acquire(Request::cost(1))?.allowed());
    /// assert_eq!(api.statistics()?.granted, 1, "the statistics began again too");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn reset(&self) -> Result<()> {
        self.run(Operation::Reset, SignalHandling::Ignore).map(|_| ())
    }

    /// Returns the node that sends the wake-ups of this limiter. Limiters with an equal node can share a
    /// [`WakeupListener`].
    ///
    /// `None` for a limiter without a state, for which no call waits. In a cluster the node changes when a slot moves.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let api = pg.window("api", 5, Duration::from_secs(60))?;
    /// assert_eq!(api.notification_node().as_deref(), Some("localhost:6379"));
    /// assert_eq!(pg.unlimited("free")?.notification_node(), None);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn notification_node(&self) -> Option<String> {
        match &self.inner.location {
            StateLocation::Stateless => None,
            StateLocation::Memory { .. } => Some("memory".to_owned()),
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, keys } => Some(store.node_of(keys.slot()).to_string()),
        }
    }

    /// Opens a listener for the wake-ups of this process at [`notification_node`](Self::notification_node). Connects
    /// within the timeout of a call.
    pub fn listen(&self) -> Result<WakeupListener> {
        self.listen_within(MAX_SPAN.duration())
    }

    /// Opens a listener as [`listen`](Self::listen) does, but fails after `limit` even if the timeout of a call is
    /// longer.
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    pub(crate) fn listen_within(&self, limit: Duration) -> Result<WakeupListener> {
        self.check_open()?;
        let channel = format!("pg1:hints:{}", permit::new_id()?);
        match &self.inner.location {
            StateLocation::Stateless => Err(Error::internal("a limiter without limits has no wake-ups")),
            StateLocation::Memory { store, .. } => {
                Ok(WakeupListener::of_memory(channel.clone(), store.listen(&channel)?))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { store, keys } => {
                let listener = store.listen(&store.node_of(keys.slot()), &channel, limit)?;
                Ok(WakeupListener::of_redis(channel, listener))
            }
        }
    }

    /// Returns the waiters of this process at [`notification_node`](Self::notification_node).
    #[cfg(feature = "redis")]
    pub(crate) fn hub(&self) -> Option<Arc<Hub>> {
        match &self.inner.location {
            StateLocation::Stateless => None,
            StateLocation::Memory { .. } | StateLocation::Redis { .. } => {
                Some(self.inner.store.hub(self.notification_node()?))
            }
        }
    }

    /// Runs an operation on the calling thread until it ends. `interrupt` sets what a signal does to a call in flight.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Operation, Paddlegate, Request, SignalHandling};
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let is_interrupted = || false;
    /// let answer = api.run(Operation::Acquire(Request::cost(2)), SignalHandling::Ask(&is_interrupted))?;
    /// assert!(matches!(answer, Answer::Decision(decision) if decision.remaining == Some(3)));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn run(&self, operation: Operation<'_>, interrupt: SignalHandling<'_>) -> Result<Answer> {
        self.run_within(operation, interrupt, MAX_SPAN.duration())
    }

    /// Runs an operation as [`run`](Self::run) does, but fails after `limit` even if the timeout of the store is
    /// longer.
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    pub(crate) fn run_within(
        &self,
        operation: Operation<'_>,
        interrupt: SignalHandling<'_>,
        limit: Duration,
    ) -> Result<Answer> {
        match (self.prepare(operation)?, &self.inner.location) {
            (Prepared::Answered(answer), _) => Ok(answer),
            #[cfg(feature = "redis")]
            (Prepared::Call(call), StateLocation::Redis { store, .. }) => {
                let fallback = self.fallback(&operation);
                settled(fallback, store.run(call, interrupt, limit))
            }
            #[cfg(feature = "redis")]
            (Prepared::Call(_), _) => Err(Error::internal("unexpected call to a server: the limiter is in memory")),
        }
    }

    /// Runs an operation on the tokio runtime of the caller; one connection serves all its tasks.
    ///
    /// Dropping the future does not undo a call that was sent.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Operation, Paddlegate, Request};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let answer = api.run_async(Operation::Acquire(Request::cost(2))).await?;
    /// assert!(matches!(answer, Answer::Decision(decision) if decision.remaining == Some(3)));
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn run_async(&self, operation: Operation<'_>) -> Result<Answer> {
        match (self.prepare(operation)?, &self.inner.location) {
            (Prepared::Answered(answer), _) => Ok(answer),
            (Prepared::Call(call), StateLocation::Redis { store, .. }) => {
                let fallback = self.fallback(&operation);
                settled(fallback, store.run_async(call).await)
            }
            (Prepared::Call(_), _) => Err(Error::internal("unexpected call to a server: the limiter is in memory")),
        }
    }

    /// Takes the cost as [`acquire`](Self::acquire) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let api = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// assert_eq!(api.acquire_async(Request::cost(2)).await?.remaining, Some(3));
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn acquire_async(&self, request: Request) -> Result<Decision> {
        match self.run_async(Operation::Acquire(request)).await? {
            Answer::Decision(decision) => Ok(decision),
            other => Err(unexpected(&other)),
        }
    }

    /// Replaces an estimate as [`correct`](Self::correct) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(20))?;
    /// let permit = shop.acquire_async(Request::estimate(200)).await?.permit.unwrap();
    /// assert_eq!(shop.correct_async(&permit, 50).await?, Settlement::Settled);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn correct_async(&self, permit: &str, actual: u64) -> Result<Settlement> {
        match self.run_async(Operation::Correct { permit, actual, at: None }).await? {
            Answer::Settlement(settlement) => Ok(settlement),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn settlement(&self, operation: Operation<'_>) -> Result<Settlement> {
        match self.run(operation, SignalHandling::Ignore)? {
            Answer::Settlement(settlement) => Ok(settlement),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns how long statistics are kept after the last use.
    pub fn ttl(&self) -> Micros {
        self.inner.ttl
    }
}

/// Returns the result of an operation that this process ran, with the fallback for an error of the store.
#[cfg(feature = "redis")]
fn settled(fallback: Option<Fallback>, result: Result<Answer>) -> Result<Answer> {
    match fallback {
        Some(fallback) => fallback.settle(result),
        None => result,
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

pub(crate) fn unexpected(answer: &Answer) -> Error {
    Error::internal(format!("unexpected reply type: {answer:?}"))
}
