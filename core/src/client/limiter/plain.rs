//! Plain calls of a limiter in memory, which are decided without the whole engine.

use std::sync::Arc;

use once_cell::race::OnceBox;

use super::{Inner, Limiter, StateLocation};
use crate::base::clock;
use crate::base::test_clock::TestClock;
use crate::engine::plain::Plain;
use crate::engine::state::State;
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
}

impl PlainLimiter {
    /// Returns the data for plain calls; `None` for a limiter whose calls need the whole engine.
    pub(super) fn new(inner: &Inner) -> Option<Self> {
        let is_in_memory = matches!(inner.location, StateLocation::Memory { .. });
        let limit = inner.policy.plain().filter(|_| is_in_memory && inner.keys.is_none())?;
        Some(Self {
            limit: limit.clone(),
            tags: inner.policy.tag_list().clone(),
            cell: OnceBox::new(),
            clock: inner.store.clock.clone(),
            has_statistics: inner.has_statistics,
        })
    }

    #[inline]
    fn now(&self) -> u64 {
        self.clock.as_ref().map_or_else(clock::now, |clock| clock.now().0)
    }

    #[inline]
    fn acquire(&self, units: u64) -> Option<Plain> {
        let now = self.now();
        let mut state = self.cell.get()?.lock(State::default);
        state.acquire_plain(&self.limit, &self.tags, now, units, self.has_statistics)
    }
}

impl Limiter {
    /// Decides as [`acquire`](Self::acquire) does, if that needs no server and not the whole engine, and returns whether the
    /// call was granted. `None` when nothing was decided and nothing has changed: the caller then uses `acquire`.
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
    /// assert!(api.acquire(one)?.allowed());
    /// assert_eq!((api.allow_at_once(&two), api.allow_at_once(&one)), (Some(true), Some(false)));
    /// assert_eq!(api.allow_at_once(&four), None, "acquire returns the error");
    /// let workers = pg.concurrent("workers", 2, Duration::from_secs(60))?;
    /// assert_eq!(workers.allow_at_once(&one), None, "a lease needs its permit");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[inline]
    pub fn allow_at_once(&self, request: &Request<'_>) -> Option<bool> {
        Some(self.inner.plain.as_ref()?.acquire(request.plain_units()?)?.is_granted())
    }

    /// Takes the cost of a plain call; the decision is that of the returned limit.
    #[inline]
    pub(super) fn acquire_plain(&self, request: &Request<'_>) -> Option<(Plain, &Limit)> {
        let plain = self.inner.plain.as_ref()?;
        Some((plain.acquire(request.plain_units()?)?, &plain.limit))
    }

    /// Decides on a plain peek, which is that of the returned limit.
    #[inline]
    pub(super) fn peek_plain(&self, request: &Request<'_>) -> Option<(Plain, &Limit)> {
        let plain = self.inner.plain.as_ref()?;
        let units = request.plain_units()?;
        let now = plain.now();
        let decided = plain.cell.get()?.lock(State::default).peek_plain(&plain.limit, &plain.tags, now, units)?;
        Some((decided, &plain.limit))
    }
}
