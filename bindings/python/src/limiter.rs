//! `Limiter`: a name and a policy. Without a server it decides at once; otherwise the interpreter is released
//! meanwhile.

use std::borrow::Cow;
use std::sync::Arc;

use paddlegate::store::redis::Redis;
use paddlegate::{
    Admission, Answer, Error, LOCK_TIMEOUT, Micros, Mode, OnLimit, OnUnavailable, Operation, Page, Policy, Prepared,
    Request, SignalHandling, TurnsHost,
};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::answer::{decision, shown};
use crate::argument::{OptionalArg, flag, permit_id, span, text, texts, whole};
use crate::call::{Call, OnComplete};
use crate::cost::with_request;
use crate::decision::{Decision, seconds};
use crate::error::{Failure, Result};
use crate::limits;
use crate::live::AdminRequest;
use crate::operation::{acquire, admit, correct, debit, enter, extend, given, peek, refund};
use crate::paddlegate::{ListedLimit, LoadedLimiter, Paddlegate, Together, listed_limit};
use crate::signals::interruptible;
use crate::waiter::Waiter;
use crate::wakeup_listener::WakeupListener;

/// A named policy on a store.
#[pyclass(frozen, subclass, module = "paddlegate._native")]
pub(crate) struct Limiter {
    pub(crate) inner: paddlegate::Limiter,
    pub(crate) redis: Option<Arc<Redis>>,
    pub(crate) wait_timeout: Micros,
    on_limit: OnLimit,
    /// The default handling of refused jobs.
    on_jobs: OnLimit,
}

/// A keyed limiter with a key, from which a `Limiter` is created.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct LimiterOfKey {
    keyed: Py<Limiter>,
    inner: paddlegate::Limiter,
}

#[pymethods]
impl Limiter {
    #[new]
    #[pyo3(signature = (
        paddlegate, name, limits, wait_timeout=None,
        *, lock_timeout=None, on_limit=None, ttl=None, group=None, keyed=None, statistics=None,
        on_unavailable=None, local_share_percent=None, mode=None, block_after=None, aging=None,
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        paddlegate: &Bound<'_, PyAny>,
        name: &Bound<'_, PyAny>,
        limits: &Bound<'_, PyAny>,
        wait_timeout: OptionalArg,
        lock_timeout: OptionalArg,
        on_limit: OptionalArg,
        ttl: OptionalArg,
        group: OptionalArg,
        keyed: OptionalArg,
        statistics: OptionalArg,
        on_unavailable: OptionalArg,
        local_share_percent: OptionalArg,
        mode: OptionalArg,
        block_after: OptionalArg,
        aging: OptionalArg,
    ) -> Result<Self> {
        if let Ok(of_key) = limits.cast::<LimiterOfKey>() {
            let LimiterOfKey { keyed, inner } = of_key.get();
            let Self { redis, wait_timeout, on_limit, on_jobs, .. } = keyed.get();
            let (inner, redis) = (inner.clone(), redis.clone());
            return Ok(Self { inner, redis, wait_timeout: *wait_timeout, on_limit: *on_limit, on_jobs: *on_jobs });
        }
        let Paddlegate(store) = paddlegate.cast::<Paddlegate>().map_err(PyErr::from)?.get();
        let on_unavailable = crate::argument::on_unavailable(on_unavailable, local_share_percent)?;
        let is_keyed = flag("keyed", keyed, false)?;
        let has_statistics = flag("statistics", statistics, true)?;
        let mode = mode.map(|mode| Ok::<_, Failure>(Mode::from_name(text("mode", mode)?)?)).transpose()?;
        let block_after = block_after.map(limits::block_after).transpose()?;
        let aging = aging.map(|aging| span("aging", aging)).transpose()?;
        let with_options = |limiter: paddlegate::Limiter| -> Result<paddlegate::Limiter> {
            let mut limiter = limiter.with_on_unavailable(on_unavailable);
            if let Some(group) = group {
                limiter = limiter.with_group(text("group", group)?)?;
            }
            if is_keyed {
                limiter = limiter.keyed()?;
            }
            if let Some(mode) = mode {
                limiter = limiter.with_mode(mode)?;
            }
            if let Some(rule) = block_after {
                limiter = limiter.with_block_after(rule)?;
            }
            if let Some(aging) = aging {
                limiter = limiter.with_aging(aging.duration())?;
            }
            Ok(if has_statistics { limiter } else { limiter.without_statistics()? })
        };
        if let Ok(loaded) = limits.cast::<LoadedLimiter>() {
            let LoadedLimiter(loaded) = loaded.get();
            return Ok(Self {
                inner: with_options(loaded.limiter.clone())?,
                redis: store.redis().cloned(),
                wait_timeout: loaded.wait_timeout.unwrap_or(paddlegate::WAIT_TIMEOUT),
                on_limit: loaded.on_limit,
                on_jobs: loaded.on_limit,
            });
        }
        let inner = if let Ok(together) = limits.cast::<Together>() {
            together.get().0.clone()
        } else {
            let name = text("name", name)?;
            let lease = given("lock_timeout", lock_timeout, LOCK_TIMEOUT)?;
            let policy = Policy::new(limits::limits(limits, lease)?)?;
            if lock_timeout.is_some() && policy.concurrency().is_none() {
                return Err(Error::invalid("lock_timeout", "there is no concurrency limit").into());
            }
            with_options(match ttl {
                Some(ttl) => store.limiter_with_ttl(name, policy, span("ttl", ttl)?.duration())?,
                None => store.limiter(name, policy)?,
            })?
        };
        Ok(Self {
            inner,
            redis: store.redis().cloned(),
            wait_timeout: given("wait_timeout", wait_timeout, paddlegate::WAIT_TIMEOUT)?,
            on_limit: on_limit.map_or(Ok(OnLimit::Raise), crate::argument::on_limit)?,
            on_jobs: OnLimit::Wait,
        })
    }

    /// The name of the limiter.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    // The limits of the policy, or of several limiters in their order.
    fn _limits(&self) -> Vec<ListedLimit> {
        self.inner.limits().map(listed_limit).collect()
    }

    /// Seconds that a call waits at most by default.
    #[getter]
    fn wait_timeout(&self) -> f64 {
        seconds(self.wait_timeout)
    }

    /// The action for refused work: "raise", "ignore", "wait", "reschedule" or "drop".
    #[getter]
    fn on_limit(&self) -> &'static str {
        self.on_limit.name()
    }

    /// While the store cannot decide: `raise`, `fail_closed`, `fail_open` or `local`.
    #[getter]
    fn on_unavailable(&self) -> &'static str {
        self.inner.on_unavailable().name()
    }

    /// Percent of each limit that this process grants alone; None except for "local".
    #[getter]
    fn local_share_percent(&self) -> Option<u8> {
        match self.inner.on_unavailable() {
            OnUnavailable::Local { share_percent } => Some(share_percent),
            _ => None,
        }
    }

    /// Seconds for which the statistics are kept after the last use.
    #[getter]
    fn ttl(&self) -> f64 {
        seconds(self.inner.ttl())
    }

    /// The group, whose limiters can decide together in a cluster; None without one.
    #[getter]
    fn group(&self) -> Option<&str> {
        self.inner.group()
    }

    /// Whether the limiter has a state for each key.
    #[getter]
    fn keyed(&self) -> bool {
        self.inner.is_keyed()
    }

    /// Whether the limiter refuses, "enforce", or only says what it would refuse, "shadow".
    ///
    /// An override may rule in its place: see `runtime_state`.
    #[getter]
    fn mode(&self) -> &'static str {
        self.inner.mode().name()
    }

    /// Refusals that lead to a block, seconds within which they count, seconds that it lasts.
    ///
    /// None without the option.
    #[getter]
    fn block_after(&self) -> Option<(u64, f64, f64)> {
        let rule = self.inner.policy().block_after()?;
        Some((rule.refusals(), seconds(rule.within()), seconds(rule.lasts())))
    }

    /// Seconds after which a call that waits gets the next higher priority.
    ///
    /// None without the option.
    #[getter]
    fn aging(&self) -> Option<f64> {
        self.inner.policy().aging().map(seconds)
    }

    /// The key, as given to `with_key`; None without one.
    #[getter]
    fn key(&self) -> Option<&str> {
        self.inner.key()
    }

    /// Charge the call if every limit allows it; return whether it was granted.
    ///
    /// Raises `InvalidError` for a concurrency limit, whose lease could not be released.
    #[pyo3(signature = (cost=None, estimate=None, *, settle_within=None, key=None))]
    fn allow(
        &self,
        py: Python<'_>,
        cost: OptionalArg,
        estimate: OptionalArg,
        settle_within: OptionalArg,
        key: OptionalArg,
    ) -> Result<bool> {
        if cost.is_none() && estimate.is_none() && settle_within.is_none() {
            // Most calls have no other arguments; in memory they need no decision with all its fields.
            let decided = match key {
                None => self.inner.allow_at_once(&Request::default()),
                Some(key) => self.inner.allow_at_once_with_key(text("key", key)?, &Request::default()),
            };
            if let Some(is_granted) = decided {
                return Ok(is_granted);
            }
        }
        let limiter = self.of_key(key)?;
        limiter.check_allow()?;
        with_request(cost, (estimate, settle_within), |request| {
            if let Some(is_granted) = limiter.allow_at_once(&request) {
                return Ok(is_granted);
            }
            Ok(decision(self.run(py, &limiter, Operation::Acquire(request))?)?.0.allowed())
        })
    }

    /// Charge the call if every limit allows it; never wait and never raise on refusal.
    ///
    /// `cost`, `estimate` and `settle_within` are as in `acquire`. With the `id` of a lease, a
    /// repeated call is granted and takes nothing. With `limits` the decision has each limit.
    #[pyo3(signature = (cost=None, estimate=None, id=None, *, settle_within=None, key=None, limits=None))]
    #[allow(clippy::too_many_arguments)]
    fn try_acquire(
        slf: &Bound<'_, Self>,
        cost: OptionalArg,
        estimate: OptionalArg,
        id: OptionalArg,
        settle_within: OptionalArg,
        key: OptionalArg,
        limits: OptionalArg,
    ) -> Result<Decision> {
        let (py, it, estimate) = (slf.py(), slf.get(), (estimate, settle_within));
        if let (Some(key), None, (None, None), None, None) = (key, cost, estimate, id, limits)
            && let Some(decided) = it.inner.acquire_at_once_with_key(text("key", key)?, &Request::default())
        {
            return Ok(Decision(decided));
        }
        let limiter = it.of_key(key)?;
        if id.is_some() || !it.inner.grants_leases() {
            return acquire(cost, estimate, id, limits, |operation| decision(it.run(py, &limiter, operation)?));
        }
        // With an id of its own, the lease of a call that ends without its decision can be cancelled.
        let id = paddlegate::new_id()?;
        let limits = flag("limits", limits, false)?;
        let answer = with_request(cost, estimate, |request| {
            let request = Request { limits, ..request };
            it.run(py, &limiter, Operation::AcquireWithId { request, id: &id, wait: None })
        });
        // An exception from a signal handler withholds the decision from the caller.
        match answer.and_then(|answer| Ok(py.check_signals().map(|()| answer)?)) {
            Ok(answer) => decision(answer),
            Err(failure) => {
                let raised = PyErr::from(failure);
                drop(slf.call_method1("_cancel_undecided", (raised.value(py), id, key)));
                Err(raised.into())
            }
        }
    }

    /// Return what `try_acquire` would return now; change nothing.
    ///
    /// Without a cost it checks one unit, also for a `points` limit.
    #[pyo3(signature = (cost=None, estimate=None, *, settle_within=None, key=None, limits=None))]
    #[allow(clippy::too_many_arguments)]
    fn peek(
        &self,
        py: Python<'_>,
        cost: OptionalArg,
        estimate: OptionalArg,
        settle_within: OptionalArg,
        key: OptionalArg,
        limits: OptionalArg,
    ) -> Result<Decision> {
        let estimate = (estimate, settle_within);
        let limiter = self.of_key(key)?;
        peek(cost, estimate, limits, |operation| decision(self.run(py, &limiter, operation)?))
    }

    /// Charge a cost in any case, up to one whole limit of debt.
    ///
    /// For costs that are known only afterwards, without an estimate. The decision describes the
    /// limit with the fewest remaining units. Limits that count calls (concurrency, throttle) are
    /// not charged. A repeated call charges again.
    #[pyo3(signature = (cost, *, key=None))]
    fn debit(&self, py: Python<'_>, cost: &Bound<'_, PyAny>, key: OptionalArg) -> Result<Decision> {
        let limiter = self.of_key(key)?;
        debit(cost, |operation| decision(self.run(py, &limiter, operation)?))
    }

    /// Give units back without a permit: the opposite of `debit`.
    ///
    /// For those who count first and give back later. It gives back at most what is taken of each
    /// limit now, of a window the newest units. The decision describes the limit with the fewest
    /// remaining units. Limits that count calls (concurrency, throttle) are not changed. A repeated
    /// call gives back again.
    #[pyo3(signature = (units, *, key=None))]
    fn refund(&self, py: Python<'_>, units: &Bound<'_, PyAny>, key: OptionalArg) -> Result<Decision> {
        let limiter = self.of_key(key)?;
        refund(units, |operation| decision(self.run(py, &limiter, operation)?))
    }

    /// Replace the estimate of a permit by the actual cost of the call, once.
    ///
    /// A cost by label changes only the limits that it names, and those that the estimate named.
    ///
    /// Returns "settled"; otherwise "already", "late" (after five minutes, or `settle_within`) or
    /// "unknown", which change nothing.
    #[pyo3(signature = (permit, actual, *, key=None))]
    fn correct<'py>(
        &self,
        py: Python<'py>,
        permit: &Bound<'py, PyAny>,
        actual: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        correct(permit, actual, |operation| self.answer(py, key, operation))
    }

    /// End the lease of a permit, from any process.
    ///
    /// Returns "released"; otherwise "late" when the lease had ended before, or "unknown".
    #[pyo3(signature = (permit, *, key=None))]
    fn release<'py>(&self, py: Python<'py>, permit: &Bound<'py, PyAny>, key: OptionalArg) -> Result<Bound<'py, PyAny>> {
        self.answer(py, key, Operation::Release { permit: &permit_id(permit)? })
    }

    /// Restart the duration of a lease; return its seconds, or None when it has ended.
    #[pyo3(signature = (permit, *, key=None))]
    fn renew<'py>(&self, py: Python<'py>, permit: &Bound<'py, PyAny>, key: OptionalArg) -> Result<Bound<'py, PyAny>> {
        self.answer(py, key, Operation::Renew { permit: &permit_id(permit)? })
    }

    /// Remove the ticket of a call from the queue, and end the lease that it may have become.
    ///
    /// Returns "cancelled", or "unknown" when there was neither.
    #[pyo3(signature = (id, *, key=None))]
    fn cancel<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>, key: OptionalArg) -> Result<Bound<'py, PyAny>> {
        self.answer(py, key, Operation::Cancel { id: text("id", id)?, gave_up: false })
    }

    /// Delete the state of the limiter.
    ///
    /// That is charged units, permits, leases, tickets, statistics, overrides, learned limits and a
    /// pause.
    #[pyo3(signature = (*, key=None))]
    fn reset(&self, py: Python<'_>, key: OptionalArg) -> Result<()> {
        self.run(py, &*self.of_key(key)?, Operation::Reset).map(|_| ())
    }

    // Returns the limiter of a key.
    fn _of_key(slf: &Bound<'_, Self>, key: &Bound<'_, PyAny>) -> Result<LimiterOfKey> {
        let inner = slf.get().inner.with_key(text("key", key)?)?;
        Ok(LimiterOfKey { keyed: slf.clone().unbind(), inner })
    }

    // Validates the ids before the request for the first of several jobs.
    #[staticmethod]
    fn _job_ids(ids: &Bound<'_, PyAny>) -> Result<Vec<String>> {
        texts("ids", ids)
    }

    // Returns the action for a job after a decision, and the seconds until the next attempt.
    fn _action(&self, decision: &Decision, on_limit: OptionalArg) -> Result<(&'static str, Option<f64>)> {
        let admission = Admission::of(decision.0.clone(), self.on_jobs(on_limit)?);
        Ok((admission.action.name(), admission.after.map(seconds)))
    }

    // The asynchronous forms use these with `begin`: each returns the answer, or the call to send to the server. Without
    // `begin` each waits for the server.

    #[pyo3(signature = (begin, cost, estimate, id=None, key=None, settle_within=None, limits=None))]
    #[allow(clippy::too_many_arguments)]
    fn _acquire<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        cost: OptionalArg,
        estimate: OptionalArg,
        id: OptionalArg,
        key: OptionalArg,
        settle_within: OptionalArg,
        limits: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        acquire(cost, (estimate, settle_within), id, limits, |operation| self.start(py, begin, key, operation))
    }

    #[pyo3(signature = (
        begin, cost, estimate, id, place, wait_timeout, claim_timeout, key=None, settle_within=None, order=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn _enter<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        cost: OptionalArg,
        estimate: OptionalArg,
        id: &Bound<'py, PyAny>,
        place: Option<i64>,
        wait_timeout: OptionalArg,
        claim_timeout: OptionalArg,
        key: OptionalArg,
        settle_within: OptionalArg,
        order: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        let (estimate, wait) = ((estimate, settle_within), (place, wait_timeout, claim_timeout));
        enter(cost, estimate, id, wait, order, |operation| self.start(py, begin, key, operation))
    }

    fn _attempt<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        waiter: &Waiter,
        now: f64,
        channel: &str,
    ) -> Result<Bound<'py, PyAny>> {
        waiter.attempt(now, channel, |operation| self.start(py, begin, None, operation))
    }

    #[pyo3(signature = (begin, cost, estimate, id, on_limit, key, settle_within, claim_timeout=None, order=None))]
    #[allow(clippy::too_many_arguments)]
    fn _admit<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        cost: OptionalArg,
        estimate: OptionalArg,
        id: &Bound<'py, PyAny>,
        on_limit: OptionalArg,
        key: OptionalArg,
        settle_within: OptionalArg,
        claim_timeout: OptionalArg,
        order: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        let (estimate, how) = ((estimate, settle_within), (self.on_jobs(on_limit)?, claim_timeout));
        admit(cost, estimate, id, how, order, |operation| self.start(py, begin, key, operation))
    }

    #[allow(clippy::too_many_arguments)]
    fn _peek<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        cost: OptionalArg,
        estimate: OptionalArg,
        key: OptionalArg,
        settle_within: OptionalArg,
        limits: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        peek(cost, (estimate, settle_within), limits, |operation| self.start(py, begin, key, operation))
    }

    fn _debit<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        cost: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        debit(cost, |operation| self.start(py, begin, key, operation))
    }

    fn _refund<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        units: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        refund(units, |operation| self.start(py, begin, key, operation))
    }

    #[pyo3(signature = (begin, permit, actual, key=None))]
    fn _correct<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        permit: &Bound<'py, PyAny>,
        actual: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        correct(permit, actual, |operation| self.start(py, begin, key, operation))
    }

    #[pyo3(signature = (begin, permit, units, key=None))]
    fn _extend<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        permit: &Bound<'py, PyAny>,
        units: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        extend(permit, units, |operation| self.start(py, begin, key, operation))
    }

    #[pyo3(signature = (begin, permit, key=None))]
    fn _release<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        permit: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        self.start(py, begin, key, Operation::Release { permit: &permit_id(permit)? })
    }

    #[pyo3(signature = (begin, permit, key=None))]
    fn _renew<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        permit: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        self.start(py, begin, key, Operation::Renew { permit: &permit_id(permit)? })
    }

    #[pyo3(signature = (begin, id, gave_up, key=None))]
    fn _cancel<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        id: &Bound<'py, PyAny>,
        gave_up: bool,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        self.start(py, begin, key, Operation::Cancel { id: text("id", id)?, gave_up })
    }

    // The options of the iterator over turns, which the package makes: the count, and the wait timeout in seconds.
    fn _turns_options(&self, count: &Bound<'_, PyAny>, wait_timeout: OptionalArg) -> Result<(u64, Option<f64>)> {
        let count = whole("count", count)?;
        let turns = self.inner.turns()?.with_count(count)?;
        let wait_timeout = wait_timeout.map(|it| span("wait_timeout", it)).transpose()?;
        wait_timeout.map(|it| turns.with_wait_timeout(it.duration())).transpose()?;
        Ok((count, wait_timeout.map(seconds)))
    }

    // `host` is the id and the channel of a host that sleeps until the next turn.
    #[pyo3(signature = (begin, count, key=None, host=None))]
    fn _ready<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        count: &Bound<'py, PyAny>,
        key: OptionalArg,
        host: Option<(String, String)>,
    ) -> Result<Bound<'py, PyAny>> {
        let (id, channel) = host.unwrap_or_default();
        let host = (!channel.is_empty()).then_some(TurnsHost { id: &id, channel: &channel });
        self.start(py, begin, key, Operation::Ready { count: whole("count", count)?, host })
    }

    #[pyo3(signature = (begin, offset, count, key=None))]
    fn _inspect<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        offset: &Bound<'py, PyAny>,
        count: &Bound<'py, PyAny>,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        let page = Page { offset: whole("offset", offset)?, count: whole("count", count)? };
        self.start(py, begin, key, Operation::Inspect { page })
    }

    fn _statistics<'py>(&self, py: Python<'py>, begin: bool) -> Result<Bound<'py, PyAny>> {
        self.start(py, begin, None, Operation::Statistics)
    }

    fn _history<'py>(&self, py: Python<'py>, begin: bool) -> Result<Bound<'py, PyAny>> {
        self.start(py, begin, None, Operation::History)
    }

    fn _admin<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        request: &AdminRequest,
        key: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        request.0.operation(&self.inner, |operation| self.start(py, begin, key, operation))
    }

    fn _reset<'py>(&self, py: Python<'py>, begin: bool, key: OptionalArg) -> Result<Bound<'py, PyAny>> {
        self.start(py, begin, key, Operation::Reset)
    }

    // Whether grants of this limiter are leases.
    #[getter]
    fn _grants_leases(&self) -> bool {
        self.inner.grants_leases()
    }

    fn _check_allow(&self) -> Result<()> {
        Ok(self.inner.check_allow()?)
    }

    // The node that publishes the wake-ups of its waiters; None when nothing can wait for it.
    fn _notification_node(&self) -> Option<String> {
        self.inner.notification_node()
    }

    // Connects; must run on a thread that may block.
    fn _listen(&self, py: Python<'_>) -> Result<WakeupListener> {
        Ok(WakeupListener(py.detach(|| self.inner.listen())?))
    }
}

impl Limiter {
    pub(crate) fn on_jobs(&self, on_limit: OptionalArg) -> Result<OnLimit> {
        match on_limit {
            Some(name) => Ok(OnLimit::from_name(text("on_limit", name)?)?),
            None => Ok(self.on_jobs),
        }
    }

    /// Returns the limiter of the key of a call; without a key this one.
    #[inline]
    pub(crate) fn of_key(&self, key: OptionalArg) -> Result<Cow<'_, paddlegate::Limiter>> {
        Ok(match key {
            None => Cow::Borrowed(&self.inner),
            Some(key) => Cow::Owned(self.inner.with_key(text("key", key)?)?),
        })
    }

    fn run(&self, py: Python<'_>, limiter: &paddlegate::Limiter, operation: Operation<'_>) -> Result<Answer> {
        if self.redis.is_none() {
            return Ok(limiter.run(operation, SignalHandling::Ignore)?);
        }
        interruptible(py, |interrupt| limiter.run(operation, interrupt))
    }

    fn answer<'py>(&self, py: Python<'py>, key: OptionalArg, operation: Operation<'_>) -> Result<Bound<'py, PyAny>> {
        Ok(shown(py, self.run(py, &*self.of_key(key)?, operation)?)?)
    }

    fn start<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        key: OptionalArg,
        operation: Operation<'_>,
    ) -> Result<Bound<'py, PyAny>> {
        if begin { self.prepare(py, key, operation) } else { self.answer(py, key, operation) }
    }

    fn prepare<'py>(&self, py: Python<'py>, key: OptionalArg, operation: Operation<'_>) -> Result<Bound<'py, PyAny>> {
        let limiter = self.of_key(key)?;
        match (limiter.prepare(operation)?, &self.redis) {
            (Prepared::Answered(answer), _) => Ok(shown(py, answer)?),
            (Prepared::Call(call), Some(redis)) => {
                let fallback = limiter.fallback(&operation);
                Ok(Call::new(redis, call, OnComplete { fallback, procedure: None }).into_bound_py_any(py)?)
            }
            (Prepared::Call(_), None) => {
                Err(Error::internal("unexpected call to a server: the limiter is in memory").into())
            }
        }
    }
}

/// Send what this process has counted to the statistics. For the end of a process.
#[pyfunction]
pub(crate) fn send_counts(py: Python<'_>) {
    py.detach(paddlegate::store::redis::send_counts);
}

/// Return a new id for a call: 32 bytes that begin with host and process.
#[pyfunction]
pub(crate) fn new_id() -> Result<String> {
    Ok(paddlegate::new_id()?)
}

/// Logs what an operator must mend, once for a limiter; at the end of the interpreter there is no logger.
pub(crate) fn warn(message: &str) {
    Python::try_attach(|py| {
        let logger = py.import("logging").and_then(|logging| logging.call_method1("getLogger", ("paddlegate",)));
        // A logger that fails must not decide a call.
        let _ = logger.and_then(|logger| logger.call_method1("warning", ("%s", message)));
    });
}

/// Sends what a dropped store has counted, while other threads run; at the end of the interpreter there are none.
pub(crate) fn without_gil(send: &mut (dyn FnMut() + Send)) {
    if Python::try_attach(|py| py.detach(&mut *send)).is_none() {
        send();
    }
}
