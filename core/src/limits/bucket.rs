//! `bucket`: a count of units in the aligned interval `floor((now + offset) / interval)`. Twin of `bucket.lua`.

use super::check::LimitCheck;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) limit: u64,
    pub(crate) interval: u64,
    pub(crate) offset: u64,
    /// The limit of the caller's policy, in whose place this one may rule.
    pub(crate) own: u64,
    /// The largest of this, that and the learned limit.
    pub(crate) largest: u64,
}

impl Bucket {
    /// Advances a count from the time `last` and the policy's limit `held` to `now`, checks `cost`, and applies `change` if it
    /// fits.
    #[allow(clippy::inline_always)] // A caller that needs no remaining units does not divide for them.
    #[inline(always)]
    pub(crate) fn decide(
        &self,
        mut count: u64,
        held: u64,
        last: u64,
        now: u64,
        cost: Option<u64>,
        change: i64,
    ) -> LimitCheck {
        let elapsed = self.elapsed(now);
        if now - last > elapsed {
            count = 0;
        } else {
            count = kept(count, held, self.own, self.largest);
        }
        let mut wait = 0;
        if let Some(cost) = cost.filter(|cost| count + cost > self.limit) {
            // The units of the calls ahead, which `cost` includes, may fill more than one interval.
            let intervals = (count.min(self.limit) + cost).div_ceil(self.limit).max(2) - 2;
            wait = (self.interval - elapsed).saturating_add(intervals.saturating_mul(self.interval));
        } else if change != 0 {
            count = count.saturating_add_signed(change).min(2 * self.largest);
        }
        let reset = if count > 0 { self.interval - elapsed } else { 0 };
        LimitCheck { level: count, wait, remaining: self.limit.saturating_sub(count), reset }
    }

    /// Returns how long the interval that contains `now` has lasted.
    pub(crate) fn elapsed(&self, now: u64) -> u64 {
        (now + self.offset) % self.interval
    }
}

/// Returns the units of a count that stay taken: all under a limit in force instead of the policy's, up to one whole limit
/// of debt; of another policy, whose limit was `held`, as many as fit the largest limit.
#[inline]
pub(crate) fn kept(count: u64, held: u64, own: u64, largest: u64) -> u64 {
    if held == own && count <= 2 * own {
        return count;
    }
    // Only a limit in the place of a lower one allows more than twice the lower.
    count.min(if held == own || count > 2 * held { 2 * largest } else { largest })
}
