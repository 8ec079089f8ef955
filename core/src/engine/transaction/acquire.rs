//! Calls that do not examine the queue: `acquire` without an id, and `peek`. Twin of `fast_path.lua` and
//! `transaction/acquire.lua`.

use crate::base::charge::Charge;
use crate::base::error::Result;
use crate::engine::queue::QueueSummary;
use crate::engine::reply::Reply;
use crate::engine::state::{Change, Demand, Evaluation, State, Units};
use crate::model::decision::Status;
use crate::model::policy::Policy;
use crate::model::statistics::{Statistics, is_near};

impl State {
    /// Takes a charge from all limits or from none, behind the queue.
    ///
    /// Returns `None` when only the queue blocks the call, as far as its summary shows. Such a call must be repeated
    /// with an id. A dry run takes and counts nothing.
    #[inline]
    pub(crate) fn acquire(
        &mut self,
        own: &Policy,
        server: u64,
        charge: &Charge,
        dry_run: bool,
    ) -> Result<Option<Reply>> {
        self.adopt(own, server)?;
        let (now, skew) = self.clock(server);
        let policy = &*self.effective_policy(own, now);
        policy.check_fits(own, "cost", charge)?;
        let ahead = self.queue_summary.ahead(policy, now, charge);
        let alone = Demand { cost: Some(charge), change: Change::Cost, ..Demand::default() };
        let evaluation = self.decide(policy, now, Demand { ahead: ahead.as_ref(), ..alone });
        if evaluation.wait > 0 && ahead.is_some() && self.decide(policy, now, alone).wait == 0 {
            return Ok(None);
        }
        let (evaluation, would_refuse) = self.in_mode(own, now, evaluation);
        let granted = evaluation.wait == 0;
        if granted && charge.is_call() && !dry_run {
            self.take(policy, &evaluation, now, skew, charge);
            self.queue_summary.write(now);
        } else if !dry_run {
            // Otherwise the clock of a full limiter would stand still until the server's clock catches up.
            self.skew = skew;
            if !granted && self.count_refusal(own, now, charge, &evaluation, would_refuse) && self.last == 0 {
                let levels = self.decide(policy, now, Demand::default()).levels;
                self.settle(policy, &levels, now, skew);
            }
        }
        let status = if granted || would_refuse { Status::Granted } else { Status::Refused };
        let amount = Some(policy.capacity(evaluation.index));
        Ok(Some(Reply { would_refuse, amount, ..Reply::new(status, &evaluation, now) }))
    }

    /// Returns what `acquire` would return and changes nothing. `remaining` does not subtract the cost.
    pub(crate) fn peek(&mut self, own: &Policy, server: u64, argument: &'static str, charge: &Charge) -> Result<Reply> {
        self.adopt(own, server)?;
        let now = self.clock(server).0;
        let policy = &*self.effective_policy(own, now);
        policy.check_fits(own, argument, charge)?;
        let ahead = self.queue_summary.ahead(policy, now, charge);
        let demand = Demand { cost: Some(charge), ahead: ahead.as_ref(), ..Demand::default() };
        let (evaluation, would_refuse) = self.in_mode(own, now, self.decide(policy, now, demand));
        let status = if evaluation.wait == 0 || would_refuse { Status::Granted } else { Status::Refused };
        let amount = Some(policy.capacity(evaluation.index));
        Ok(Reply { would_refuse, amount, ..Reply::new(status, &evaluation, now) })
    }

    /// Takes a charge in any case, up to one whole limit of debt. The reply has the remaining units.
    pub(crate) fn debit(&mut self, own: &Policy, server: u64, charge: &Charge) -> Result<Reply> {
        self.adopt(own, server)?;
        let (now, skew) = self.clock(server);
        let policy = &*self.effective_policy(own, now);
        let by = Change::By { new: charge, old: &Charge::All(0) };
        let evaluation = self.decide(policy, now, Demand { change: by, granted_at: now, ..Demand::default() });
        if charge.most() > 0 {
            for (i, limit) in policy.limits().iter().enumerate() {
                let live = evaluation.levels[i];
                if let Some(log) = self.log(policy, i) {
                    log.push(now, charge.of(i).min(limit.most().saturating_sub(live)), live);
                }
            }
            self.count_grant(policy, &evaluation, now, skew, charge);
            self.queue_summary.write(now);
        } else {
            self.skew = skew;
        }
        Ok(Reply { amount: Some(policy.capacity(evaluation.index)), ..Reply::new(Status::Granted, &evaluation, now) })
    }

    pub(super) fn take(&mut self, policy: &Policy, evaluation: &Evaluation, now: u64, skew: u64, charge: &Charge) {
        for i in 0..policy.limits().len() {
            if let Some(log) = self.log(policy, i) {
                log.push(now, charge.of(i), evaluation.levels[i]);
            }
        }
        self.count_grant(policy, evaluation, now, skew, charge);
    }

    fn count_grant(&mut self, policy: &Policy, evaluation: &Evaluation, now: u64, skew: u64, charge: &Charge) {
        self.settle(policy, &evaluation.levels, now, skew);
        let is_near = is_near(evaluation.remaining, policy.capacity(evaluation.index));
        self.counters.grant(now, charge.most(), is_near);
    }

    pub(crate) fn statistics(&mut self, server: u64) -> Statistics {
        let now = self.clock(server).0;
        let leases = self.leases().map_or(0, |leases| leases.live(now));
        let tickets = self.queue.as_ref().map_or(0, |queue| queue.len());
        Statistics { leases, tickets, ..self.counters.statistics() }
    }
}

impl QueueSummary {
    /// Returns the units of each limit that the tickets take, for a call that does not examine the queue.
    #[inline]
    fn ahead(&self, policy: &Policy, now: u64, charge: &Charge) -> Option<Units> {
        (self.tickets > 0 && now < self.until && charge.most() > 0).then(|| self.loads_of(policy))
    }

    /// Returns the units of each limit that the tickets take.
    pub(crate) fn loads_of(&self, policy: &Policy) -> Units {
        let mut units = Units::default();
        for (i, of_limit) in units.iter_mut().enumerate().take(policy.limits().len()) {
            *of_limit = self.loads.get(policy.record_tag(i));
        }
        units
    }

    /// Gives the summary the time of a change of the state. The summary of an empty queue is empty.
    #[inline]
    pub(crate) fn write(&mut self, now: u64) {
        if self.tickets > 0 {
            self.written_at = now;
        } else if *self != Self::default() {
            *self = Self::default();
        }
    }
}
