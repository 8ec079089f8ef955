//! `leaky` (also `points` and `throttle`): a meter that drains `capacity` units in `drain`. Twin of `leaky.lua`.
//!
//! `capacity / drain` is reduced to `leak / scale`, or to the next lower fraction that fits, and the level is stored as
//! units times `scale`, so draining is exact.

use super::check::LimitCheck;
use crate::base::fraction::best_lower;
use crate::base::micros::MAX_TIME;

/// The level of a full meter is at most this.
const MAX_LEVEL: u64 = 1 << 51;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaky {
    pub(crate) capacity: u64,
    pub(crate) leak: u64,
    pub(crate) scale: u64,
    /// The capacity of the caller's policy, in whose place this one may rule.
    pub(crate) own: u64,
    /// The largest of this, that and the learned capacity.
    pub(crate) largest: u64,
}

/// A level with the policy's capacity and the scale under which it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meter {
    pub(crate) level: u64,
    pub(crate) capacity: u64,
    pub(crate) scale: u64,
}

impl Leaky {
    /// Creates a meter that leaks `capacity / drain`, or the next lower rate that can be counted: `capacity * scale` is
    /// at most 2^51. A debt can double the level, and Lua rounds a quotient of numbers up to 2^52 correctly.
    ///
    /// The two fractions with small denominators around the rate differ by one over the product of their denominators,
    /// and one of these is more than half of the largest. So the rate is lower by less than one part in 2^49 / capacity.
    pub(crate) fn new(capacity: u64, drain: u64) -> Self {
        let (leak, scale) = best_lower(capacity, drain, MAX_LEVEL / capacity);
        Self { capacity, leak, scale, own: capacity, largest: capacity }
    }

    /// Creates a throttle of `starts` per `interval`: a meter of one unit. At most one start per microsecond. The fraction
    /// is not reduced, so that the numbers are as the caller gave them.
    pub(crate) const fn throttle(starts: u64, interval: u64) -> Self {
        Self { capacity: 1, leak: starts, scale: interval, own: 1, largest: 1 }
    }

    /// Returns the whole microseconds in which `capacity` units leak.
    pub(crate) fn drain(&self) -> u64 {
        u64::try_from(u128::from(self.capacity) * u128::from(self.scale) / u128::from(self.leak)).unwrap_or(u64::MAX)
    }

    /// Returns the units of a charge that cannot have drained in the time since it was taken.
    pub(crate) fn undrained(&self, charged: u64, elapsed: u64) -> u64 {
        let drained = (u128::from(self.leak) * u128::from(elapsed)).div_ceil(self.scale.into());
        // More than a debt may be was not taken.
        let charged = charged.min(self.most());
        charged.saturating_sub(u64::try_from(drained).unwrap_or(u64::MAX))
    }

    /// Returns the fraction of a microsecond by which a throttle was free before now, which counts for the next start.
    #[allow(clippy::inline_always)] // See `decide`.
    #[inline(always)]
    pub(crate) fn early(&self, level: u64, elapsed: u64) -> u64 {
        let early = elapsed.saturating_mul(self.leak).saturating_sub(level);
        if self.capacity > 1 || early >= self.leak { 0 } else { early }
    }

    /// Returns the most units that the meter can have.
    pub(crate) fn most(&self) -> u64 {
        (2 * self.largest).min(MAX_TIME.0 / self.scale)
    }

    /// Returns what stays taken of a level that was stored under other numbers, and the highest level.
    ///
    /// Under a limit in force instead of the policy's it is all, up to one whole limit of debt and as far as it can be
    /// counted; of another policy as much as fits.
    #[cold]
    fn kept(&self, held: Meter) -> (u64, u64) {
        let Meter { mut level, capacity, scale } = held;
        let most = self.most() * self.scale;
        // Only a limit in force instead of the policy's allows a level that the policy cannot have.
        let is_of_other = capacity >= MAX_TIME.0 / scale || level > 2 * capacity * scale;
        if scale != self.scale {
            level = level.div_ceil(scale).saturating_mul(self.scale);
        }
        let fits = self.largest.min(MAX_TIME.0 / self.scale) * self.scale;
        (level.min(if capacity == self.own || is_of_other { most } else { fits }), most)
    }

    /// Advances a level from the time `last` to `now`, checks `cost`, and applies `change` if the cost fits.
    ///
    /// A level stored under another scale is rounded up to a whole unit, so that a resize never grants more.
    #[allow(clippy::inline_always)] // A caller that needs no remaining units does not divide for them.
    #[inline(always)]
    pub(crate) fn decide(&self, held: Meter, last: u64, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        let (full, elapsed) = (self.capacity * self.scale, now - last);
        let (mut level, mut most) = (held.level, 2 * full);
        let is_as_held = held.scale == self.scale && held.capacity == self.capacity && level <= most;
        if !is_as_held || self.own != self.capacity || self.largest != self.capacity {
            (level, most) = self.kept(held);
        }
        let early = self.early(level, elapsed);
        level = level.saturating_sub(elapsed.saturating_mul(self.leak));
        let mut wait = 0;
        match cost.map(|cost| level + cost * self.scale) {
            Some(wanted) if wanted > full => wait = (wanted - full).div_ceil(self.leak),
            _ if change != 0 => {
                let scaled = change.unsigned_abs().saturating_mul(self.scale);
                level = if change > 0 {
                    level.saturating_add(scaled).min(most) - early
                } else {
                    level.saturating_sub(scaled)
                };
            }
            _ => {}
        }
        let remaining = full.saturating_sub(level) / self.scale;
        LimitCheck { level, wait, remaining, reset: level.div_ceil(self.leak) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::micros::{MAX_SPAN, Micros};
    use crate::model::limit::{Kind, Limit, MAX_UNITS};

    fn numbers() -> impl Strategy<Value = (u64, u64)> {
        let wide = |most: u64| prop_oneof![1..=most, (0..=most.ilog2()).prop_map(|bits| 1 << bits), Just(most)];
        (wide(MAX_UNITS), wide(MAX_SPAN.0))
    }

    proptest! {
        #[test]
        fn no_rate_is_refused_or_higher_than_asked_or_much_lower((capacity, drain) in numbers()) {
            let Leaky { leak, scale, .. } = Leaky::new(capacity, drain);
            let full = u128::from(capacity) * u128::from(scale);
            let asked = u128::from(leak) * u128::from(drain);
            prop_assert!(leak > 0 && full <= u128::from(MAX_LEVEL) && asked <= full, "{leak}/{scale}");
            prop_assert!((full - asked) << 49 <= u128::from(capacity) * full, "{leak}/{scale}");
        }

        #[test]
        fn a_limit_is_made_again_from_its_numbers((capacity, drain) in numbers()) {
            let limit = Limit::of_kind(Kind::Points, capacity, Micros(drain), Micros(0)).unwrap();
            prop_assert!(limit.interval() >= Micros(drain));
            let again = Limit::of_kind(Kind::Points, capacity, limit.interval(), Micros(0));
            prop_assert_eq!(again.unwrap(), limit);
        }
    }
}
