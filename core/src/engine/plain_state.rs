//! `PlainState`: the state of a limiter with one limit that only plain calls have used, in three numbers.
//!
//! With a limiter for each of a million users nearly all states are such, and a `State` takes ten times the memory. Decides as
//! `State::acquire_plain` does; anything else first makes the `State` of it.

use crate::engine::plain::Plain;
use crate::engine::state::{Level, State};
use crate::limits::check::LimitCheck;
use crate::limits::leaky::Meter;
use crate::model::limit::{Limit, Rule};
use crate::model::policy::{Policy, is_exceeded};

/// The fields of a `State` that such calls change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlainState {
    last: u64,
    skew: u64,
    level: u64,
}

impl PlainState {
    /// Returns the only limit of a policy whose states can be such; `None` for other policies.
    pub(crate) fn limit(policy: &Policy) -> Option<&Limit> {
        policy.plain().filter(|limit| matches!(limit.rule, Rule::Bucket(_) | Rule::Leaky(_)))
    }

    /// Takes units as `State::acquire_plain` does; `None` when the whole engine must decide, and then nothing has changed.
    ///
    /// `limit` is always the same.
    #[inline]
    pub(crate) fn acquire(&mut self, limit: &Limit, server: u64, units: u64) -> Option<Plain> {
        if units == 0 || is_exceeded(limit, units) {
            return None;
        }
        let cost = if limit.counts_starts() { units.min(1) } else { units };
        let at = self.last.max(server + self.skew);
        let plain = Plain::new(self.check(limit, at, Some(cost), cost.cast_signed())?, at, at - server);
        self.skew = at - server;
        if plain.is_granted() {
            (self.last, self.level) = (at, plain.level());
        }
        Some(plain)
    }

    /// Returns the last time of the limiter and the correction of the store's clock.
    #[inline]
    pub(crate) const fn last_time(&self) -> (u64, u64) {
        (self.last, self.skew)
    }

    /// Returns whether forgetting this state changes no later decision.
    pub(crate) fn is_idle(&self, limit: &Limit, server: u64) -> bool {
        self.check(limit, self.last.max(server + self.skew), None, 0).is_none_or(|check| check.reset == 0)
    }

    /// Makes the state for the whole engine.
    pub(crate) fn whole(self, policy: &Policy) -> State {
        let mut state = State::default();
        // A single limit is never one too many.
        let _ = state.adopt(policy, 0);
        (state.last, state.skew) = (self.last, self.skew);
        if let Some(record) = state.records.get_mut(0) {
            (record.at, record.level) = (self.last, Level::Number(self.level));
        }
        state
    }

    #[inline]
    fn check(&self, limit: &Limit, at: u64, cost: Option<u64>, change: i64) -> Option<LimitCheck> {
        match limit.rule {
            Rule::Bucket(bucket) => Some(bucket.decide(self.level, bucket.limit, self.last, at, cost, change)),
            Rule::Leaky(leaky) => {
                let meter = Meter { level: self.level, capacity: leaky.capacity, scale: leaky.scale };
                Some(leaky.decide(meter, self.last, at, cost, change))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::base::charge::Charge;
    use crate::base::error::Result;

    fn limit() -> impl Strategy<Value = Limit> {
        let second = Duration::from_secs(1);
        prop_oneof![
            Just(Limit::leaky(8, second)),
            Just(Limit::bucket(8, second)),
            Just(Limit::throttle(Duration::from_millis(300))),
            Just(Limit::leaky(5, 2 * second)),
            Just(Limit::bucket(3, second).and_then(|limit| limit.labelled("own"))),
        ]
        .prop_map(|limit| limit.unwrap())
    }

    proptest! {
        #[test]
        fn decides_as_the_whole_engine_and_becomes_its_state(
            limit in limit(),
            steps in prop::collection::vec((prop_oneof![3 => 0..400_000_i64, 1 => -300_000..2_000_000_i64], 0..12_u64), 1..60),
        ) {
            let policy = Policy::new([limit]).unwrap();
            let limit = PlainState::limit(&policy).unwrap();
            let (mut plain, mut state) = (PlainState::default(), State::default());
            let mut now = 10_000_000_u64;
            for (passed, units) in steps {
                now = now.saturating_add_signed(passed);
                let charge = Charge::All(units);
                let before = plain;
                let Some(decided) = plain.acquire(limit, now, units) else {
                    prop_assert!(units == 0 || is_exceeded(limit, units));
                    prop_assert_eq!(plain, before);
                    continue;
                };
                let whole = state.acquire(&policy, now, &charge, false).unwrap().unwrap();
                prop_assert_eq!(decided.decision(limit), whole.decision(&policy, &charge, None));
                prop_assert_eq!(plain.is_idle(limit, now), state.is_idle(now));
                prop_assert_eq!(plain.is_idle(limit, now + 400_000), state.is_idle(now + 400_000));
                let mut made = plain.whole(&policy);
                made.counters.clone_from(&state.counters);
                prop_assert_eq!(format!("{made:?}"), format!("{state:?}"));
            }
        }
    }

    #[test]
    fn a_policy_that_needs_more_than_a_number_has_no_such_state() {
        let second = Duration::from_secs(1);
        let of = |limit: Result<Limit>| Policy::new([limit.unwrap()]).unwrap();
        assert!(PlainState::limit(&of(Limit::leaky(8, second))).is_some());
        assert!(PlainState::limit(&of(Limit::window(8, second))).is_none(), "a log");
        assert!(PlainState::limit(&of(Limit::concurrency(8, second))).is_none(), "leases");
        assert!(PlainState::limit(&of(Limit::points(8, second))).is_none(), "permits");
    }
}
