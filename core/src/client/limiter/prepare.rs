//! The start of an operation: answered in this process when no server is needed, otherwise encoded as a call.

#[cfg(feature = "redis")]
use std::borrow::Cow;
#[cfg(feature = "redis")]
use std::sync::atomic::Ordering;

use super::{Limiter, StateLocation};
use crate::base::bounds::MAX_READY;
use crate::base::charge::{Charge, MAX_UNITS};
use crate::base::clock;
use crate::base::error::{Error, Result};
use crate::base::micros::MAX_TIME;
#[cfg(feature = "redis")]
use crate::base::micros::Micros;
#[cfg(feature = "redis")]
use crate::base::test_clock::TestClock;
use crate::client::prepared::Prepared;
#[cfg(feature = "redis")]
use crate::client::store::Backend;
use crate::engine::budget::PendingReport;
use crate::engine::queue::MAX_POLL;
use crate::engine::reply::Reply;
use crate::engine::state::State;
use crate::engine::transaction::{Entry, Transaction, Waiting};
use crate::model::budget::UpstreamReport;
use crate::model::cost::Cost;
use crate::model::decision::Decision;
use crate::model::extension::Extension;
use crate::model::history::RecentSums;
use crate::model::limit::Limit;
#[cfg(feature = "redis")]
use crate::model::limiter_info::LimiterInfo;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::operation::{Answer, Operation};
use crate::model::overrides::AdminCommand;
use crate::model::permit;
use crate::model::permit::{MAX_PERMIT_ID, PERMIT_TIMEOUT, Permit, Settlement};
use crate::model::policy::Policy;
use crate::model::request::{Request, Wait, check_id};
use crate::model::turns::{ReadyCalls, TurnsHost};
use crate::store::memory::Cell;
#[cfg(feature = "redis")]
use crate::store::redis::{Call, Keys, StatisticsOfKeys};

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
            return Ok(self.report_without_state(&report, Settlement::Unknown));
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
                let settled = match actual.map(|actual| self.prepare_correct(permit, actual)).transpose()? {
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
        match operation {
            Operation::Acquire(request) => self.prepare_acquire(request),
            Operation::AcquireWithId { request, id, wait } => {
                check_id(id)?;
                wait.as_ref().map_or(Ok(()), Wait::check)?;
                let (charge, permit) = request.charge(&self.inner.policy)?;
                let order = request.order()?;
                let (queue, describes) = (wait.map(Waiting::from), request.limits);
                self.prepare_enter(&Entry { id, charge, permit, order, queue, describes })
            }
            Operation::Peek(request) => {
                let (charge, permit) = self.peeked(request)?;
                self.prepare_peek(charge, permit, request.limits)
            }
            Operation::Debit(cost) => self.prepare_debit(cost),
            Operation::Correct { permit, actual } => self.prepare_correct(permit, actual),
            Operation::Extend { permit, units } => self.prepare_extend(permit, units),
            Operation::Release { permit } => self.prepare_release(permit),
            Operation::Renew { permit } => self.prepare_renew(permit),
            Operation::Cancel { id, gave_up } => self.prepare_cancel(id, gave_up),
            Operation::Ready { count, host } => self.prepare_ready(count, host),
            Operation::Statistics => self.prepare_statistics(false),
            Operation::History => self.prepare_statistics(true),
            #[cfg(feature = "redis")]
            Operation::MostRefused { count } => self.prepare_most_refused(count),
            Operation::ApplyReport { report } => self.prepare_report(&report),
            Operation::Admin { command } => self.prepare_admin(&command),
            Operation::Inspect { page } => self.prepare_inspect(page),
            Operation::Reset => Ok(self.prepare_reset()),
        }
    }

    #[inline]
    fn prepare_acquire(&self, request: Request<'_>) -> Result<Prepared> {
        let policy = &self.inner.policy;
        let (charge, permit) = request.charge(policy)?;
        let needs_id = permit.is_some() || policy.concurrency().is_some() && charge.most() > 0;
        let has_limits = request.limits;
        let with_id = |id: &str| self.prepare_enter(&Entry::without_queue(id, charge, permit).describing(has_limits));
        match &self.inner.location {
            StateLocation::Stateless => self.decide_without_state(&charge, permit.is_some(), None),
            _ if needs_id => with_id(&permit::new_id()?),
            StateLocation::Memory { .. } => {
                // Calls that come here are plain too: the first of a limiter, and the calls of `run`.
                if let (Charge::All(units), false) = (charge, has_limits)
                    && let Some((plain, limit)) = self.acquire_plain_first(units)?
                {
                    return Ok(decided(plain.decision(limit)));
                }
                let decision = self.on_state(|state, now| {
                    let reply = state.acquire(policy, now, &charge, false)?;
                    let described = |reply| if has_limits { state.describe(policy, &charge, reply) } else { reply };
                    Ok(reply.map(|reply| described(reply).decision(policy, &charge, None)))
                })??;
                match decision {
                    Some(decision) => Ok(decided(decision)),
                    None => with_id(&permit::new_id()?),
                }
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, store } => {
                let (at, listed) = (self.test_time(), self.due_list_entry());
                let may_be_plain = listed.is_none() && !store.is_whole() && !has_limits;
                let is_counted = self.is_counted_here(keys);
                let plain = (is_counted && may_be_plain).then(|| Call::plain(policy, keys, &charge, at)).flatten();
                let call = plain.unwrap_or_else(|| Call::acquire(policy, keys, (charge, has_limits), at, listed));
                Ok(Prepared::Call(call))
            }
        }
    }

    pub(crate) fn prepare_enter(&self, entry: &Entry<'_>) -> Result<Prepared> {
        let policy = &self.inner.policy;
        match &self.inner.location {
            StateLocation::Stateless => {
                self.decide_without_state(&entry.charge, entry.permit.is_some(), Some(entry.id))
            }
            StateLocation::Memory { .. } => {
                let keeps = entry.permit.is_some() || policy.concurrency().is_some() && entry.charge.most() > 0;
                let lowered = entry.permit.and_then(|_| self.lowered(&entry.charge)).transpose()?;
                let entry = &Entry { charge: lowered.unwrap_or(entry.charge), ..*entry };
                let reply = if entry.describes {
                    self.on_state(|state, now| self.enter_described(state, now, entry))?
                } else {
                    self.transact(entry.id, |transaction| transaction.enter(*entry))?
                }?;
                let permit = keeps.then_some(entry.id);
                let decision = if entry.is_run() {
                    reply.decision_on_run(policy, &entry.charge, permit)
                } else {
                    reply.decision(policy, &entry.charge, permit)
                };
                Ok(decided(Decision { is_lowered: lowered.is_some(), ..decision }))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, store } => {
                let (at, listed) = (self.test_time(), self.due_list_entry());
                let may_be_plain = listed.is_none() && !store.is_whole() && !entry.describes;
                let is_counted = self.is_counted_here(keys);
                let plain = (is_counted && may_be_plain).then(|| Call::plain_enter(policy, keys, entry, at)).flatten();
                Ok(Prepared::Call(plain.unwrap_or_else(|| Call::enter(policy, keys, entry, at, listed))))
            }
        }
    }

    /// Returns an estimate that is above the capacity of a limit in memory, lowered to it; `None` for another.
    pub(super) fn lowered(&self, estimate: &Charge) -> Option<Result<Charge>> {
        let policy = &self.inner.policy;
        // Nearly every estimate fits, and then nobody needs the limits in force.
        let lowered = policy.fitted(policy, estimate)?;
        if self.is_unused() {
            return Some(Ok(lowered));
        }
        self.on_state(|state, now| state.effective_policy(policy, now).fitted(policy, estimate)).transpose()
    }

    fn enter_described(&self, state: &mut State, now: u64, entry: &Entry<'_>) -> Result<Reply> {
        let StateLocation::Memory { store, .. } = &self.inner.location else {
            return Err(Error::internal("the limiter has no state in memory"));
        };
        let policy = &self.inner.policy;
        let reply = Transaction::new(state, policy, &**store, now, entry.id)?.enter(*entry)?;
        Ok(state.describe(policy, &entry.charge, reply))
    }

    /// Returns the charge that a peek checks, and whether it is an estimate.
    pub(crate) fn peeked(&self, mut request: Request<'_>) -> Result<(Charge, bool)> {
        if request.estimate.is_none() {
            // Also for `points`, where other calls must give a cost: a peek charges nothing.
            request.cost.get_or_insert(Cost::Units(1));
        }
        let (charge, permit) = request.charge(&self.inner.policy)?;
        Ok((charge, permit.is_some()))
    }

    pub(crate) fn prepare_peek(&self, charge: Charge, permit: bool, describes: bool) -> Result<Prepared> {
        let policy = &self.inner.policy;
        match &self.inner.location {
            StateLocation::Stateless => self.decide_without_state(&charge, permit, None),
            StateLocation::Memory { .. } => {
                let argument = if permit { "estimate" } else { "cost" };
                let lowered = permit.then(|| self.lowered(&charge)).flatten().transpose()?;
                let charge = lowered.unwrap_or(charge);
                let peek = |state: &mut State, now: u64| {
                    let reply = state.peek(policy, now, argument, &charge)?;
                    Ok(if describes { state.describe(policy, &charge, reply) } else { reply })
                };
                let reply =
                    if self.is_unused() { peek(&mut State::default(), self.now()) } else { self.on_state(peek)? }?;
                let decision = reply.decision(policy, &charge, None);
                Ok(decided(Decision { is_lowered: lowered.is_some(), ..decision }))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => {
                Ok(Prepared::Call(Call::peek(policy, keys, (charge, describes), permit, self.test_time())))
            }
        }
    }

    fn prepare_debit(&self, cost: Cost<'_>) -> Result<Prepared> {
        let policy = &self.inner.policy;
        let charge = cost.charge("cost", policy)?;
        if !policy.limits().is_empty() && policy.limits().iter().all(Limit::counts_starts) {
            return Err(Error::invalid("debit", "takes units, and no limit of the policy counts units"));
        }
        match &self.inner.location {
            StateLocation::Stateless => Ok(decided(Decision::unlimited(None))),
            StateLocation::Memory { .. } => {
                let reply = self.on_state(|state, now| state.debit(policy, now, &charge))??;
                Ok(decided(reply.decision(policy, &charge, None)))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => {
                Ok(Prepared::Call(Call::debit(policy, keys, charge, self.test_time(), self.due_list_entry())))
            }
        }
    }

    fn prepare_correct(&self, permit: &str, actual: Cost<'_>) -> Result<Prepared> {
        let actual = actual.charge("actual", &self.inner.policy)?;
        let settled = |settlement| Ok(Prepared::Answered(Answer::Settlement(settlement)));
        if self.inner.policy.limits().is_empty() && permit == permit::UNLIMITED || permit == permit::SHADOW {
            return settled(Settlement::Settled);
        }
        let Some(permit) = parsed(permit)? else {
            return settled(Settlement::Unknown);
        };
        match &self.inner.location {
            StateLocation::Stateless => settled(Settlement::Unknown),
            StateLocation::Memory { .. } => {
                settled(self.transact("", |transaction| transaction.correct(&permit, &actual))?)
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => {
                // The permit of another policy has a key that the script does not find.
                let charged = self.inner.policy.in_policy_order(&permit.charged).unwrap_or_default();
                Ok(Prepared::Call(Call::correct(keys, &self.inner.policy, &permit, charged, actual, self.test_time())))
            }
        }
    }

    fn prepare_extend(&self, permit: &str, units: Cost<'_>) -> Result<Prepared> {
        let policy = &self.inner.policy;
        let units = units.extension("units", policy)?;
        let extended = |extension| Ok(Prepared::Answered(Answer::Extension(Box::new(extension))));
        // Nothing was charged for the call of a permit in shadow, which refuses nobody.
        if policy.limits().is_empty() && permit == permit::UNLIMITED || permit == permit::SHADOW {
            return extended(Extension::Decided(Decision::unlimited(Some(permit.to_owned()))));
        }
        let unknown = || extended(Extension::Closed(Settlement::Unknown));
        let Some(permit) = parsed(permit)? else { return unknown() };
        // The permit of another policy has a key that the state does not find.
        let charged = policy.in_policy_order(&permit.charged).unwrap_or_default();
        let sums = (0..policy.limits().len()).map(|i| charged.of(i) + units.of(i));
        if let Some(sum) = sums.max().filter(|sum| *sum > MAX_UNITS) {
            return Err(Error::invalid(
                "units",
                format!("must be at most {MAX_UNITS} with what is reserved: sum={sum}"),
            ));
        }
        match &self.inner.location {
            StateLocation::Stateless => unknown(),
            StateLocation::Memory { .. } => {
                let outcome = self.transact_rarely(policy, "", |transaction| transaction.extend(&permit, &units))??;
                extended(match outcome {
                    Ok((reply, charged)) => Extension::Decided(reply.extension(policy, &permit, charged)),
                    Err(settlement) => Extension::Closed(settlement),
                })
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => {
                Ok(Prepared::Call(Call::extend(keys, policy, &permit, charged, units, self.test_time())))
            }
        }
    }

    fn prepare_release(&self, permit: &str) -> Result<Prepared> {
        let settled = |settlement| Ok(Prepared::Answered(Answer::Settlement(settlement)));
        if permit == permit::SHADOW && self.grants_leases() {
            return settled(Settlement::Released);
        }
        let (Some(permit), Some(_)) = (parsed(permit)?, self.inner.policy.concurrency()) else {
            return settled(Settlement::Unknown);
        };
        match &self.inner.location {
            StateLocation::Stateless => settled(Settlement::Unknown),
            StateLocation::Memory { .. } => {
                settled(self.transact(permit.id, |transaction| transaction.release(&permit))?)
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, store } => {
                let (at, may_be_plain) = (self.test_time(), self.is_counted_here(keys) && !store.is_whole());
                let plain = may_be_plain.then(|| Call::plain_release(keys, &permit, at)).flatten();
                Ok(Prepared::Call(plain.unwrap_or_else(|| Call::release(keys, &permit, at))))
            }
        }
    }

    fn prepare_renew(&self, permit: &str) -> Result<Prepared> {
        let renewed = |renewal| Ok(Prepared::Answered(Answer::Renewal(renewal)));
        if permit == permit::SHADOW {
            return renewed(self.inner.policy.concurrency().map(Limit::interval));
        }
        let (Some(permit), Some(_)) = (parsed(permit)?, self.inner.policy.concurrency()) else {
            return renewed(None);
        };
        match &self.inner.location {
            StateLocation::Stateless => renewed(None),
            StateLocation::Memory { .. } => {
                renewed(self.transact_rarely(&self.inner.policy, permit.id, |transaction| transaction.renew(&permit))?)
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => Ok(Prepared::Call(Call::renew(keys, &permit, self.test_time()))),
        }
    }

    fn prepare_cancel(&self, id: &str, gave_up: bool) -> Result<Prepared> {
        check_id(id)?;
        let settled = |settlement| Ok(Prepared::Answered(Answer::Settlement(settlement)));
        match &self.inner.location {
            StateLocation::Stateless => settled(Settlement::Unknown),
            StateLocation::Memory { .. } => {
                settled(self.transact_rarely(&self.inner.policy, id, |transaction| transaction.cancel(id, gave_up))?)
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => Ok(Prepared::Call(Call::cancel(keys, id, gave_up, self.test_time()))),
        }
    }

    fn prepare_ready(&self, count: u64, host: Option<TurnsHost<'_>>) -> Result<Prepared> {
        if !(1..=MAX_READY).contains(&count) {
            return Err(Error::invalid("count", format!("must be from 1 to {MAX_READY}: count={count}")));
        }
        host.map_or(Ok(()), |host| host.check())?;
        let listed = |ready| Ok(Prepared::Answered(Answer::Ready(ready)));
        match &self.inner.location {
            StateLocation::Stateless => listed(ReadyCalls { ids: Vec::new(), after: MAX_POLL }),
            StateLocation::Memory { .. } => {
                listed(self.transact_rarely(&self.inner.policy, "", |transaction| transaction.ready(count, host))?)
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => Ok(Prepared::Call(Call::ready(keys, count, host, self.test_time()))),
        }
    }

    fn prepare_report(&self, report: &UpstreamReport<'_>) -> Result<Prepared> {
        report.check(&self.inner.policy)?;
        let without_permit;
        let report = if report.permit == Some(permit::SHADOW) {
            // Nothing was charged, so there is nothing to settle.
            let settled = report.actual.map(|_| Settlement::Settled).or(report.settled);
            without_permit = UpstreamReport { permit: None, actual: None, settled, ..*report };
            &without_permit
        } else {
            report
        };
        let unlimited = report.permit.is_none_or(|permit| permit == permit::UNLIMITED);
        if self.inner.policy.limits().is_empty() && unlimited {
            return Ok(self.report_without_state(report, Settlement::Settled));
        }
        // A report with an unknown permit still updates the budget, under a permit that was never issued.
        let unknown = Permit { id: "-", granted_at: MAX_TIME.0 - PERMIT_TIMEOUT.0, charged: Charge::All(0) };
        let permit = report.permit.map(|permit| parsed(permit)).transpose()?.map(|permit| permit.unwrap_or(unknown));
        match &self.inner.location {
            StateLocation::Stateless => Ok(self.report_without_state(report, Settlement::Unknown)),
            StateLocation::Memory { .. } => {
                let policy = &self.inner.policy;
                let apply = |transaction: Transaction<'_>| transaction.apply_report(permit.as_ref(), report);
                let outcome = self.transact_rarely(policy, "", apply)??;
                let learned = PendingReport::new(report, policy).learned(&outcome);
                Ok(Prepared::Answered(Answer::Report(Box::new(learned))))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => {
                let policy = &self.inner.policy;
                Call::apply_report(keys, policy, permit.as_ref(), report, self.test_time()).map(Prepared::Call)
            }
        }
    }

    /// Returns the answer to a report that no state records.
    fn report_without_state(&self, report: &UpstreamReport<'_>, settlement: Settlement) -> Prepared {
        let learned = PendingReport::new(report, &self.inner.policy).without_state(settlement);
        Prepared::Answered(Answer::Report(Box::new(learned)))
    }

    fn prepare_admin(&self, command: &AdminCommand<'_>) -> Result<Prepared> {
        command.check(&self.inner.policy)?;
        let policy = command.policy(&self.inner.policy)?;
        match &self.inner.location {
            StateLocation::Stateless => self.named().start(Operation::Admin { command: *command }),
            StateLocation::Memory { store, .. } => {
                let runtime_state = if matches!(command, AdminCommand::Get) && self.is_unused() {
                    Transaction::new(&mut State::default(), &policy, &**store, self.now(), "")?.admin(command)
                } else {
                    self.transact_rarely(&policy, "", |transaction| transaction.admin(command))?
                }?;
                Ok(Prepared::Answered(Answer::RuntimeState(Box::new(runtime_state))))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, .. } => {
                let sets = !matches!(command, AdminCommand::Get | AdminCommand::Resume);
                let is_listed = self.has_statistics() && !self.policy().limits().is_empty();
                let listed = (sets && is_listed).then(|| self.list_entry());
                let (at, listed) = (self.test_time(), listed.as_deref());
                Ok(Prepared::Call(match &policy {
                    Cow::Borrowed(_) => Call::admin(keys, command, at, listed),
                    Cow::Owned(policy) => Call::admin(&Keys::new(self.inner.key_parts(), policy), command, at, listed),
                }))
            }
        }
    }

    /// Returns an error for a limiter that keeps no statistics.
    pub(super) fn check_statistics(&self) -> Result<()> {
        if self.has_statistics() {
            return Ok(());
        }
        let message = format!("the limiter keeps none; create it with statistics: name={}", self.name());
        Err(Error::invalid("statistics", message))
    }

    fn prepare_statistics(&self, is_history: bool) -> Result<Prepared> {
        self.check_statistics()?;
        let now = self.now();
        let nothing = || {
            if is_history {
                Answer::History(RecentSums::default().shown(now).into())
            } else {
                Answer::Statistics(Box::default())
            }
        };
        if self.is_keyed() && !self.policy().limits().is_empty() && self.policy().paused().is_none() {
            #[cfg(feature = "redis")]
            if self.inner.store.in_memory().is_none() {
                let statistics = StatisticsOfKeys::new(self.name(), self.group(), self.server()?.tallies());
                let read = if is_history { statistics.history_at(Micros(now)) } else { statistics };
                return Ok(Prepared::Call(Call::statistics_of_keys(read)));
            }
            return Ok(Prepared::Answered(match self.known_keys_in_memory() {
                Some(all) if is_history => Answer::History(all.history(now).into()),
                Some(all) => Answer::Statistics(all.statistics().into()),
                None => nothing(),
            }));
        }
        match &self.inner.location {
            StateLocation::Stateless => Ok(Prepared::Answered(nothing())),
            StateLocation::Memory { .. } => {
                let cell = self.known_cell();
                let mut state = cell.as_ref().map(|cell| cell.lock(State::default));
                Ok(Prepared::Answered(match &mut state {
                    Some(state) if is_history => Answer::History(state.counters.history(now).into()),
                    Some(state) => Answer::Statistics(state.statistics(now).into()),
                    None => nothing(),
                }))
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, store } => {
                let reports = store.tallies().all(Some(keys.slot()));
                let read = if is_history { Call::history } else { Call::statistics };
                Ok(Prepared::Call(read(keys, self.test_time()).with_reports(reports)))
            }
        }
    }

    fn prepare_reset(&self) -> Prepared {
        match &self.inner.location {
            StateLocation::Stateless => Prepared::Answered(Answer::Reset),
            StateLocation::Memory { .. } => {
                if let Some(cell) = self.known_cell() {
                    *cell.lock(State::default) = State::default();
                }
                #[cfg(feature = "redis")]
                if let (Some(all), Some(key)) = (self.known_keys_in_memory(), self.key()) {
                    all.forget_refused(key);
                }
                Prepared::Answered(Answer::Reset)
            }
            #[cfg(feature = "redis")]
            StateLocation::Redis { keys, store } => {
                self.listed_at().store(0, Ordering::Relaxed);
                // What was counted before the reset must not be added after it.
                Prepared::Call(
                    Call::reset(keys, Micros(self.now())).with_reports(store.tallies().all(Some(keys.slot()))),
                )
            }
        }
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
    pub(crate) fn transact<T>(&self, id: &str, run: impl FnOnce(Transaction<'_>) -> T) -> Result<T> {
        let StateLocation::Memory { store, .. } = &self.inner.location else {
            return Err(Error::internal("the limiter has no state in memory"));
        };
        self.on_state(|state, now| Ok(run(Transaction::new(state, &self.inner.policy, &**store, now, id)?)))?
    }

    /// As [`transact`](Self::transact), of calls that are rare: one copy of the code serves all of them.
    pub(super) fn transact_rarely<T>(
        &self,
        policy: &Policy,
        id: &str,
        run: impl FnOnce(Transaction<'_>) -> T,
    ) -> Result<T> {
        let (mut run, mut result) = (Some(run), None);
        self.transact_once(policy, id, &mut |transaction| result = run.take().map(|run| run(transaction)))?;
        result.ok_or_else(|| Error::internal("the transaction did not run"))
    }

    #[inline(never)]
    fn transact_once(&self, policy: &Policy, id: &str, run: &mut dyn FnMut(Transaction<'_>)) -> Result<()> {
        let StateLocation::Memory { store, .. } = &self.inner.location else {
            return Err(Error::internal("the limiter has no state in memory"));
        };
        self.on_state(|state, now| {
            run(Transaction::new(state, policy, &**store, now, id)?);
            Ok(())
        })?
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

    /// Returns whether nobody has used the state in memory, so that a call that only reads must not make the name known.
    fn is_unused(&self) -> bool {
        let StateLocation::Memory { store, name, cell } = &self.inner.location else { return false };
        let is_known = || match self.key() {
            Some(key) => self.known_keys_in_memory().is_some_and(|all| all.has(key)),
            None => store.find(name).is_some(),
        };
        cell.get().is_none() && !is_known()
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
    pub(super) fn due_list_entry(&self) -> Option<(Micros, String)> {
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

    #[cfg(feature = "redis")]
    fn list_entry(&self) -> String {
        LimiterInfo::entry(self.name(), self.group(), self.is_keyed(), self.policy(), self.ttl())
    }

    /// Returns whether no script needs to count the next call when that is plain.
    #[cfg(feature = "redis")]
    fn is_counted_here(&self, keys: &Keys) -> bool {
        !self.has_statistics() || keys.is_counted_here()
    }

    /// Returns the decision of a policy that needs no state.
    fn decide_without_state(&self, charge: &Charge, estimate: bool, id: Option<&str>) -> Result<Prepared> {
        let policy = &*self.inner.policy;
        policy.check_fits(policy, if estimate { "estimate" } else { "cost" }, charge)?;
        Ok(decided(match policy.paused() {
            Some(limit) => Decision::paused(Some(limit.label())),
            None => Decision::unlimited((estimate || id.is_some()).then(|| permit::UNLIMITED.to_owned())),
        }))
    }
}

pub(super) fn decided(decision: Decision) -> Prepared {
    Prepared::Answered(Answer::Decision(decision))
}

/// Parses a permit id; `None` when this library cannot have issued it.
pub(super) fn parsed(permit: &str) -> Result<Option<Permit<'_>>> {
    if permit.is_empty() || permit.len() > MAX_PERMIT_ID {
        return Err(Error::invalid("permit", format!("must have 1 to {MAX_PERMIT_ID} bytes: bytes={}", permit.len())));
    }
    Ok(Permit::parse(permit))
}
