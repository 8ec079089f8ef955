//! `BlockAfter`: how many refusals lead to a block.

use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::micros::Micros;

/// The maximum number of refusals that lead to a block.
pub const MAX_REFUSALS: u64 = 1_000_000;

/// The maximum of both times of a [`BlockAfter`]: 7 days. The minimum is one second.
pub const MAX_BLOCK: Micros = Micros(7 * 86_400 * 1_000_000);

/// After a number of refusals within a time, a key or a name without keys is blocked for a time.
///
/// The time of counting begins with the first refusal, and the next one after its end begins another. Refusals by a limit
/// count, also those that only [`Mode::Shadow`](crate::Mode::Shadow) lets pass; those by a pause do not, nor any during a block, so
/// that it ends. A wait that times out does not count.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::BlockAfter;
/// let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
/// assert_eq!(BlockAfter::new(100, minute, hour)?.refusals(), 100);
/// assert_eq!(BlockAfter::new(0, minute, hour).unwrap_err().argument(), Some("block_after"));
/// assert_eq!(BlockAfter::new(100, minute, 200 * hour).unwrap_err().argument(), Some("block_after"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockAfter {
    refusals: u64,
    within: Micros,
    lasts: Micros,
}

impl BlockAfter {
    /// Creates a rule: `refusals` from 1 to 1,000,000, both times from one second to seven days.
    ///
    /// `Invalid`, argument `block_after`, for other numbers.
    pub fn new(refusals: u64, within: Duration, lasts: Duration) -> Result<Self> {
        let micros = |time: Duration| Micros(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        Self::of_micros(refusals, micros(within), micros(lasts))
    }

    /// As [`new`](Self::new), with times in microseconds.
    pub fn of_micros(refusals: u64, within: Micros, lasts: Micros) -> Result<Self> {
        let invalid = |message: String| Err(Error::invalid("block_after", message));
        if refusals == 0 || refusals > MAX_REFUSALS {
            return invalid(format!("must have 1 to {MAX_REFUSALS} refusals: refusals={refusals}"));
        }
        for (name, time) in [("within", within), ("for", lasts)] {
            if time < Micros(1_000_000) || time > MAX_BLOCK {
                return invalid(format!("must be from one second to seven days: {name}_us={}", time.0));
            }
        }
        Ok(Self { refusals, within, lasts })
    }

    /// Returns the number of refusals that lead to a block.
    pub const fn refusals(&self) -> u64 {
        self.refusals
    }

    /// Returns the time within which they are counted.
    pub const fn within(&self) -> Micros {
        self.within
    }

    /// Returns how long the block lasts.
    pub const fn lasts(&self) -> Micros {
        self.lasts
    }
}
