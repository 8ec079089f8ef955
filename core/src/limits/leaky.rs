//! `leaky` (also `points` and `throttle`): a meter that drains `capacity` units in `drain`. Twin of `leaky.lua`.
//!
//! `capacity / drain` is reduced to `leak / scale`, and the level is stored as units times `scale`, so draining is
//! exact.

use super::check::LimitCheck;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaky {
    pub(crate) capacity: u64,
    pub(crate) leak: u64,
    pub(crate) scale: u64,
}

/// A level with the capacity and the scale under which it was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meter {
    pub(crate) level: u64,
    pub(crate) capacity: u64,
    pub(crate) scale: u64,
}

impl Leaky {
    /// Creates a meter; `None` when `capacity * scale` exceeds 2^51.
    ///
    /// A debt can double the level, and Lua rounds a quotient of numbers up to 2^52 correctly.
    pub(crate) fn new(capacity: u64, drain: u64) -> Option<Self> {
        let common = gcd(capacity, drain);
        let (leak, scale) = (capacity / common, drain / common);
        let full = capacity.checked_mul(scale)?;
        (full <= 1 << 51).then_some(Self { capacity, leak, scale })
    }

    /// Advances a level from the time `last` to `now`, checks `cost`, and applies `change` if the cost fits.
    ///
    /// A level stored under another scale is rounded up to a whole unit, so that a resize never grants more.
    #[inline]
    pub(crate) fn decide(&self, held: Meter, last: u64, now: u64, cost: Option<u64>, change: i64) -> LimitCheck {
        let (full, elapsed) = (self.capacity * self.scale, now - last);
        let mut level = held.level;
        if held.scale != self.scale {
            level = level.div_ceil(held.scale).saturating_mul(self.scale);
        }
        if held.capacity != self.capacity && level > full {
            level = full;
        }
        level = level.saturating_sub(elapsed.saturating_mul(self.leak));
        let mut wait = 0;
        match cost.map(|cost| level + cost * self.scale) {
            Some(wanted) if wanted > full => wait = (wanted - full).div_ceil(self.leak),
            _ if change != 0 => {
                let scaled = change.unsigned_abs() * self.scale;
                level = if change > 0 { (level + scaled).min(2 * full) } else { level.saturating_sub(scaled) };
            }
            _ => {}
        }
        let remaining = full.saturating_sub(level) / self.scale;
        LimitCheck { level, wait, remaining, reset: level.div_ceil(self.leak) }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
