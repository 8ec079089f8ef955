//! `Plain`: the decision on a plain call. It has one limit, no id and nobody to wait for, as nearly all calls in memory.
//!
//! Decides as `State::acquire` and `State::peek` do, with less work. Where anything else could matter (a queue, overrides,
//! a state of other limits) it decides nothing, and the whole engine must.

use std::sync::Arc;

use crate::base::micros::{MAX_TIME, Micros};
use crate::engine::queue::QueueSummary;
use crate::engine::state::{Level, State};
use crate::limits::check::LimitCheck;
use crate::model::decision::{Decision, Status};
use crate::model::limit::Limit;
use crate::model::policy::{Tags, is_exceeded};
use crate::model::reason::Reason;
use crate::model::statistics::is_near;

/// The decision on a plain call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    check: LimitCheck,
    at: u64,
    /// The correction of the store's clock.
    skew: u64,
}

impl State {
    /// Takes units as `acquire` does; `None` when the whole engine must decide, and then nothing has changed.
    ///
    /// `limit` is the only limit of a policy with these tags, and a [`plain`](crate::model::policy::Policy::plain) one.
    #[allow(clippy::inline_always)] // See `Record::check_inlined`. The module for browsers is to be small.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(crate) fn acquire_plain(
        &mut self,
        limit: &Limit,
        tags: &Arc<Tags>,
        server: u64,
        units: u64,
        has_statistics: bool,
    ) -> Option<Plain> {
        if units == 0 {
            return None;
        }
        let plain = self.decide_plain(limit, tags, server, units, true)?;
        if plain.is_granted() {
            let record = self.records.get_mut(0)?;
            match &mut record.level {
                Level::Number(level) => *level = plain.check.level,
                Level::Log(log) => log.push(plain.at, units, plain.check.level),
                Level::Leases(_) => return None,
            }
            (record.rule, record.at) = (limit.rule, plain.at);
            (self.last, self.skew) = (plain.at, plain.skew);
            if has_statistics {
                self.counters.grant(plain.at, units, plain.is_near(limit));
            }
        } else {
            self.skew = plain.skew;
            if has_statistics {
                self.counters.refuse(plain.at, Some(limit.label()));
            }
        }
        Some(plain)
    }

    /// Returns what `peek` would return; `None` when the whole engine must decide.
    #[inline]
    pub(crate) fn peek_plain(&self, limit: &Limit, tags: &Arc<Tags>, server: u64, units: u64) -> Option<Plain> {
        self.decide_plain(limit, tags, server, units, false)
    }

    #[allow(clippy::inline_always)] // See `Record::check_inlined`.
    #[inline(always)]
    fn decide_plain(&self, limit: &Limit, tags: &Arc<Tags>, server: u64, units: u64, takes: bool) -> Option<Plain> {
        // Every field is named, so that a new one cannot be forgotten here.
        let Self { last, skew, records, adopted: _, permits: _, queue_summary, queue: _, counters: _, overrides } =
            self;
        let is_alone = overrides.is_none() && *queue_summary == QueueSummary::default();
        if !is_alone || !self.has_adopted(tags) || is_exceeded(limit, units) {
            return None;
        }
        let cost = if limit.counts_starts() { units.min(1) } else { units };
        let change = if takes { cost.cast_signed() } else { 0 };
        let at = (*last).max(server + skew);
        let check = records.get(0)?.check_inlined(limit.rule, at, Some(cost), change);
        Some(Plain::new(check, at, at - server))
    }
}

impl Plain {
    /// Creates the decision of a check at a time of the limiter, which is so much later than the store's clock.
    #[inline]
    pub(super) fn new(check: LimitCheck, at: u64, skew: u64) -> Self {
        Self { check: LimitCheck { wait: check.wait.min(MAX_TIME.0), ..check }, at, skew }
    }

    #[inline]
    pub(crate) const fn is_granted(&self) -> bool {
        self.check.wait == 0
    }

    /// Returns whether a grant is near the limit.
    #[inline]
    pub(crate) const fn is_near(&self, limit: &Limit) -> bool {
        is_near(self.check.remaining, limit.capacity())
    }

    /// Returns the level of the limit after the decision.
    #[inline]
    pub(super) const fn level(&self) -> u64 {
        self.check.level
    }

    /// Returns the time of the decision.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    /// Returns the decision of the only limit.
    #[inline]
    pub(crate) fn decision(&self, limit: &Limit) -> Decision {
        let LimitCheck { level: _, wait, remaining, reset } = self.check;
        let known = |time: u64| (time < MAX_TIME.0).then_some(Micros(time));
        Decision {
            status: if self.is_granted() { Status::Granted } else { Status::Refused },
            limit: Some(limit.capacity()),
            remaining: Some(remaining),
            retry_after: known(wait),
            reset_after: known(reset).filter(|_| wait < MAX_TIME.0),
            reason: (!self.is_granted()).then(|| Reason::from(limit.kind())),
            label: Some(limit.label().clone()),
            at: Micros(self.at),
            ..Decision::unlimited(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::base::charge::Charge;
    use crate::engine::transaction::{Publish, Transaction};
    use crate::model::overrides::{AdminCommand, Deadline};
    use crate::model::policy::Policy;

    const PAUSE: AdminCommand<'static> = AdminCommand::Pause(Deadline::After(Micros(500_000)));

    /// No call waits for a wake-up.
    struct Nobody;

    impl Publish for Nobody {
        fn publish(&self, _: &str, _: u64, _: &str) -> bool {
            false
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Acquire(u64),
        Peek(u64),
        Debit(u64),
        /// The other policy of the name is used, with other numbers or with another limit.
        Other(u64),
        Pause,
        Resume,
    }

    fn steps() -> impl Strategy<Value = Vec<(i64, Step)>> {
        let units = || prop_oneof![6 => 0..4_u64, 1 => 4..12_u64];
        let step = prop_oneof![
            40 => units().prop_map(Step::Acquire),
            10 => units().prop_map(Step::Peek),
            1 => units().prop_map(Step::Debit),
            3 => units().prop_map(Step::Other),
            1 => Just(Step::Pause),
            2 => Just(Step::Resume),
        ];
        prop::collection::vec((prop_oneof![3 => 0..400_000_i64, 1 => -300_000..2_000_000_i64], step), 1..60)
    }

    fn limit() -> impl Strategy<Value = Limit> {
        let second = Duration::from_secs(1);
        prop_oneof![
            Just(Limit::leaky(8, second)),
            Just(Limit::bucket(8, second)),
            Just(Limit::window(8, second)),
            Just(Limit::throttle(Duration::from_millis(300))),
            Just(Limit::leaky(5, 2 * second)),
            Just(Limit::leaky(8, second).and_then(|limit| limit.labelled("own"))),
        ]
        .prop_map(|limit| limit.unwrap())
    }

    fn admin(state: &mut State, policy: &Policy, now: u64, command: &AdminCommand<'_>) {
        let transaction = Transaction::new(state, policy, &Nobody, now, "").unwrap();
        transaction.admin(command).unwrap();
    }

    proptest! {
        #[test]
        fn the_plain_way_decides_as_the_whole_engine(
            limit in limit(),
            other in limit(),
            has_statistics in any::<bool>(),
            steps in steps(),
        ) {
            let policy = Policy::new([limit.clone()]).unwrap();
            let other = Policy::new([other]).unwrap();
            prop_assert!(policy.plain().is_some());
            let tags = policy.tag_list();
            let mut state = State::default();
            let (mut now, mut plain_decisions) = (10_000_000_u64, 0);
            for (passed, step) in steps {
                now = now.saturating_add_signed(passed);
                let (before, mut plain_state) = (state.counters.clone(), state.clone());
                match step {
                    Step::Acquire(units) => {
                        let charge = Charge::All(units);
                        let plain = plain_state.acquire_plain(&limit, tags, now, units, has_statistics);
                        let whole = state.acquire(&policy, now, &charge, false);
                        if !has_statistics {
                            state.counters.clone_from(&before);
                        }
                        if let Some(plain) = plain {
                            plain_decisions += 1;
                            let whole = whole.unwrap().unwrap().decision(&policy, &charge, None);
                            prop_assert_eq!(plain.decision(&limit), whole);
                            prop_assert_eq!(format!("{plain_state:?}"), format!("{state:?}"));
                        }
                    }
                    Step::Peek(units) => {
                        let charge = Charge::All(units);
                        let plain = plain_state.peek_plain(&limit, tags, now, units);
                        let whole = state.peek(&policy, now, "cost", &charge);
                        if let Some(plain) = plain {
                            let whole = whole.unwrap().decision(&policy, &charge, None);
                            prop_assert_eq!(plain.decision(&limit), whole);
                            prop_assert_eq!(format!("{plain_state:?}"), format!("{state:?}"));
                        }
                    }
                    Step::Debit(units) => drop(state.debit(&policy, now, &Charge::All(units))),
                    Step::Other(units) => drop(state.acquire(&other, now, &Charge::All(units), false)),
                    Step::Pause => admin(&mut state, &policy, now, &PAUSE),
                    Step::Resume => admin(&mut state, &policy, now, &AdminCommand::Resume),
                }
                if plain_decisions == 0 {
                    prop_assert!(state.acquire_plain(&limit, tags, now, 0, true).is_none(), "nothing to take");
                }
            }
        }
    }

    #[test]
    fn a_plain_call_is_decided_at_once_and_others_are_not() {
        let limit = Limit::leaky(8, Duration::from_secs(1)).unwrap();
        let policy = Policy::new([limit.clone()]).unwrap();
        let (tags, now) = (policy.tag_list(), 10_000_000);
        let mut state = State::default();
        assert_eq!(state.acquire_plain(&limit, tags, now, 1, true), None, "no record");
        state.acquire(&policy, now, &Charge::All(1), false).unwrap();
        assert!(state.acquire_plain(&limit, tags, now, 7, true).unwrap().is_granted());
        assert!(!state.acquire_plain(&limit, tags, now, 1, true).unwrap().is_granted());
        assert_eq!(state.acquire_plain(&limit, tags, now, 9, true), None, "never granted");
        let statistics = state.counters.statistics();
        assert_eq!((statistics.granted, statistics.units, statistics.refused), (2, 8, 1));
        let mut queued = state.clone();
        queued.queue_summary.tickets = 1;
        assert_eq!(queued.acquire_plain(&limit, tags, now, 1, true), None, "somebody waits");
        admin(&mut state, &policy, now, &PAUSE);
        assert_eq!(state.acquire_plain(&limit, tags, now, 1, true), None, "a pause");
    }
}
