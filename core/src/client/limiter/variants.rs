//! Copies of a limiter with another option.

use std::sync::Arc;
use std::time::Duration;

use super::{Inner, Limiter, MAX_NAME};
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
#[cfg(feature = "documents")]
use crate::client::store::Store;
use crate::model::block_after::BlockAfter;
#[cfg(feature = "documents")]
use crate::model::limit::Limit;
use crate::model::mode::Mode;
use crate::model::on_unavailable::OnUnavailable;
use crate::model::policy::Policy;

impl Limiter {
    /// Returns a copy with this behaviour when the store is unavailable. In memory it has no effect.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{ErrorKind, OnUnavailable, Paddlegate, Request};
    /// let pg = Paddlegate::open("unix:///no/such/socket", None)?;
    /// let api = pg.window("api", 100, Duration::from_secs(60))?;
    /// assert_eq!(api.try_acquire(Request::cost(1)).unwrap_err().kind(), ErrorKind::Unavailable);
    /// let decision = api.with_on_unavailable(OnUnavailable::Local { share_percent: 10 }).try_acquire(Request::cost(1))?;
    /// assert!(decision.allowed() && decision.degraded);
    /// assert_eq!(decision.remaining, Some(9), "of 10 percent of 100 units");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[must_use]
    pub fn with_on_unavailable(&self, on_unavailable: OnUnavailable) -> Self {
        let is_one = self.inner.together.is_empty();
        let on_unavailable = if is_one { on_unavailable } else { on_unavailable.together() };
        self.varied(|inner| inner.on_unavailable = on_unavailable).located()
    }

    /// Returns a copy in a group, of 1 to 512 bytes. In a cluster the limiters of a group are on one node, so that they can
    /// decide [together](crate::Paddlegate::together).
    ///
    /// All processes must give a name the same group: with another one, or none, it has another state.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let user = pg.window("user-7", 100, Duration::from_secs(60))?.with_group("acme")?;
    /// assert_eq!(user.group(), Some("acme"));
    /// assert_eq!(user.with_group("").unwrap_err().argument(), Some("group"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn with_group(&self, group: &str) -> Result<Self> {
        check_group(group)?;
        self.check_single("group", "belongs to each limiter; give it to those that decide together")?;
        let variant = self.varied(|inner| {
            inner.group = Some(group.into());
            inner.keys = inner.keys.as_ref().map(|_| Arc::default());
        });
        Ok(variant.located())
    }

    /// Returns the group, whose limiters can decide together in a cluster.
    pub fn group(&self) -> Option<&str> {
        self.inner.group.as_deref()
    }

    /// Returns a copy that keeps no statistics and is not in the list of limiters: a server then does less for each call, and
    /// nothing of the limiter remains soon after all units are available again.
    ///
    /// The switch is of the limiter in this process: others that use the name decide alike, whether they count or not.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::memory();
    /// let api = pg.window("api", 100, Duration::from_secs(60))?.without_statistics()?;
    /// assert!(api.try_acquire(Request::cost(1))?.allowed());
    /// assert_eq!(api.statistics().unwrap_err().argument(), Some("statistics"));
    /// assert!(pg.limiters()?.is_empty());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn without_statistics(&self) -> Result<Self> {
        self.check_single("statistics", "belong to each limiter; turn them off for those that decide together")?;
        let variant = self.varied(|inner| {
            inner.has_statistics = false;
            inner.keys = inner.keys.as_ref().map(|_| Arc::default());
        });
        Ok(variant.located())
    }

    /// Returns a copy in a mode. In [`Mode::Shadow`] it decides and counts as ever, but refuses nobody: for the roll-out of a limit.
    ///
    /// A call that would be refused, or would have to wait, is granted at once: the decision says so in
    /// [`would_refuse`](crate::Decision::would_refuse), with the `label` of the limit and the `retry_after` that it would have had.
    /// It charges nothing, so the state stays what it would be with refusals. Its permit is settled, renewed and released without
    /// effect. Statistics count it as `shadow_refused`. A pause and a block that a command sets refuse as ever, at once, and a cost
    /// that can never pass is still an error. While the store is unavailable, a limiter in shadow grants where others refuse.
    ///
    /// An operator overrides the mode at run time with [`LimitOverride::Mode`](crate::LimitOverride::Mode), in both directions.
    /// The mode is of the limiter in this process: others that use the name may have another one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Kind, Mode, Paddlegate, Reason, Request};
    /// let api = Paddlegate::memory().window("api", 2, Duration::from_secs(60))?.with_mode(Mode::Shadow)?;
    /// assert_eq!(api.try_acquire(Request::cost(2))?.would_refuse, None);
    /// let decision = api.try_acquire(Request::cost(1))?;
    /// assert!(decision.allowed() && decision.retry_after.unwrap().0 > 0);
    /// assert_eq!(decision.would_refuse, Some(Reason::Limit(Kind::Window)));
    /// let statistics = api.statistics()?;
    /// assert_eq!((statistics.granted, statistics.refused, statistics.shadow_refused), (1, 0, 1));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn with_mode(&self, mode: Mode) -> Result<Self> {
        self.check_single("mode", "belongs to each limiter; give it to those that decide together")?;
        Ok(self.with_policy(|policy| policy.with_mode(mode)))
    }

    /// Returns the mode of this limiter; an override in the store may rule in its place.
    pub fn mode(&self) -> Mode {
        self.inner.policy.mode()
    }

    /// Returns a copy that blocks a key of a keyed limiter, or the name of another, after a number of refusals.
    ///
    /// Only the refusals of limiters with the rule count, of all processes together; see [`BlockAfter`].
    /// [`AdminCommand::Resume`](crate::AdminCommand::Resume) ends a block.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{BlockAfter, Paddlegate, Reason, Request};
    /// let (minute, hour) = (Duration::from_secs(60), Duration::from_secs(3_600));
    /// let login = Paddlegate::memory().window("login", 1, minute)?.keyed()?;
    /// let login = login.with_block_after(BlockAfter::new(2, minute, hour)?)?;
    /// let mallory = login.with_key("203.0.113.7")?;
    /// assert!(mallory.try_acquire(Request::cost(1))?.allowed());
    /// for _ in 0..2 {
    ///     assert!(!mallory.try_acquire(Request::cost(1))?.allowed());
    /// }
    /// assert_eq!(mallory.try_acquire(Request::cost(1))?.reason, Some(Reason::Blocked));
    /// assert!(login.with_key("203.0.113.8")?.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn with_block_after(&self, block_after: BlockAfter) -> Result<Self> {
        self.check_single("block_after", "belongs to each limiter; give it to those that decide together")?;
        Ok(self.with_policy(|policy| policy.with_block_after(Some(block_after))))
    }

    /// Returns the limiter in whose queue calls age: one that waits gets the next higher priority after each such time, from
    /// one second to seven days.
    ///
    /// Without it a call of a low priority may wait for as long as others of a higher one come. A call rises when it asks again,
    /// which a waiting one does every 5 seconds at least, and a job when it comes back; it takes its place behind
    /// the tickets that have the higher priority already. The highest is 9. Only calls of this limiter rise, calls of others with its name do not.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, TestClock, Wait};
    /// let clock = TestClock::new(Micros(0))?;
    /// let workers = Paddlegate::memory_with_clock(&clock).concurrent("workers", 1, Duration::from_secs(600))?;
    /// let workers = workers.with_aging(Duration::from_secs(60))?;
    /// workers.try_acquire(Request::cost(1))?;
    /// let enter = |id: &str, priority| {
    ///     let wait = Some(Wait { claim_timeout: Micros(600_000_000), ..Wait::up_to(Micros(3_600_000_000)) });
    ///     workers.acquire_with_id(Request::cost(1).priority(priority), id, wait)
    /// };
    /// let position = |id, priority| enter(id, priority).map(|decision| decision.ticket.unwrap().position);
    /// assert_eq!((position("report", 0)?, position("mail", 1)?), (0, 0), "the mail is before the report");
    /// clock.advance(Duration::from_secs(121))?;
    /// assert_eq!(position("report", 0)?, 0, "it has the priority 2 now");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn with_aging(&self, aging: Duration) -> Result<Self> {
        self.check_single("aging", "belongs to each limiter; give it to those that decide together")?;
        let aging = Micros(u64::try_from(aging.as_micros()).unwrap_or(u64::MAX));
        let policy = (*self.inner.policy).clone().with_aging(Some(aging))?;
        Ok(self.with_policy(|_| policy))
    }

    fn with_policy(&self, change: impl FnOnce(Policy) -> Policy) -> Self {
        let variant = self.varied(|inner| {
            inner.policy = Arc::new(change((*inner.policy).clone()));
            inner.keys = inner.keys.as_ref().map(|_| Arc::default());
        });
        variant.located()
    }

    /// Returns whether this process refuses nobody; of several limiters, whether none of them does.
    pub(crate) fn is_shadow(&self) -> bool {
        match &*self.inner.together {
            [] => self.mode() == Mode::Shadow,
            each => each.iter().all(Self::is_shadow),
        }
    }

    /// Returns whether the limiter keeps statistics and is in the list of limiters.
    pub fn has_statistics(&self) -> bool {
        self.inner.has_statistics
    }

    /// Returns a limiter for the time of a store. It is only peeked, which keeps no state.
    #[cfg(feature = "documents")]
    pub(crate) fn clock_of(store: &Store) -> Result<Self> {
        Self::new(store, "paddlegate:clock", Policy::new([Limit::bucket(1, Duration::from_secs(1))?])?, None)
    }

    /// Returns a limiter of the same state without limits, whose commands reach the state.
    pub(super) fn named(&self) -> Self {
        let mut inner = self.varied(|inner| {
            inner.policy = Arc::new(Policy::without_limits());
            inner.keys = inner.keys.as_ref().map(|_| Arc::default());
        });
        inner.location = inner.state_location();
        inner.made()
    }

    /// Returns a changed copy that has no location yet.
    pub(super) fn varied(&self, change: impl FnOnce(&mut Inner)) -> Inner {
        let Inner { store, name, policy, ttl, on_unavailable, group, has_statistics, keys, key, together, .. } =
            &*self.inner;
        let mut inner = Inner {
            on_unavailable: *on_unavailable,
            group: group.clone(),
            has_statistics: *has_statistics,
            keys: keys.clone(),
            key: key.clone(),
            together: together.clone(),
            ..Inner::new(store, name.clone(), policy, *ttl)
        };
        change(&mut inner);
        inner
    }

    /// Returns an error for several limiters that decide together.
    pub(super) fn check_single(&self, argument: &'static str, message: &str) -> Result<()> {
        if self.inner.together.is_empty() { Ok(()) } else { Err(Error::invalid(argument, message)) }
    }
}

/// Checks the name of a group.
pub(crate) fn check_group(group: &str) -> Result<()> {
    if group.is_empty() || group.len() > MAX_NAME {
        return Err(Error::invalid("group", format!("must have 1 to {MAX_NAME} bytes: bytes={}", group.len())));
    }
    Ok(())
}
