//! The start of an operation: answered in this process when no server is needed, otherwise encoded as a call.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;
#[cfg(feature = "redis")]
use std::sync::atomic::Ordering;

use super::{Limiter, StateLocation};
use crate::base::charge::Charge;
use crate::base::clock;
use crate::base::error::{Error, Result};
#[cfg(feature = "redis")]
use crate::base::micros::Micros;
#[cfg(feature = "redis")]
use crate::base::test_clock::TestClock;
use crate::client::prepared::Prepared;
#[cfg(feature = "redis")]
use crate::client::store::Backend;
use crate::engine::state::State;
use crate::engine::transaction::{Entry, Transaction};
use crate::model::budget::UpstreamReport;
use crate::model::decision::Decision;
use crate::model::inspection::Page;
#[cfg(feature = "redis")]
use crate::model::limiter_info::LimiterInfo;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::AdminCommand;
use crate::model::permit::{self, Settlement};
use crate::model::policy::Policy;
use crate::model::request::Request;
use crate::store::memory::Cell;
#[cfg(feature = "redis")]
use crate::store::redis::{Call, Keys, StatisticsOfKeys};
use crate::verbs::acquire::Acquire;
use crate::verbs::admin::Admin;
use crate::verbs::cancel::Cancel;
use crate::verbs::correct::Correct;
use crate::verbs::debit::Debit;
use crate::verbs::enter::Enter;
use crate::verbs::extend::Extend;
use crate::verbs::inspect::Inspect;
use crate::verbs::learn::{self, Learn};
use crate::verbs::peek::Peek;
use crate::verbs::ready::Ready;
use crate::verbs::refund::Refund;
use crate::verbs::release::Release;
use crate::verbs::renew::Renew;
use crate::verbs::reset::Reset;
use crate::verbs::statistics::Statistics;
use crate::verbs::{Held, Verb};
#[cfg(feature = "redis")]
use crate::verbs::{Listed, Listing};

impl Limiter {
    /// Starts an operation: returns its answer when no server is needed, otherwise the call that the host must send.
    ///
    /// A host that sends the call itself passes the result to the [`fallback`](Self::fallback) of the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Answer, Operation, Paddlegate, Prepared, Request};
    /// let local = Paddlegate::memory().window("api", 5, Duration::from_secs(60))?;
    /// let acquire = Operation::Acquire(Request::cost(1));
    /// assert!(matches!(local.prepare(acquire)?, Prepared::Answered(Answer::Decision(_))));
    /// let shared = Paddlegate::open("redis://localhost:6379", None)?.window("api", 5, Duration::from_secs(60))?;
    /// let Prepared::Call(call) = shared.prepare(acquire)? else { unreachable!() };
    /// assert!(call.bytes().starts_with(b"*"), "a command for the server");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[inline]
    pub fn prepare(&self, operation: Operation<'_>) -> Result<Prepared> {
        let plain = match &operation {
            Operation::Acquire(request) => self.acquire_plain(request),
            Operation::Peek(request) => self.peek_plain(request),
            _ => None,
        };
        if let Some((plain, limit)) = plain {
            return Ok(decided(plain.decision(limit)));
        }
        #[cfg_attr(not(feature = "redis"), allow(unused_mut))]
        let mut prepared = if self.inner.on_unavailable == OnUnavailable::Raise {
            self.start(operation)
        } else {
            self.prepare_with_fallback(operation)
        };
        #[cfg(feature = "redis")]
        if let (Ok(Prepared::Call(call)), Backend::Redis(redis)) = (&mut prepared, &self.inner.store.backend) {
            call.take_along(redis.tallies());
        }
        prepared
    }

    /// Starts an operation of a limiter with a fallback for an unavailable store.
    fn prepare_with_fallback(&self, operation: Operation<'_>) -> Result<Prepared> {
        if let Some(local) = self.local_of(&operation) {
            return local.start(operation);
        }
        // The permit of a grant that failed open: nothing was charged, and its holder must not wait for an unavailable
        // store.
        if let Operation::ApplyReport { report, .. } = operation
            && report.permit == Some(permit::UNLIMITED)
        {
            return Ok(Prepared::Answered(learn::unrecorded(&report, self.policy(), Settlement::Unknown)));
        }
        let operation = match (operation, self.local()) {
            (Operation::ApplyReport { report }, Some(local)) => {
                Operation::ApplyReport { report: local.settled_here(report)? }
            }
            (operation, _) => operation,
        };
        let prepared = self.start(operation)?;
        // `start` finds an invalid call before the circuit breaker can answer it.
        if matches!(prepared, Prepared::Answered(_)) {
            return Ok(prepared);
        }
        self.short_circuit(&operation).map_or(Ok(prepared), |decision| decision.map(decided))
    }

    /// Settles the permit of a report if this process granted it alone, and leaves the rest to the store.
    fn settled_here<'a>(&self, report: UpstreamReport<'a>) -> Result<UpstreamReport<'a>> {
        match (report.permit, report.actual) {
            (Some(permit), actual) if permit.starts_with(permit::LOCAL) => {
                let settled = match actual
                    .map(|actual| self.start_checked(Correct::new(self.policy(), permit, actual)?))
                    .transpose()?
                {
                    Some(Prepared::Answered(Answer::Settlement(settlement))) => Some(settlement),
                    _ => None,
                };
                Ok(UpstreamReport { permit: None, actual: None, settled, ..report })
            }
            _ => Ok(report),
        }
    }

    fn start(&self, operation: Operation<'_>) -> Result<Prepared> {
        match operation {
            // While a store is being closed its waits give back their tickets.
            Operation::Cancel { .. } => self.check_not_closed()?,
            _ => self.check_open()?,
        }
        self.check_key(&operation)?;
        if !self.inner.together.is_empty() {
            return self.start_together(operation);
        }
        let policy = &*self.inner.policy;
        match operation {
            Operation::Acquire(request) => self.start_acquire(request),
            Operation::AcquireWithId { request, id, wait } => self.start_verb(&Enter::new(policy, request, id, wait)?),
            Operation::Peek(request) => self.start_verb(&Peek::new(policy, request)?),
            Operation::Debit(cost) => self.start_verb(&Debit::new(policy, cost)?),
            Operation::Refund(units) => self.start_verb(&Refund::new(policy, units)?),
            Operation::Correct { permit, actual } => self.start_checked(Correct::new(policy, permit, actual)?),
            Operation::Extend { permit, units } => self.start_checked(Extend::new(policy, permit, units)?),
            Operation::Release { permit } => self.start_checked(Release::new(policy, permit)?),
            Operation::Renew { permit } => self.start_checked(Renew::new(policy, permit)?),
            Operation::Cancel { id, gave_up } => self.start_verb(&Cancel::new(id, gave_up)?),
            Operation::Ready { count, host } => self.start_verb(&Ready::new(count, host)?),
            Operation::Statistics => self.start_statistics(&Statistics::OfAllTime),
            Operation::History => self.start_statistics(&Statistics::Recent(self.now())),
            #[cfg(feature = "redis")]
            Operation::MostRefused { count } => self.prepare_most_refused(count),
            Operation::ApplyReport { report } => self.start_checked(Learn::new(policy, report)?),
            Operation::Admin { command } => self.start_admin(command),
            Operation::Inspect { page } => self.start_inspect(page),
            Operation::Reset => {
                self.forget_refused();
                self.start_verb(&Reset)
            }
        }
    }

    fn start_checked<V: Verb>(&self, checked: ControlFlow<Answer, V>) -> Result<Prepared> {
        match checked {
            ControlFlow::Break(answer) => Ok(Prepared::Answered(answer)),
            ControlFlow::Continue(verb) => self.start_verb(&verb),
        }
    }

    #[inline]
    pub(crate) fn start_verb<V: Verb>(&self, verb: &V) -> Result<Prepared> {
        self.start_as(verb, &self.inner.policy)
    }

    /// Picks the place that decides. A policy that is not the limiter's has more limits, of the same name.
    fn start_as<V: Verb>(&self, verb: &V, policy: &Arc<Policy>) -> Result<Prepared> {
        match &self.inner.location {
            StateLocation::Stateless => verb.without_state(policy).map(Prepared::Answered),
            StateLocation::Memory { .. } => self.in_memory(verb, policy, None).map(Prepared::Answered),
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, store } => {
                let made = (!Arc::ptr_eq(policy, &self.inner.policy))
                    .then(|| Keys::new(self.inner.key_parts(), policy).into());
                let keys = made.as_ref().unwrap_or(keys);
                let (at, listed) = (self.test_time(), self.listed(verb.listing()));
                let is_counted_here = || !self.has_statistics() || keys.is_counted_here();
                let plain = verb.plain().filter(|_| is_counted_here() && listed.is_none() && !store.is_whole());
                let plain = plain.and_then(|plain| Call::decided_plainly(plain, policy, keys, at));
                let call = plain.unwrap_or_else(|| Call::of(verb, policy, keys, at, listed));
                let counts = if V::NEEDS_COUNTS { store.tallies().all(Some(keys.slot())) } else { Vec::new() };
                Ok(Prepared::Call(call.with_reports(counts)))
            }
        }
    }

    /// Runs a verb on the state in memory. `limiters` get the same call, if it is to several.
    pub(super) fn in_memory<V: Verb>(&self, verb: &V, policy: &Policy, limiters: Option<usize>) -> Result<Answer> {
        let StateLocation::Memory { store, .. } = &self.inner.location else {
            return Err(Error::internal("the limiter has no state in memory"));
        };
        let run =
            |state: &mut State, now| verb.in_memory(&mut Held { state, policy, channels: &**store, now, limiters });
        if !verb.leaves_unknown() {
            return self.on_state(run)?;
        }
        match self.known_cell() {
            Some(cell) => {
                let mut state = cell.lock(State::default);
                let now = self.now_for(&state);
                run(&mut state, now)
            }
            None => run(&mut State::default(), self.now()),
        }
    }

    fn start_acquire(&self, request: Request<'_>) -> Result<Prepared> {
        let policy = &self.inner.policy;
        let (charge, permit) = request.charge(policy)?;
        let needs_id = permit.is_some() || policy.concurrency().is_some() && charge.most() > 0;
        if needs_id && self.has_state() {
            let id = permit::new_id()?;
            return self.start_verb(&Enter(Entry::without_queue(&id, charge, permit).describing(request.limits)));
        }
        // Calls that come here are plain too: the first of a limiter, and the calls of `run`.
        if let (Charge::All(units), false) = (charge, request.limits)
            && let Some((plain, limit)) = self.acquire_plain_first(units)?
        {
            return Ok(decided(plain.decision(limit)));
        }
        self.start_verb(&Acquire { charge, is_estimate: permit.is_some(), describes: request.limits })
    }

    fn start_admin(&self, command: AdminCommand<'_>) -> Result<Prepared> {
        command.check(&self.inner.policy)?;
        if !self.has_state() {
            return self.named().start(Operation::Admin { command });
        }
        let is_listed = self.has_statistics() && !self.policy().limits().is_empty();
        let verb = Admin { command, is_listed };
        match command.policy(&self.inner.policy)? {
            Cow::Borrowed(_) => self.start_verb(&verb),
            Cow::Owned(policy) => self.start_as(&verb, &Arc::new(policy)),
        }
    }

    fn start_inspect(&self, page: Page) -> Result<Prepared> {
        page.check()?;
        let inspect = Inspect { page, mode: self.inner.policy.mode() };
        if self.has_state() {
            return self.start_verb(&inspect);
        }
        // Others may have limits, a pause and a queue under the name.
        let named = self.named();
        named.check_open()?;
        named.start_verb(&inspect)
    }

    /// Returns an error for a limiter that keeps no statistics.
    pub(super) fn check_statistics(&self) -> Result<()> {
        if self.has_statistics() {
            return Ok(());
        }
        let message = format!("the limiter keeps none; create it with statistics: name={}", self.name());
        Err(Error::invalid("statistics", message))
    }

    fn start_statistics(&self, statistics: &Statistics) -> Result<Prepared> {
        self.check_statistics()?;
        if !self.is_keyed() || self.policy().limits().is_empty() || self.policy().paused().is_some() {
            return self.start_verb(statistics);
        }
        #[cfg(feature = "redis")]
        if self.inner.store.in_memory().is_none() {
            let of_keys = StatisticsOfKeys::new(self.name(), self.group(), self.server()?.tallies());
            return Ok(Prepared::Call(Call::statistics_of_keys(match statistics {
                Statistics::OfAllTime => of_keys,
                Statistics::Recent(now) => of_keys.history_at(Micros(*now)),
            })));
        }
        Ok(Prepared::Answered(match (self.known_keys_in_memory(), statistics) {
            (Some(all), Statistics::OfAllTime) => Answer::Statistics(all.statistics().into()),
            (Some(all), Statistics::Recent(now)) => Answer::History(all.history(*now).into()),
            (None, statistics) => statistics.nothing(),
        }))
    }

    /// Returns the time of the store's test clock, which the server takes instead of its own; `None` without one.
    #[cfg(feature = "redis")]
    pub(super) fn test_time(&self) -> Option<Micros> {
        self.inner.store.clock.as_ref().map(TestClock::now)
    }

    /// Returns the time of this process, or of the store's test clock.
    pub(crate) fn now(&self) -> u64 {
        self.inner.store.clock.as_ref().map_or_else(clock::now, |clock| clock.now().0)
    }

    /// Runs a transaction on a state in memory.
    pub(crate) fn transact<T>(&self, policy: &Policy, run: impl FnOnce(Transaction<'_>) -> T) -> Result<T> {
        let StateLocation::Memory { store, .. } = &self.inner.location else {
            return Err(Error::internal("the limiter has no state in memory"));
        };
        self.on_state(|state, now| Ok(run(Transaction::new(state, policy, &**store, now, "")?)))?
    }

    /// Returns the time for a change of a state in memory, under its lock.
    #[inline]
    pub(super) fn now_for(&self, state: &State) -> u64 {
        if let Some(clock) = &self.inner.store.clock {
            return clock.now().0;
        }
        let (last, skew) = state.last_time();
        clock::for_state(clock::now(), last, skew)
    }

    /// Runs a change of the state in memory at the time that is read under its lock: one that was read before could be older than
    /// the answer to another thread's call.
    #[inline]
    fn on_state<T>(&self, run: impl FnOnce(&mut State, u64) -> T) -> Result<T> {
        let mut state = self.cell()?.lock(State::default);
        let now = self.now_for(&state);
        Ok(self.counted(&mut state, |state| run(state, now)))
    }

    /// Returns the state in memory if anybody has used it.
    pub(super) fn known_cell(&self) -> Option<Cell> {
        let StateLocation::Memory { store, name, cell } = &self.inner.location else { return None };
        let find = || match self.key() {
            Some(key) => self.known_keys_in_memory()?.find(key),
            None => store.find(name),
        };
        cell.get().cloned().or_else(find)
    }

    /// Returns the state in memory.
    #[inline]
    pub(super) fn cell(&self) -> Result<&Cell> {
        let StateLocation::Memory { store, name, cell } = &self.inner.location else {
            return Err(Error::internal("the limiter has no state in memory"));
        };
        if let Some(cell) = cell.get() {
            return Ok(cell);
        }
        let (policy, now) = (&self.inner.policy, self.now());
        let created = if let Some((all, key)) = self.all_keys_in_memory().zip(self.key()) {
            all.cell(key, now, || store.check_room(now))?
        } else {
            let is_listed = self.has_statistics() && !policy.limits().is_empty();
            store.cell(name, is_listed.then_some(policy), now)?
        };
        let cell = cell.get_or_init(|| Box::new(created));
        if let Some(plain) = &self.inner.plain {
            plain.cell.get_or_init(|| Box::new(cell.clone()));
        }
        Ok(cell)
    }

    /// Returns the entry for the list of limiters, once a minute or twice per `ttl`, whichever is more often.
    #[cfg(feature = "redis")]
    fn due_list_entry(&self) -> Option<(Micros, String)> {
        if !self.has_statistics() {
            return None;
        }
        let (now, before) = (self.now() / 1_000_000, self.listed_at().load(Ordering::Relaxed));
        if now.abs_diff(before) < (self.inner.ttl.0 / 2_000_000).min(60) {
            return None;
        }
        self.listed_at().store(now, Ordering::Relaxed);
        Some((self.inner.ttl, self.list_entry()))
    }

    /// Returns the entry for the list of limiters that a call takes along.
    #[cfg(feature = "redis")]
    pub(super) fn listed(&self, listing: Listing) -> Listed {
        match listing {
            Listing::Never => None,
            Listing::WhenDue => self.due_list_entry(),
            Listing::Now => Some((self.inner.ttl, self.list_entry())),
            Listing::Next => {
                self.listed_at().store(0, Ordering::Relaxed);
                None
            }
        }
    }

    #[cfg(feature = "redis")]
    fn list_entry(&self) -> String {
        LimiterInfo::entry(self.name(), self.group(), self.is_keyed(), self.policy(), self.ttl())
    }
}

pub(super) fn decided(decision: Decision) -> Prepared {
    Prepared::Answered(Answer::Decision(decision))
}
