//! Plain calls of a limiter in memory, which are decided without the whole engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use once_cell::race::OnceBox;

use super::{Inner, Limiter, MAX_KEY, StateLocation};
use crate::base::clock;
use crate::base::error::Result;
use crate::base::test_clock::TestClock;
use crate::engine::plain::Plain;
use crate::engine::state::State;
use crate::model::decision::Decision;
use crate::model::limit::Limit;
use crate::model::policy::Tags;
use crate::model::request::Request;
use crate::store::memory::Cell;

/// What plain calls need of their limiter, side by side: with many limiters most of the time goes into reading memory.
pub(super) struct PlainLimiter {
    limit: Limit,
    tags: Arc<Tags>,
    /// The state, once the whole engine has used it.
    pub(super) cell: OnceBox<Cell>,
    clock: Option<TestClock>,
    has_statistics: bool,
    /// Whether the store is closed.
    is_closed: Arc<AtomicBool>,
}

impl PlainLimiter {
    /// Returns the data for plain calls; `None` for a limiter whose calls need the whole engine.
    pub(super) fn new(inner: &Inner) -> Option<Self> {
        let has_state = matches!(inner.location, StateLocation::Memory { .. });
        let has_states = inner.is_of_all_keys() && inner.store.in_memory().is_some();
        let limit = inner.policy.plain().filter(|_| has_state || has_states)?;
        Some(Self {
            limit: limit.clone(),
            tags: inner.policy.tag_list().clone(),
            cell: OnceBox::new(),
            clock: inner.store.clock.clone(),
            has_statistics: inner.has_statistics,
            is_closed: inner.store.in_memory()?.closed().clone(),
        })
    }

    /// Reads the clock for a state with this last time, under its lock.
    #[inline]
    fn now(&self, (last, skew): (u64, u64)) -> u64 {
        match &self.clock {
            Some(clock) => clock.now().0,
            None => clock::for_state(clock::now(), last, skew),
        }
    }

    /// Returns whether the store is closed: then the whole engine returns the error.
    #[inline]
    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    #[inline]
    fn acquire(&self, units: u64) -> Option<Plain> {
        let mut state = self.cell.get()?.lock(State::default);
        let now = self.now(state.last_time());
        state.acquire_plain(&self.limit, &self.tags, now, units, self.has_statistics)
    }
}

impl Limiter {
    /// Decides as [`try_acquire`](Self::try_acquire) does, if that needs no server and not the whole engine, and returns whether the
    /// call was granted. `None` when nothing was decided and nothing has changed: the caller then uses `try_acquire`.
    ///
    /// For bindings, whose `allow` needs no more of a decision.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::memory();
    /// let api = pg.leaky("api", 3, Duration::from_secs(3_600))?;
    /// let (one, two, four) = (Request::cost(1), Request::cost(2), Request::cost(4));
    /// assert_eq!(api.allow_at_once(&one), None, "the first call creates the state");
    /// assert!(api.try_acquire(one)?.allowed());
    /// assert_eq!((api.allow_at_once(&two), api.allow_at_once(&one)), (Some(true), Some(false)));
    /// assert_eq!(api.allow_at_once(&four), None, "acquire returns the error");
    /// let workers = pg.concurrent("workers", 2, Duration::from_secs(60))?;
    /// assert_eq!(workers.allow_at_once(&one), None, "a lease needs its permit");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[inline]
    pub fn allow_at_once(&self, request: &Request<'_>) -> Option<bool> {
        Some(self.acquire_plain(request)?.0.is_granted())
    }

    /// Decides for one key of a [`keyed`](Self::keyed) limiter as [`allow_at_once`](Self::allow_at_once) does, without making the
    /// limiter of the key. `None` when nothing was decided and nothing has changed: the caller then uses
    /// [`with_key`](Self::with_key).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let per_user = Paddlegate::memory().leaky("api", 2, Duration::from_secs(3_600))?.keyed()?;
    /// let (one, three) = (Request::cost(1), Request::cost(3));
    /// assert_eq!(per_user.allow_at_once_with_key("ada", &one), Some(true));
    /// assert!(per_user.with_key("ada")?.try_acquire(one)?.allowed());
    /// assert_eq!(per_user.allow_at_once_with_key("ada", &one), Some(false));
    /// assert_eq!(per_user.statistics()?.granted, 2);
    /// assert_eq!(per_user.allow_at_once_with_key("ada", &three), None, "with_key returns the error");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn allow_at_once_with_key(&self, key: &str, request: &Request<'_>) -> Option<bool> {
        self.acquire_plain_with_key(key, request).map(|(plain, _)| plain.is_granted())
    }

    /// Decides as [`allow_at_once_with_key`](Self::allow_at_once_with_key) does, and returns the decision.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let per_user = Paddlegate::memory().leaky("api", 2, Duration::from_secs(3_600))?.keyed()?;
    /// let one = Request::cost(1);
    /// assert_eq!(per_user.with_key("ada")?.try_acquire(one)?.remaining, Some(1));
    /// assert_eq!(per_user.acquire_at_once_with_key("ada", &one).unwrap().remaining, Some(0));
    /// assert_eq!(per_user.acquire_at_once_with_key("", &one), None, "with_key returns the error");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn acquire_at_once_with_key(&self, key: &str, request: &Request<'_>) -> Option<Decision> {
        self.acquire_plain_with_key(key, request).map(|(plain, limit)| plain.decision(limit))
    }

    fn acquire_plain_with_key(&self, key: &str, request: &Request<'_>) -> Option<(Plain, &Limit)> {
        let Inner { plain: Some(plain), keys: Some(_), key: None, .. } = &*self.inner else { return None };
        if key.is_empty() || key.len() > MAX_KEY || plain.is_closed() {
            return None;
        }
        let units = request.plain_units()?;
        Some((self.acquire_plain_of_key(key, &plain.limit, units, |last| plain.now(last))?, &plain.limit))
    }

    /// Takes the cost of a plain call; the returned limit decides.
    #[inline]
    pub(super) fn acquire_plain(&self, request: &Request<'_>) -> Option<(Plain, &Limit)> {
        let plain = self.inner.plain.as_ref().filter(|plain| !plain.is_closed())?;
        let units = request.plain_units()?;
        Some((self.decide_plain(plain, units)?, &plain.limit))
    }

    /// As [`acquire_plain`](Self::acquire_plain), and finds the state first, which the store may have of another limiter.
    pub(super) fn acquire_plain_first(&self, units: u64) -> Result<Option<(Plain, &Limit)>> {
        let Some(plain) = &self.inner.plain else { return Ok(None) };
        if self.key().is_none() {
            self.cell()?;
        }
        Ok(self.decide_plain(plain, units).map(|decided| (decided, &plain.limit)))
    }

    #[inline]
    fn decide_plain(&self, plain: &PlainLimiter, units: u64) -> Option<Plain> {
        match self.key() {
            None => plain.acquire(units),
            Some(key) => self.acquire_plain_of_key(key, &plain.limit, units, |last| plain.now(last)),
        }
    }

    /// Decides on a plain peek by the returned limit.
    #[inline]
    pub(super) fn peek_plain(&self, request: &Request<'_>) -> Option<(Plain, &Limit)> {
        let plain = self.inner.plain.as_ref().filter(|plain| !plain.is_closed())?;
        let units = request.plain_units()?;
        let state = plain.cell.get()?.lock(State::default);
        let decided = state.peek_plain(&plain.limit, &plain.tags, plain.now(state.last_time()), units)?;
        Some((decided, &plain.limit))
    }
}
