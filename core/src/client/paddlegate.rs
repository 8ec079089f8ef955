//! `Paddlegate`: creates limiters on one store.

use std::sync::Arc;
use std::time::Duration;

use crate::base::error::{Error, Result};
#[cfg(feature = "redis")]
use crate::base::micros::MAX_SPAN;
use crate::base::micros::Micros;
use crate::base::test_clock::TestClock;
use crate::client::limiter::Limiter;
use crate::client::prepared::Prepared;
use crate::client::store::{Backend, Store};
use crate::model::calendar::Calendar;
use crate::model::limit::Limit;
#[cfg(feature = "redis")]
use crate::model::limiter_info::LIMITERS_PER_PAGE;
use crate::model::limiter_info::{LimiterInfo, LimiterPage, ListPage};
use crate::model::operation::Answer;
use crate::model::policy::Policy;
use crate::model::statistics::DEFAULT_STATISTICS_TTL;
use crate::store::memory::{Listed, StateName};
#[cfg(feature = "redis")]
use crate::store::redis::Redis;
#[cfg(feature = "redis")]
use crate::store::signal_handling::SignalHandling;

/// The environment variable that permits a test clock for a store in Redis.
#[cfg(feature = "redis")]
const TEST_CLOCK: &str = "PADDLEGATE_TEST_CLOCK";

/// Creates limiters that share one store. Cheap to clone; opening one starts no thread and no connection.
#[derive(Clone)]
pub struct Paddlegate {
    store: Store,
}

impl Paddlegate {
    /// Opens a store in memory, for limits of this process only.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?;
    /// assert!(api.try_acquire(Request::cost(1))?.allowed());
    /// assert!(!api.try_acquire(Request::cost(1))?.allowed());
    /// let elsewhere = Paddlegate::memory().window("api", 1, Duration::from_secs(60))?;
    /// assert!(elsewhere.try_acquire(Request::cost(1))?.allowed(), "another store");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn memory() -> Self {
        Self { store: Store::memory(Arc::default(), None) }
    }

    /// Opens a store in memory that decides by the clock of a test. See [`TestClock`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, TestClock};
    /// let clock = TestClock::new(Micros(5_000_000))?;
    /// let mail = Paddlegate::memory_with_clock(&clock).throttle("mail", Duration::from_secs(1))?;
    /// assert!(mail.try_acquire(Request::cost(1))?.allowed());
    /// assert_eq!(mail.try_acquire(Request::cost(1))?.retry_after, Some(Micros(1_000_000)));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn memory_with_clock(clock: &TestClock) -> Self {
        Self { store: Store::memory(Arc::default(), Some(clock.clone())) }
    }

    /// Opens a store in Redis, whose limits all processes share. Connects at the first call.
    ///
    /// `url` is `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, `unix:///path[?db=n]`, or `memory://`.
    /// More nodes of a cluster may follow the first after commas (`redis://a:7000,b:7000`); with
    /// `redis+sentinel://host,host/master` they are sentinels. The options of TLS are those of
    /// [`Certificates`](crate::store::redis::Certificates), and `sentinel_username` and `sentinel_password` are the login of
    /// sentinels. Every call returns or fails
    /// within `timeout` (default one second).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Paddlegate;
    /// let pg = Paddlegate::open("redis://localhost:6379/0", Some(Duration::from_millis(200)))?;
    /// assert!(pg.redis().is_some(), "it has not connected yet");
    /// assert!(Paddlegate::open("memory://", None)?.redis().is_none());
    /// assert_eq!(Paddlegate::open("localhost:6379", None).err().and_then(|error| error.argument()), Some("url"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[cfg(feature = "redis")]
    pub fn open(url: &str, timeout: Option<Duration>) -> Result<Self> {
        Self::open_with_clock(url, timeout, None)
    }

    /// Opens a store as [`open`](Self::open) does; with a clock it decides by that clock. See [`TestClock`].
    ///
    /// In Redis the clock of one process could end the leases of all others. So a clock of a store in Redis is
    /// `Invalid`, argument `clock`, unless the environment has `PADDLEGATE_TEST_CLOCK=1`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, TestClock};
    /// let clock = TestClock::new(Micros(0))?;
    /// let api = Paddlegate::open_with_clock("memory://", None, Some(&clock))?.window("api", 1, Duration::from_secs(60))?;
    /// assert!(api.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[cfg(feature = "redis")]
    pub fn open_with_clock(url: &str, timeout: Option<Duration>, clock: Option<&TestClock>) -> Result<Self> {
        let timeout = timeout.map(|timeout| Micros::from_duration("timeout", timeout)).transpose()?;
        let timeout = crate::store::redis::check_timeout(timeout)?;
        let clock = clock.cloned();
        if url == "memory://" {
            return Ok(Self { store: Store::memory(Arc::default(), clock) });
        }
        if clock.is_some() && std::env::var_os(TEST_CLOCK).is_none_or(|value| value != "1") {
            let message = format!("is for stores in memory; for a server that only tests use, set {TEST_CLOCK}=1");
            return Err(Error::invalid("clock", message));
        }
        Ok(Self { store: Store::redis(Redis::open(url, timeout)?, clock) })
    }

    /// Opens the URL in the environment variable `PADDLEGATE_URL` as [`open`](Self::open) does; in memory when it is
    /// not set.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// // PADDLEGATE_URL=redis://localhost:6379
    /// let pg = Paddlegate::from_env(Some(Duration::from_millis(200)))?;
    /// let api = pg.window("api", 100, Duration::from_secs(60))?;
    /// assert!(api.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[cfg(feature = "redis")]
    pub fn from_env(timeout: Option<Duration>) -> Result<Self> {
        Self::from_env_with_clock(timeout, None)
    }

    /// Opens the URL in the environment as [`from_env`](Self::from_env) does, with the clock of
    /// [`open_with_clock`](Self::open_with_clock).
    #[cfg(feature = "redis")]
    pub fn from_env_with_clock(timeout: Option<Duration>, clock: Option<&TestClock>) -> Result<Self> {
        let url = std::env::var_os("PADDLEGATE_URL").filter(|url| !url.is_empty()).unwrap_or("memory://".into());
        let url = url.to_str().ok_or_else(|| Error::invalid("url", "is not utf-8"))?;
        Self::open_with_clock(url, timeout, clock)
    }

    /// Ends the waits of this process at the store, which give back their tickets, and closes all connections to it. A second call
    /// has no effect. A server that does not reply holds it up for the time-out of a call at most, and for half a second.
    ///
    /// First it sends what this process has counted to the [statistics](crate::Limiter::statistics); so does dropping the last
    /// limiter of the store. A program that ends otherwise calls [`send_counts`](crate::store::redis::send_counts).
    ///
    /// Afterwards every call of a limiter of this store that needs its state is `Invalid`, argument `store`. The state
    /// in Redis stays. A forked process closes only its own connections.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// let api = pg.window("api", 100, Duration::from_secs(60))?;
    /// pg.close();
    /// assert_eq!(api.try_acquire(Request::cost(1)).unwrap_err().argument(), Some("store"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn close(&self) {
        #[cfg(feature = "redis")]
        self.store.close();
    }

    /// Returns an error once [`close`](Self::close) has begun, for hosts that perform the I/O themselves.
    #[cfg(feature = "redis")]
    pub fn check_open(&self) -> Result<()> {
        match &self.store.backend {
            Backend::Memory(memory) => memory.check_open(),
            Backend::Redis(redis) => redis.check_open(),
        }
    }

    /// Returns the Redis store, for hosts that perform the I/O themselves; `None` in memory.
    #[cfg(feature = "redis")]
    pub fn redis(&self) -> Option<&Arc<Redis>> {
        match &self.store.backend {
            Backend::Memory(_) => None,
            Backend::Redis(redis) => Some(redis),
        }
    }

    /// Creates a limiter with any policy.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate, Policy, Request};
    /// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let policy = Policy::new([Limit::window(5, second)?, Limit::window(100, minute)?.labelled("rpm")?])?;
    /// let api = Paddlegate::memory().limiter("api", policy)?;
    /// assert_eq!(api.try_acquire(Request::cost(3))?.remaining, Some(2), "of the tighter limit");
    /// assert_eq!(api.try_acquire(Request::cost(3))?.label.as_deref(), Some("window"), "and nothing was charged");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiter(&self, name: &str, policy: Policy) -> Result<Limiter> {
        Limiter::new(&self.store, name, policy, None)
    }

    /// Creates a limiter whose statistics are kept for `ttl` after its last use: from one second, 90 days by default.
    ///
    /// Each name costs a server 350 to 410 bytes for that long: its statistics and its entry in the list of limiters.
    /// For names that strangers choose, such as addresses, give a short `ttl`: then nothing remains soon after all
    /// units are available again, except permits until five minutes after their grant, and unreleased leases until five
    /// minutes after their end. A call without the ttl, which is sent once a minute, starts statistics that last two
    /// minutes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy};
    /// let policy = Policy::new([Limit::bucket(20, Duration::from_secs(60))?])?;
    /// let address = Paddlegate::memory().limiter_with_ttl("ip-192.0.2.7", policy, Duration::from_secs(300))?;
    /// assert_eq!(address.ttl(), Micros(300_000_000));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiter_with_ttl(&self, name: &str, policy: Policy, ttl: Duration) -> Result<Limiter> {
        Limiter::new(&self.store, name, policy, Some(Micros::from_duration("ttl", ttl)?))
    }

    /// Creates a limiter of one to four limiters of this store that decide together: all are charged or none, in one call.
    ///
    /// Each keeps its own name, state, statistics and overrides; [`Decision::limiter`](crate::Decision::limiter) names the
    /// one that the numbers are of. It has the verbs of a limiter, but statistics, reports, overrides, pauses and resets,
    /// which are of one name. A cost is a number for all, or [by limiter](crate::Cost::ByLimiter).
    ///
    /// Each keeps its own queue. A call waits in the queue of the first limiter that refuses it; while another then holds it
    /// up, it keeps its position there and stops nobody behind it. So under load on several limiters a call may wait for
    /// long: nothing is kept free for it. A limiter that holds a live lease of the id of a repeated call is not charged
    /// again; the others are.
    ///
    /// While the store cannot decide, the strictest [`OnUnavailable`](crate::OnUnavailable) of the limiters applies, and
    /// `Local` refuses. A permit is for the same limiters in the same order.
    ///
    /// `Invalid` for more than four, two of one name, limiters of another store, or limiters that are several themselves, argument
    /// `limiters`; for different groups, argument `group`. In a cluster they need one
    /// [group](crate::Limiter::with_group); without it every call is `Invalid`, argument `group`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let (pg, minute) = (Paddlegate::memory(), Duration::from_secs(60));
    /// let org = pg.window("org-acme", 1_000, minute)?;
    /// let user = pg.window("user-7", 2, minute)?;
    /// let both = pg.together(&[&org, &user])?;
    /// assert!(both.try_acquire(Request::cost(2))?.allowed());
    /// let refused = both.try_acquire(Request::cost(1))?;
    /// assert_eq!((refused.allowed(), refused.limiter.as_deref()), (false, Some("user-7")));
    /// assert_eq!(org.peek(Request::cost(1))?.remaining, Some(998), "the refused call has not charged it");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn together(&self, limiters: &[&Limiter]) -> Result<Limiter> {
        Limiter::of_several(&self.store, limiters)
    }

    /// Creates a limiter of at most `limit` leases at once, each at most `lock_timeout` long. See
    /// [`Limit::concurrency`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// let workers = Paddlegate::memory().concurrent("workers", 1, Duration::from_secs(30))?;
    /// let permit = workers.try_acquire(Request::cost(1))?.permit.unwrap();
    /// assert!(!workers.try_acquire(Request::cost(1))?.allowed());
    /// assert_eq!(workers.release(&permit)?, Settlement::Released);
    /// assert!(workers.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn concurrent(&self, name: &str, limit: u64, lock_timeout: Duration) -> Result<Limiter> {
        self.single(name, Limit::concurrency(limit, lock_timeout)?)
    }

    /// Returns the limiters that any process, in any language, used within their `ttl`, sorted by name.
    ///
    /// In Redis a list that changes meanwhile contains the limiters that were present throughout. In memory it contains
    /// the limiters that are not yet forgotten. For many names read [pages](Self::limiter_page).
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::memory();
    /// pg.window("b", 5, Duration::from_secs(60))?.try_acquire(Request::cost(1))?;
    /// pg.window("a", 5, Duration::from_secs(60))?.try_acquire(Request::cost(1))?;
    /// let names: Vec<String> = pg.limiters()?.into_iter().map(|info| info.name).collect();
    /// assert_eq!(names, ["a", "b"]);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiters(&self) -> Result<Vec<LimiterInfo>> {
        self.limiters_with_prefix("")
    }

    /// Returns the [limiters](Self::limiters) whose names begin with `prefix`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::memory();
    /// pg.window("shop-1", 5, Duration::from_secs(60))?.try_acquire(Request::cost(1))?;
    /// pg.window("mail", 5, Duration::from_secs(60))?.try_acquire(Request::cost(1))?;
    /// assert_eq!(pg.limiters_with_prefix("shop-")?.len(), 1);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiters_with_prefix(&self, prefix: &str) -> Result<Vec<LimiterInfo>> {
        let mut listed = Vec::new();
        for part in 0..self.parts() {
            let mut cursor = 0;
            loop {
                let Answer::List(page) = self.answer(self.prepare_list(part, cursor, prefix))? else {
                    return Err(Error::internal("the reply is not a page of the list of limiters"));
                };
                listed.extend(page.listed);
                cursor = page.cursor;
                if cursor == 0 {
                    break;
                }
            }
        }
        Ok(LimiterInfo::sorted(listed))
    }

    /// Returns a page of the [limiters](Self::limiters) whose names begin with `prefix`: about 100 to 300, or the rest.
    ///
    /// The first page has no cursor; the next page has the cursor of the page before, and the last page has none. Only the names of
    /// one page are sorted, and a name may be on two pages. In memory there is one page.
    ///
    /// `Invalid`, argument `cursor`, for another text.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let pg = Paddlegate::memory();
    /// pg.window("shop-1", 5, Duration::from_secs(60))?.try_acquire(Request::cost(1))?;
    /// let page = pg.limiter_page("shop-", None)?;
    /// assert_eq!((page.limiters.len(), page.cursor), (1, None));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn limiter_page(&self, prefix: &str, cursor: Option<&str>) -> Result<LimiterPage> {
        let part = |prepared: Result<Prepared>| match self.answer(prepared?)? {
            Answer::Page(page) => Ok(page),
            _ => Err(Error::internal("the reply is not a page of the list of limiters")),
        };
        #[cfg(feature = "redis")]
        if let Backend::Redis(_) = &self.store.backend {
            let mut page = part(page_in_redis(prefix, cursor))?;
            while let Some(cursor) = page.cursor.as_deref().filter(|_| page.limiters.len() < LIMITERS_PER_PAGE) {
                let next = part(page_in_redis(prefix, Some(cursor)))?;
                page.limiters = LimiterInfo::sorted([page.limiters, next.limiters].concat());
                page.cursor = next.cursor;
            }
            return Ok(page);
        }
        part(self.prepare_limiter_page(prefix, cursor))
    }

    /// Returns a page as [`limiter_page`](Self::limiter_page) does, on tokio.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Paddlegate;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// assert_eq!(Paddlegate::memory().limiter_page_async("shop-", None).await?.cursor, None);
    /// # Ok::<(), paddlegate::Error>(())
    /// # }).unwrap();
    /// ```
    #[cfg(feature = "aio")]
    pub async fn limiter_page_async(&self, prefix: &str, cursor: Option<&str>) -> Result<LimiterPage> {
        let mut page = LimiterPage { limiters: Vec::new(), cursor: cursor.map(str::to_owned) };
        loop {
            let answer = match (self.prepare_limiter_page(prefix, page.cursor.as_deref())?, &self.store.backend) {
                (Prepared::Answered(answer), _) => answer,
                (Prepared::Call(call), Backend::Redis(redis)) => redis.run_async(call).await?,
                _ => return Err(Error::internal("unexpected call to a server: the store is in memory")),
            };
            let Answer::Page(next) = answer else {
                return Err(Error::internal("the reply is not a page of the list of limiters"));
            };
            page.limiters = LimiterInfo::sorted([page.limiters, next.limiters].concat());
            page.cursor = next.cursor;
            if page.cursor.is_none() || page.limiters.len() >= LIMITERS_PER_PAGE {
                return Ok(page);
            }
        }
    }

    /// Returns whether the limits are in the memory of this process.
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.store.backend, Backend::Memory(_))
    }

    #[cfg(all(feature = "redis-rs", feature = "aio"))]
    pub(super) const fn backend(&self) -> &Backend {
        &self.store.backend
    }

    /// Starts to read a page, or a part of one. See [`Limiter::prepare`] and [`limiter_page`](Self::limiter_page).
    ///
    /// In Redis the call leads to up to 15 further ones, which a host sends within one timeout. When a page with a cursor has
    /// fewer than [`LIMITERS_PER_PAGE`] limiters, the host reads on from the cursor, with a timeout of its own, and joins the
    /// limiters with [`LimiterInfo::sorted`].
    pub fn prepare_limiter_page(&self, prefix: &str, cursor: Option<&str>) -> Result<Prepared> {
        match &self.store.backend {
            Backend::Memory(_) => {
                let listed = match (cursor, self.prepare_list(0, 0, prefix)) {
                    (None, Prepared::Answered(Answer::List(page))) => page.listed,
                    _ => return Err(Error::invalid("cursor", "a list in memory has one page; leave it out")),
                };
                let limiters = LimiterInfo::sorted(listed);
                Ok(Prepared::Answered(Answer::Page(LimiterPage { limiters, cursor: None })))
            }
            #[cfg(feature = "redis")]
            Backend::Redis(_) => page_in_redis(prefix, cursor),
        }
    }

    /// Runs a call of the store.
    #[cfg_attr(not(feature = "redis"), allow(clippy::unnecessary_wraps))]
    fn answer(&self, prepared: Prepared) -> Result<Answer> {
        #[cfg(feature = "redis")]
        self.check_open()?;
        match (prepared, &self.store.backend) {
            (Prepared::Answered(answer), _) => Ok(answer),
            #[cfg(feature = "redis")]
            (Prepared::Call(call), Backend::Redis(redis)) => {
                redis.run(call, SignalHandling::Ignore, MAX_SPAN.duration())
            }
            #[cfg(feature = "redis")]
            _ => Err(Error::internal("unexpected call to a server: the store is in memory")),
        }
    }

    /// Returns the number of parts of the list of limiters.
    ///
    /// A host that sends the calls itself reads about 16 parts at a time, so that the calls of others do not wait for
    /// long.
    pub fn parts(&self) -> u16 {
        match &self.store.backend {
            Backend::Memory(_) => 1,
            #[cfg(feature = "redis")]
            Backend::Redis(_) => crate::store::redis::TAGS,
        }
    }

    /// Starts to read a page of a part of the list of limiters. See [`Limiter::prepare`].
    ///
    /// The names begin with `prefix`. The first page has the cursor 0; each page has the cursor of the next page, and the last page 0. Pages may
    /// overlap: [`LimiterInfo::sorted`] merges them.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Answer, Paddlegate, Prepared};
    /// let pg = Paddlegate::open("redis://localhost:6379", None)?;
    /// for part in 0..pg.parts() {
    ///     let Prepared::Call(call) = pg.prepare_list(part, 0, "") else { unreachable!("only memory answers by itself") };
    ///     assert!(call.bytes().starts_with(b"*"), "a command for the server");
    /// }
    /// assert!(matches!(Paddlegate::memory().prepare_list(0, 0, ""), Prepared::Answered(Answer::List(_))));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    pub fn prepare_list(&self, part: u16, cursor: u64, prefix: &str) -> Prepared {
        match &self.store.backend {
            Backend::Memory(memory) => {
                let named = memory.list().into_iter().filter(|(name, ..)| name.name.starts_with(prefix));
                let listed = named.map(|(StateName { name, group, .. }, Listed { limits, mode }, keyed)| {
                    let (name, group) = (name.to_string(), group.map(|group| group.to_string()));
                    LimiterInfo { name, group, keyed, mode, limits, last_used: Micros(0), ttl: DEFAULT_STATISTICS_TTL }
                });
                let listed = listed.collect();
                Prepared::Answered(Answer::List(ListPage { listed, cursor: 0 }))
            }
            #[cfg(feature = "redis")]
            Backend::Redis(_) => Prepared::Call(crate::store::redis::Call::list(part, cursor, prefix)),
        }
    }

    /// Creates a limiter of `limit` units in each aligned interval. See [`Limit::bucket`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().bucket("api", 100, Duration::from_secs(60))?;
    /// assert_eq!(api.try_acquire(Request::cost(30))?.remaining, Some(70));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn bucket(&self, name: &str, limit: u64, interval: Duration) -> Result<Limiter> {
        self.single(name, Limit::bucket(limit, interval)?)
    }

    /// Creates a limiter of `limit` units in any interval. See [`Limit::window`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request};
    /// let api = Paddlegate::memory().window("api", 100, Duration::from_secs(60))?;
    /// assert_eq!(api.try_acquire(Request::cost(30))?.remaining, Some(70));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn window(&self, name: &str, limit: u64, interval: Duration) -> Result<Limiter> {
        self.single(name, Limit::window(limit, interval)?)
    }

    /// Creates a limiter with a burst of `capacity`, which drains fully in `drain`. See [`Limit::leaky`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request};
    /// let api = Paddlegate::memory().leaky("api", 60, Duration::from_secs(60))?;
    /// assert_eq!(api.try_acquire(Request::cost(60))?.remaining, Some(0), "the whole burst");
    /// let refused = api.try_acquire(Request::cost(1))?;
    /// assert!(refused.retry_after.unwrap() <= Micros(1_000_000), "then one each second");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn leaky(&self, name: &str, capacity: u64, drain: Duration) -> Result<Limiter> {
        self.single(name, Limit::leaky(capacity, drain)?)
    }

    /// Creates a limiter with a budget of `capacity` points, full again after `refill`. See [`Limit::points`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Paddlegate, Request, Settlement};
    /// let shop = Paddlegate::memory().points("shopify-42", 1_000, Duration::from_secs(20))?;
    /// let decision = shop.try_acquire(Request::estimate(200))?;
    /// assert_eq!(decision.remaining, Some(800));
    /// assert_eq!(shop.correct(&decision.permit.unwrap(), 50)?, Settlement::Settled);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn points(&self, name: &str, capacity: u64, refill: Duration) -> Result<Limiter> {
        self.single(name, Limit::points(capacity, refill)?)
    }

    /// Creates a limiter that keeps starts at least `interval` apart. See [`Limit::throttle`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Micros, Paddlegate, Request, TestClock};
    /// let clock = TestClock::new(Micros(0))?;
    /// let mail = Paddlegate::memory_with_clock(&clock).throttle("mail", Duration::from_secs(1))?;
    /// assert!(mail.try_acquire(Request::cost(1))?.allowed());
    /// clock.set(Micros(999_999))?;
    /// assert!(!mail.try_acquire(Request::cost(1))?.allowed());
    /// clock.set(Micros(1_000_000))?;
    /// assert!(mail.try_acquire(Request::cost(1))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn throttle(&self, name: &str, interval: Duration) -> Result<Limiter> {
        self.single(name, Limit::throttle(interval)?)
    }

    /// Creates a limiter with a [`quota`](Limit::quota): at most `limit` units in each period of a calendar.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Calendar, Paddlegate, Request};
    /// let plan = Paddlegate::memory().quota("tenant-7", 1_000, Calendar::month().starting("15")?)?;
    /// assert_eq!(plan.try_acquire(Request::cost(300))?.remaining, Some(700));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn quota(&self, name: &str, limit: u64, calendar: Calendar) -> Result<Limiter> {
        self.single(name, Limit::quota(limit, calendar)?)
    }

    /// Creates a limiter that grants every call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Paddlegate, Request};
    /// let free = Paddlegate::memory().unlimited("free")?;
    /// assert!(free.try_acquire(Request::cost(1_000_000))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn unlimited(&self, name: &str) -> Result<Limiter> {
        self.single(name, Limit::unlimited())
    }

    /// Creates a limiter that refuses every call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::{Paddlegate, Request};
    /// let stopped = Paddlegate::memory().paused("stopped")?;
    /// let refused = stopped.try_acquire(Request::cost(1))?;
    /// assert_eq!((refused.allowed(), refused.retry_after), (false, None), "no end is known");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn paused(&self, name: &str) -> Result<Limiter> {
        self.single(name, Limit::paused())
    }

    #[cfg(feature = "documents")]
    pub(crate) fn limiter_with(&self, name: &str, policy: Policy, ttl: Option<Micros>) -> Result<Limiter> {
        Limiter::new(&self.store, name, policy, ttl)
    }

    /// Returns a limiter of the store for its time alone: a peek has it in [`Decision::at`](crate::Decision::at).
    #[cfg(feature = "documents")]
    pub(crate) fn clock(&self) -> Result<Limiter> {
        Limiter::clock_of(&self.store)
    }

    fn single(&self, name: &str, limit: Limit) -> Result<Limiter> {
        self.limiter(name, Policy::new([limit])?)
    }
}

/// Starts to read a page in Redis, which ends after a bounded number of calls.
#[cfg(feature = "redis")]
fn page_in_redis(prefix: &str, cursor: Option<&str>) -> Result<Prepared> {
    let page = crate::store::redis::PartialPage::new(prefix, cursor)?;
    Ok(Prepared::Call(crate::store::redis::Call::limiter_page(page)))
}
