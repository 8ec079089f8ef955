//! The numbers of each limit, for a call that asks for them. Twin of `describe.lua`.

use crate::base::charge::Charge;
use crate::base::micros::MAX_TIME;
use crate::engine::reply::{LimitNumbers, Reply};
use crate::engine::state::State;
use crate::model::decision::Status;
use crate::model::limit::{Limit, Rule};
use crate::model::policy::{Policy, is_exceeded};

impl State {
    /// Adds to the reply to a call the numbers of each limit, as they are after its decision.
    pub(crate) fn describe(&self, own: &Policy, charge: &Charge, reply: Reply) -> Reply {
        if reply.status == Status::NoTicket {
            return reply;
        }
        let policy = self.effective_policy(own, reply.at);
        let is_taken = reply.status == Status::Granted && !reply.would_refuse;
        let of_limit = |(i, limit)| self.numbers(&policy, (i, limit), reply.at, (!is_taken).then_some(charge));
        Reply { limits: policy.limits().iter().enumerate().map(of_limit).collect(), ..reply }
    }

    /// Returns the numbers of a limit by itself for a charge that is not taken yet, if there is one.
    fn numbers(&self, policy: &Policy, (i, limit): (usize, &Limit), now: u64, charge: Option<&Charge>) -> LimitNumbers {
        let is_call = charge.is_some_and(Charge::is_call);
        let units = charge.map(|charge| if limit.counts_starts() { charge.of(i).min(1) } else { charge.of(i) });
        // A limit from which a call takes nothing does not delay the call.
        let cost = units.filter(|units| *units > 0 || !is_call);
        let cost = match limit.rule {
            Rule::Leaky(leaky) => cost.map(|cost| cost.min(MAX_TIME.0 / leaky.scale)),
            _ => cost,
        };
        let check = self.check(policy, i, now, cost, 0);
        let is_too_large = units.is_some_and(|units| is_exceeded(limit, units));
        let wait = self.wait_at(limit, check.wait, is_too_large, now);
        let (amount, interval) = (limit.capacity(), limit.interval().0);
        LimitNumbers { amount, interval, remaining: check.remaining, wait, reset: check.reset }
    }

    /// Returns how long a limit holds a call up that would have to wait so long under its numbers.
    #[inline]
    pub(super) fn wait_at(&self, limit: &Limit, wait: u64, is_too_large: bool, now: u64) -> u64 {
        let mut wait = wait.min(MAX_TIME.0);
        if wait > 0 && (limit.amount() == 0 || is_too_large) {
            // No release makes room, and no time.
            wait = MAX_TIME.0;
        }
        match self.overrides.as_ref().and_then(|overrides| overrides.end(limit, now)) {
            // The override ends earlier, and another limit applies then.
            Some(end) => wait.min(end - now),
            None => wait,
        }
    }
}
