//! `quota`: a count of units in a period of the calendar. Twin of `quota.lua`.
//!
//! The boundaries are given: the rule knows neither months nor time zones.

use super::bucket::kept;
use super::check::LimitCheck;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) limit: u64,
    /// The limit of the caller's policy, in whose place this one may rule.
    pub(crate) own: u64,
    /// The largest of this, that and the learned limit.
    pub(crate) largest: u64,
    /// In a record the end of the period that was counted; 0 in a policy.
    pub(crate) end: u64,
}

/// The period that contains a time, and the ends of those after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Periods {
    pub(crate) start: u64,
    /// The end of the period, and of the next two.
    pub(crate) ends: [u64; 3],
}

impl Quota {
    /// Advances a count from the time `last` and the policy's limit `held` to `now`, checks `cost`, and applies `change` if it
    /// fits.
    pub(crate) fn decide(
        self,
        periods: &Periods,
        (mut count, held): (u64, u64),
        (last, now): (u64, u64),
        cost: Option<u64>,
        change: i64,
    ) -> LimitCheck {
        let Self { limit, own, largest, .. } = self;
        if last < periods.start {
            count = 0;
        } else {
            count = kept(count, held, own, largest);
        }
        let mut wait = 0;
        if let Some(cost) = cost.filter(|cost| count + cost > limit) {
            // The units of the calls ahead, which `cost` includes, may fill more than one period. Of more than three the
            // wait is until the third has ended: nobody waits longer without asking again.
            let full = (count.min(limit) + cost).div_ceil(limit).clamp(2, 4) - 2;
            wait = periods.ends[usize::try_from(full).unwrap_or_default()] - now;
        } else if change != 0 {
            count = count.saturating_add_signed(change).min(2 * largest);
        }
        let reset = if count > 0 { periods.ends[0] - now } else { 0 };
        LimitCheck { level: count, wait, remaining: limit.saturating_sub(count), reset }
    }
}
