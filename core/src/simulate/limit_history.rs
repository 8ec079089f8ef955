//! `LimitHistory`: the limits in force over time, and the units that they permit.

use crate::base::charge::Charge;
use crate::model::limit::{Kind, Limit};
use crate::model::overrides::RuntimeState;
use crate::model::policy::Policy;

/// The limits in force, each from its time until the next. Times are measured from the start.
#[derive(Debug)]
pub(super) struct LimitHistory {
    /// The store's time at the start, to align the intervals of buckets.
    start: u64,
    stretches: Vec<(u64, Vec<Limit>)>,
}

/// An interval of a bucket or a window, and its largest limit so far.
#[derive(Clone, Copy)]
struct Block {
    interval: u128,
    phase: u128,
    number: u128,
    amount: u128,
}

impl LimitHistory {
    pub(super) fn new(policy: &Policy, start: u64) -> Self {
        Self { start, stretches: vec![(0, policy.limits().to_vec())] }
    }

    /// Records the limits in force after an admin command.
    pub(super) fn change(&mut self, now: u64, own: &Policy, runtime_state: &RuntimeState) {
        // The new state replaces the expiry of an earlier override.
        self.stretches.retain(|(from, _)| *from < now);
        let overridden = |own: &Limit| runtime_state.overrides.iter().find(|limit| limit.is_same(own));
        let effective = |own: &Limit| match overridden(own) {
            // An override changes the number of a quota alone.
            Some(limit) if own.kind() == Kind::Quota => {
                own.with_numbers(limit.amount(), own.interval(), own.offset()).unwrap_or_else(|_| own.clone())
            }
            limit => limit.unwrap_or(own).clone(),
        };
        let limits = own.limits().iter().map(effective).collect();
        self.stretches.push((now, limits));
        if let Some(lasts) = runtime_state.expires_after {
            self.stretches.push((now + lasts.0, own.limits().to_vec()));
        }
    }

    /// Returns the index of the limit whose capacity the units exceed, now and in the policy.
    pub(super) fn limit_exceeded_by(&self, now: u64, own: &Policy, charge: &Charge) -> Option<usize> {
        let cannot = |i: usize, limit: &Limit| {
            charge.of(i) > limit.amount() && limit.kind() != Kind::Paused && !limit.counts_starts()
        };
        let (_, limits) = self.stretches.iter().rfind(|(from, _)| *from <= now)?;
        (0..limits.len()).find(|i| cannot(*i, &limits[*i]) && cannot(*i, &own.limits()[*i]))
    }

    /// Returns the most that a limit permits before a time: units, starts, or microseconds of leases.
    ///
    /// An interval of a bucket or a window that is only partly covered counts in full, and once: with its largest
    /// limit.
    pub(super) fn allowed(&self, index: usize, span: u64) -> u128 {
        let ends = self.stretches.iter().skip(1).map(|(from, _)| *from).chain([u64::MAX]);
        let (mut allowed, mut leaked, mut capacity) = (0, 0, 0);
        let mut block: Option<Block> = None;
        for ((from, limits), end) in self.stretches.iter().zip(ends) {
            let (limit, end) = (&limits[index], end.min(span));
            if *from >= end {
                continue;
            }
            let (from, end) = (u128::from(*from), u128::from(end));
            let (amount, interval) = (u128::from(limit.amount()), u128::from(limit.interval().0.max(1)));
            match limit.kind() {
                Kind::Bucket | Kind::Window => {
                    let aligned = u128::from(self.start + limit.offset().0) % interval;
                    let phase = if limit.kind() == Kind::Bucket { aligned } else { 0 };
                    let (first, last) = ((phase + from) / interval, (phase + end - 1) / interval);
                    let is_first =
                        |block: &Block| (block.interval, block.phase, block.number) == (interval, phase, first);
                    let counted = block.filter(is_first).map_or(0, |block| block.amount);
                    allowed += amount.saturating_sub(counted) + amount * (last - first);
                    let amount = if first == last { amount.max(counted) } else { amount };
                    block = Some(Block { interval, phase, number: last, amount });
                }
                Kind::Leaky | Kind::Points | Kind::Throttle => {
                    // Added capacity is available at once.
                    let most = u128::from(limit.capacity());
                    allowed += most.saturating_sub(capacity);
                    capacity = most;
                    // Fixed point, so that fractions of units from several periods add up to whole units.
                    leaked += ((amount * (end - from)) << 32).div_ceil(interval);
                }
                Kind::Quota => {
                    let (mut at, end) = (u128::from(self.start) + from, u128::from(self.start) + end);
                    while at < end {
                        let periods = limit.periods(u64::try_from(at).unwrap_or(u64::MAX));
                        let (interval, number) = (0, u128::from(periods.start));
                        let is_same = |block: &Block| (block.interval, block.number) == (interval, number);
                        let counted = block.filter(is_same).map_or(0, |block| block.amount);
                        allowed += amount.saturating_sub(counted);
                        block = Some(Block { interval, phase: 0, number, amount: amount.max(counted) });
                        at = u128::from(periods.ends[0]);
                    }
                }
                Kind::Concurrency => allowed += amount * (end - from),
                Kind::Unlimited | Kind::Paused => {}
            }
        }
        allowed + (leaked >> 32)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::micros::Micros;

    const S: u64 = 1_000_000;

    fn history(limit: &Limit, start: u64) -> (LimitHistory, Policy) {
        let policy = Policy::new([limit.clone()]).unwrap();
        (LimitHistory::new(&policy, start), policy)
    }

    fn runtime_state(limit: &Limit, lasts: Option<u64>) -> RuntimeState {
        RuntimeState { overrides: vec![limit.clone()], expires_after: lasts.map(Micros), ..RuntimeState::default() }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn each_kind_lets_through_what_its_definition_says() {
        let allowed = |limit: Limit, span| history(&limit, 0).0.allowed(0, span);
        assert_eq!(allowed(Limit::window(5, seconds(10)).unwrap(), 20 * S), 10);
        assert_eq!(allowed(Limit::window(5, seconds(10)).unwrap(), 20 * S + 1), 15);
        assert_eq!(allowed(Limit::leaky(5, seconds(10)).unwrap(), 20 * S + 1), 15);
        assert_eq!(allowed(Limit::throttle(seconds(10)).unwrap(), 20 * S + 1), 3);
        assert_eq!(allowed(Limit::concurrency(5, seconds(10)).unwrap(), 20 * S), u128::from(100 * S));
        assert_eq!(allowed(Limit::paused(), 20 * S), 0);
    }

    #[test]
    fn a_bucket_counts_the_intervals_that_are_touched() {
        let bucket = Limit::bucket(5, seconds(10)).unwrap();
        assert_eq!(history(&bucket, 0).0.allowed(0, 10 * S), 5);
        assert_eq!(history(&bucket, 1).0.allowed(0, 10 * S), 10);
        let earlier = Limit::bucket_with_offset(5, seconds(10), seconds(3)).unwrap();
        assert_eq!(history(&earlier, 0).0.allowed(0, 7 * S), 5);
        assert_eq!(history(&earlier, 0).0.allowed(0, 7 * S + 1), 10);
    }

    #[test]
    fn other_numbers_count_while_they_rule() {
        let (five, fifty) = (Limit::bucket(5, seconds(10)).unwrap(), Limit::bucket(50, seconds(10)).unwrap());
        let (mut history, own) = history(&five, 0);
        history.change(15 * S, &own, &runtime_state(&fifty, Some(10 * S)));
        // 5, and then 50 in the second and the third interval, a part of which they rule; after them 5 again.
        assert_eq!(history.allowed(0, 40 * S), 110);
        let exceeded = |history: &LimitHistory, at| history.limit_exceeded_by(at, &own, &Charge::All(6));
        assert_eq!([14, 15, 25].map(|at| exceeded(&history, at * S)), [Some(0), None, Some(0)]);
        let six = Policy::new([Limit::bucket(6, seconds(10)).unwrap()]).unwrap();
        assert_eq!(history.limit_exceeded_by(14 * S, &six, &Charge::All(6)), None, "lowered at run time");
        // An order before the end of the last one.
        history.change(20 * S, &own, &runtime_state(&five, None));
        assert_eq!(history.allowed(0, 40 * S), 65);
    }

    #[test]
    fn a_higher_capacity_is_there_at_once_and_parts_of_units_are_not_lost() {
        let (low, high) = (Limit::leaky(4, seconds(12)).unwrap(), Limit::leaky(10, seconds(30)).unwrap());
        let (mut history, own) = history(&low, 0);
        history.change(S, &own, &runtime_state(&high, Some(S)));
        // Ten at once, and a third in each second.
        assert_eq!((history.allowed(0, 2 * S), history.allowed(0, 3 * S)), (10, 11));
    }
}
