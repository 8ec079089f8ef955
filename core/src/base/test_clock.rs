//! `TestClock`: the clock of a store in tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_TIME, Micros};

/// A clock that moves only when a test moves it. Clones are the same clock.
///
/// [`Paddlegate::memory_with_clock`](crate::Paddlegate::memory_with_clock) decides by it. Calls that wait still sleep in
/// real time; they see the clock at each attempt.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Micros, Paddlegate, Request, TestClock};
/// let clock = TestClock::new(Micros(0))?;
/// let api = Paddlegate::memory_with_clock(&clock).window("api", 1, Duration::from_secs(60))?;
/// assert!(api.acquire(Request::cost(1))?.allowed());
/// clock.advance(Duration::from_micros(59_999_999))?;
/// assert!(!api.acquire(Request::cost(1))?.allowed(), "one microsecond early");
/// clock.advance(Duration::from_micros(1))?;
/// assert!(api.acquire(Request::cost(1))?.allowed());
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TestClock(Arc<AtomicU64>);

impl TestClock {
    /// Creates a clock at a time since 1970, at most [`MAX_TIME`].
    pub fn new(now: Micros) -> Result<Self> {
        Ok(Self(Arc::new(AtomicU64::new(checked(now)?))))
    }

    /// Returns the time since 1970.
    pub fn now(&self) -> Micros {
        Micros(self.0.load(Ordering::SeqCst))
    }

    /// Moves the clock to a time since 1970, at most [`MAX_TIME`]. An earlier time is that of a server whose clock ran
    /// backwards: the limiters keep their own time, which does not.
    pub fn set(&self, now: Micros) -> Result<()> {
        self.0.store(checked(now)?, Ordering::SeqCst);
        Ok(())
    }

    /// Moves the clock forward. Parts of a microsecond are rounded up.
    pub fn advance(&self, by: Duration) -> Result<()> {
        let by = u64::try_from(by.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        let moved = |now: u64| checked(Micros(now.saturating_add(by)));
        match self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| moved(now).ok()) {
            Ok(_) => Ok(()),
            Err(now) => moved(now).map(|_| ()),
        }
    }
}

fn checked(now: Micros) -> Result<u64> {
    if now <= MAX_TIME {
        return Ok(now.0);
    }
    Err(Error::invalid("now", format!("must be at most 2^52 microseconds since 1970: now_us={}", now.0)))
}
