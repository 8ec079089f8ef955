//! `refund`: gives back units of every limit, at most what is taken now. Twin of `refund.lua`.

use crate::base::charge::Charge;
use crate::engine::reply::Reply;
use crate::engine::state::{Change, Demand};
use crate::engine::transaction::Transaction;
use crate::model::decision::Status;
use crate::model::limit::Rule;

impl Transaction<'_> {
    /// Gives back a charge as far as it is taken now; of a window the newest units. The reply has the remaining units.
    pub(crate) fn refund(mut self, charge: &Charge) -> Reply {
        let (now, limits) = (self.now, self.policy.limits().len());
        let before = self.state.decide(&self.policy, now, Demand::default()).levels;
        for (i, live) in before.iter().enumerate().take(limits) {
            if let Some(log) = self.state.log(&self.policy, i) {
                log.give_back(charge.of(i).min(*live));
            }
        }
        // The logs are without these units already.
        let is_window = |i: usize| matches!(self.policy.limits()[i].rule, Rule::Window(_));
        let others = Charge::each((0..limits).map(|i| if is_window(i) { 0 } else { charge.of(i) }));
        let less = Change::By { new: &Charge::All(0), old: &others };
        let ask = Demand { change: less, granted_at: now, ..Demand::default() };
        let evaluation = self.state.decide(&self.policy, now, ask);
        let amount = Some(self.policy.capacity(evaluation.index));
        let reply = Reply { amount, ..Reply::new(Status::Granted, &evaluation, now) };
        if charge.most() == 0 {
            self.state.skew = self.skew;
            return reply;
        }
        let counting = self.policy.limits().iter().enumerate().filter(|(_, limit)| !limit.counts_starts());
        let given = counting.map(|(i, limit)| {
            let scale = if let Rule::Leaky(leaky) = limit.rule { leaky.scale } else { 1 };
            (before[i] - evaluation.levels[i]) / scale
        });
        self.state.counters.correct(now, -given.max().unwrap_or(0).cast_signed());
        self.state.settle(&self.policy, &evaluation.levels, now, self.skew);
        self.advance();
        self.keep_queue_summary();
        reply
    }
}
