//! `TestClock`: the clock of a store in tests.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::base::error::{Error, Result};
use crate::base::locked;
use crate::base::micros::{MAX_TIME, Micros};

/// A clock that moves only when a test moves it. Clones are the same clock.
///
/// [`Paddlegate::memory_with_clock`](crate::Paddlegate::memory_with_clock) decides by it. Calls that wait sleep in real time. In
/// memory they look again when the clock is [advanced](Self::advance); in Redis at their next attempt, after at most five seconds.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Micros, Paddlegate, Request, TestClock};
/// let clock = TestClock::new(Micros(0))?;
/// let api = Paddlegate::memory_with_clock(&clock).window("api", 1, Duration::from_secs(60))?;
/// assert!(api.try_acquire(Request::cost(1))?.allowed());
/// clock.advance(Duration::from_micros(59_999_999))?;
/// assert!(!api.try_acquire(Request::cost(1))?.allowed(), "one microsecond early");
/// clock.advance(Duration::from_micros(1))?;
/// assert!(api.try_acquire(Request::cost(1))?.allowed());
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone)]
pub struct TestClock(Arc<Inner>);

struct Inner {
    now: AtomicU64,
    stores: Mutex<Vec<Weak<dyn FollowsClock>>>,
}

/// A store whose waiting calls look again when its test clock is advanced.
pub(crate) trait FollowsClock: Send + Sync {
    fn clock_has_moved(&self);
}

impl TestClock {
    /// Creates a clock at a time since 1970, at most [`MAX_TIME`].
    pub fn new(now: Micros) -> Result<Self> {
        Ok(Self(Arc::new(Inner { now: AtomicU64::new(checked(now)?), stores: Mutex::default() })))
    }

    /// Returns the time since 1970.
    pub fn now(&self) -> Micros {
        Micros(self.0.now.load(Ordering::SeqCst))
    }

    /// Moves the clock to a time since 1970, at most [`MAX_TIME`]. An earlier time is the time of a server whose clock ran
    /// backwards: the limiters keep their own time, which does not. It wakes nobody, so that it can show the clock of a program
    /// whose timers are virtual too.
    pub fn set(&self, now: Micros) -> Result<()> {
        self.0.now.store(checked(now)?, Ordering::SeqCst);
        Ok(())
    }

    /// Moves the clock forward, and wakes who waits in memory. Parts of a microsecond are rounded up.
    pub fn advance(&self, by: Duration) -> Result<()> {
        let by = u64::try_from(by.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX);
        let moved = |now: u64| checked(Micros(now.saturating_add(by)));
        self.0.now.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |now| moved(now).ok()).or_else(moved)?;
        self.tell();
        Ok(())
    }

    /// Adds a store that decides by this clock.
    pub(crate) fn add(&self, store: Weak<dyn FollowsClock>) {
        let mut stores = locked(&self.0.stores);
        stores.retain(|store| store.strong_count() > 0);
        stores.push(store);
    }

    fn tell(&self) {
        let mut stores = locked(&self.0.stores);
        stores.retain(|store| store.strong_count() > 0);
        let stores: Vec<_> = stores.iter().filter_map(Weak::upgrade).collect();
        for store in stores {
            store.clock_has_moved();
        }
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestClock").field(&self.now()).finish()
    }
}

fn checked(now: Micros) -> Result<u64> {
    if now <= MAX_TIME {
        return Ok(now.0);
    }
    Err(Error::invalid("now", format!("must be at most 2^52 microseconds since 1970: now_us={}", now.0)))
}
