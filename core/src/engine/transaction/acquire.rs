//! Calls that do not examine the queue: `acquire` without an id, and `peek`. Twin of `fast_path.lua` and
//! `transaction/acquire.lua`.

use crate::base::error::Result;
use crate::engine::queue::QueueSummary;
use crate::engine::reply::Reply;
use crate::engine::state::{Demand, Evaluation, State};
use crate::model::decision::Status;
use crate::model::policy::Policy;
use crate::model::statistics::Statistics;

impl State {
    /// Charges `cost` to all limits or to none, behind the queue.
    ///
    /// Returns `None` when only the queue blocks the call, as far as its summary shows. Such a call must be repeated
    /// with an id.
    #[inline]
    pub(crate) fn acquire(&mut self, own: &Policy, server: u64, cost: u64) -> Result<Option<Reply>> {
        self.adopt(own, server)?;
        let (now, skew) = self.clock(server);
        let policy = &*self.effective_policy(own, now);
        policy.check_fits("cost", cost)?;
        let demand = self.queue_summary.demand(now, cost, cost);
        let evaluation = self.decide(policy, now, demand);
        let granted = evaluation.wait == 0;
        if granted && cost > 0 {
            self.take(policy, &evaluation, now, skew, cost);
            self.queue_summary = self.queue_summary.written(now);
        } else if !granted
            && demand.ahead > 0
            && self.decide(policy, now, Demand { ahead: 0, before: 0, ..demand }).wait == 0
        {
            return Ok(None);
        } else {
            // Otherwise the clock of a full limiter would stand still until the server's clock catches up.
            self.skew = skew;
            self.statistics.refused += u64::from(!granted);
        }
        let status = if granted { Status::Granted } else { Status::Refused };
        Ok(Some(Reply { amount: Some(policy.capacity(evaluation.index)), ..Reply::new(status, &evaluation, now) }))
    }

    /// Returns what `acquire` would return and changes nothing. `remaining` does not subtract the cost.
    pub(crate) fn peek(&mut self, own: &Policy, server: u64, argument: &'static str, cost: u64) -> Result<Reply> {
        self.adopt(own, server)?;
        let now = self.clock(server).0;
        let policy = &*self.effective_policy(own, now);
        policy.check_fits(argument, cost)?;
        let evaluation = self.decide(policy, now, self.queue_summary.demand(now, cost, 0));
        let status = if evaluation.wait == 0 { Status::Granted } else { Status::Refused };
        Ok(Reply { amount: Some(policy.capacity(evaluation.index)), ..Reply::new(status, &evaluation, now) })
    }

    pub(super) fn take(&mut self, policy: &Policy, evaluation: &Evaluation, now: u64, skew: u64, cost: u64) {
        for i in 0..policy.limits().len() {
            if let Some(log) = self.log(policy, i) {
                log.push(now, cost, evaluation.levels[i]);
            }
        }
        self.settle(policy, &evaluation.levels, now, skew);
        self.statistics.granted += 1;
        self.statistics.units += cost;
    }

    pub(crate) fn statistics(&mut self, server: u64) -> Statistics {
        let now = self.clock(server).0;
        let leases = self.leases().map_or(0, |leases| leases.live(now));
        let tickets = self.queue.as_ref().map_or(0, |queue| queue.len());
        Statistics { leases, tickets, ..self.statistics }
    }
}

impl QueueSummary {
    /// Returns the demand of a call that does not examine the queue.
    fn demand(self, now: u64, cost: u64, change: u64) -> Demand<'static> {
        let counts = cost > 0 && now < self.until;
        let (ahead, before) = if counts { (self.tickets, self.units) } else { (0, 0) };
        Demand { ahead, before, cost: Some(cost), change: change.cast_signed(), ..Demand::default() }
    }

    /// Returns the summary to write, which is empty for an empty queue.
    pub(crate) fn written(self, now: u64) -> Self {
        if self.tickets > 0 { Self { written_at: now, ..self } } else { Self::default() }
    }
}
