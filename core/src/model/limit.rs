//! `Limit`: one rule of a policy, checked on creation so that no later product exceeds 2^53.

use std::sync::Arc;
use std::time::Duration;

pub use crate::base::charge::MAX_UNITS;
use crate::base::error::{Error, Result};
use crate::base::micros::{MAX_SPAN, Micros};
use crate::limits::bucket::Bucket;
use crate::limits::concurrency::Concurrency;
use crate::limits::leaky::Leaky;
use crate::limits::quota::{Periods, Quota};
use crate::limits::window::Window;
use crate::model::calendar::Calendar;
pub(crate) use crate::model::kind::Kind;
use crate::model::label::Label;
use crate::model::refund::Refund;

/// The maximum limit of a window, which stores a time for each unit.
pub const MAX_WINDOW: u64 = 100_000;

/// The maximum limit of a concurrency limit, which stores an id for each lease.
pub const MAX_CONCURRENCY: u64 = 100_000;

/// The default duration of a lease: 30 s.
pub const LOCK_TIMEOUT: Micros = Micros(30_000_000);

/// One rule of a policy: an amount of units and an interval.
///
/// # Examples
///
/// ```
/// # use std::time::Duration;
/// # use paddlegate::{Kind, Limit, Micros};
/// let limit = Limit::bucket(100, Duration::from_secs(60))?;
/// assert_eq!((limit.kind(), limit.amount(), limit.interval()), (Kind::Bucket, 100, Micros(60_000_000)));
/// assert_eq!(Limit::bucket(0, Duration::from_secs(60)).unwrap_err().argument(), Some("limit"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    kind: Kind,
    label: Label,
    amount: u64,
    interval: Micros,
    pub(crate) rule: Rule,
    /// Of a quota; `None` when only its number is known, as of an override.
    calendar: Option<Arc<Calendar>>,
    refund: Refund,
}

/// The arithmetic of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Bucket(Bucket),
    Window(Window),
    Leaky(Leaky),
    Concurrency(Concurrency),
    Quota(Quota),
    Unlimited,
    Paused,
}

impl Limit {
    /// Creates a limit of `limit` units in each aligned interval.
    ///
    /// Intervals start at multiples of `interval` since the Unix epoch (UTC). Up to twice the limit can pass within one
    /// interval that crosses a boundary.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let clock = TestClock::new(Micros(59_000_000))?;
    /// let policy = Policy::new([Limit::bucket(100, Duration::from_secs(60))?])?;
    /// let api = Paddlegate::memory_with_clock(&clock).limiter("api", policy)?;
    /// assert!(api.try_acquire(Request::cost(100))?.allowed());
    /// clock.advance(Duration::from_secs(1))?;
    /// assert!(api.try_acquire(Request::cost(100))?.allowed(), "200 units in one second, in two intervals");
    /// clock.advance(Duration::from_secs(59))?;
    /// assert!(!api.try_acquire(Request::cost(100))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn bucket(limit: u64, interval: Duration) -> Result<Self> {
        Self::bucket_with_offset(limit, interval, Duration::ZERO)
    }

    /// Creates a bucket whose intervals start `offset` earlier, for days of another time zone.
    ///
    /// The offset must be below the interval. For UTC+2 it is two hours.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let (day, hour) = (Duration::from_secs(86_400), Duration::from_secs(3_600));
    /// let policy = Policy::new([Limit::bucket_with_offset(1, day, 2 * hour)?])?;
    /// let clock = TestClock::new(Micros(21 * 3_600_000_000))?;
    /// let daily = Paddlegate::memory_with_clock(&clock).limiter("daily", policy)?;
    /// assert!(daily.try_acquire(Request::cost(1))?.allowed());
    /// clock.advance(hour)?;
    /// assert!(daily.try_acquire(Request::cost(1))?.allowed(), "22:00 UTC is midnight at UTC+2");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn bucket_with_offset(limit: u64, interval: Duration, offset: Duration) -> Result<Self> {
        Self::of_kind(Kind::Bucket, limit, micros("interval", interval)?, micros("offset", offset)?)
    }

    fn checked_bucket(limit: u64, interval: Micros, offset: Micros) -> Result<Self> {
        units("limit", limit, MAX_UNITS)?;
        span("interval", interval)?;
        if offset >= interval {
            return Err(Error::invalid("offset", format!("must be below the interval: offset_us={}", offset.0)));
        }
        let rule = Bucket { limit, interval: interval.0, offset: offset.0, own: limit, largest: limit };
        Ok(Self {
            kind: Kind::Bucket,
            label: Label::of(Kind::Bucket),
            amount: limit,
            interval,
            rule: Rule::Bucket(rule),
            calendar: None,
            refund: Refund::Full,
        })
    }

    /// Creates a limit of `limit` units in any half-open interval, exactly.
    ///
    /// It stores the time of each unit, so `limit` is at most 100,000.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let clock = TestClock::new(Micros(59_000_000))?;
    /// let policy = Policy::new([Limit::window(100, Duration::from_secs(60))?])?;
    /// let api = Paddlegate::memory_with_clock(&clock).limiter("api", policy)?;
    /// assert!(api.try_acquire(Request::cost(100))?.allowed());
    /// clock.advance(Duration::from_secs(1))?;
    /// assert_eq!(api.try_acquire(Request::cost(100))?.retry_after, Some(Micros(59_000_000)));
    /// clock.advance(Duration::from_secs(59))?;
    /// assert!(api.try_acquire(Request::cost(100))?.allowed());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn window(limit: u64, interval: Duration) -> Result<Self> {
        Self::of_kind(Kind::Window, limit, micros("interval", interval)?, Micros(0))
    }

    fn checked_window(limit: u64, interval: Micros) -> Result<Self> {
        if limit > MAX_WINDOW {
            return Err(Error::invalid(
                "limit",
                format!(
                    "a window stores the time of every unit; use bucket or leaky above {MAX_WINDOW}: limit={limit}"
                ),
            ));
        }
        units("limit", limit, MAX_WINDOW)?;
        span("interval", interval)?;
        let rule = Window { limit, interval: interval.0, own: limit, largest: limit };
        Ok(Self {
            kind: Kind::Window,
            label: Label::of(Kind::Window),
            amount: limit,
            interval,
            rule: Rule::Window(rule),
            calendar: None,
            refund: Refund::Full,
        })
    }

    /// Creates a meter that holds `capacity` units and drains fully in `drain`.
    ///
    /// It allows a burst of `capacity`, then a rate of `capacity / drain`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let clock = TestClock::new(Micros(0))?;
    /// let policy = Policy::new([Limit::leaky(60, Duration::from_secs(60))?])?;
    /// let api = Paddlegate::memory_with_clock(&clock).limiter("api", policy)?;
    /// assert!(api.try_acquire(Request::cost(60))?.allowed(), "the burst");
    /// clock.advance(Duration::from_secs(30))?;
    /// assert!(!api.try_acquire(Request::cost(31))?.allowed());
    /// assert!(api.try_acquire(Request::cost(30))?.allowed(), "one unit has drained each second");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn leaky(capacity: u64, drain: Duration) -> Result<Self> {
        Self::of_kind(Kind::Leaky, capacity, micros("drain", drain)?, Micros(0))
    }

    /// Creates a budget of `capacity` points that is full again after `refill`. Calls give an estimate and may correct
    /// it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate, Policy, Request};
    /// let policy = Policy::new([Limit::points(1_000, Duration::from_secs(20))?])?;
    /// let shop = Paddlegate::memory().limiter("shopify-42", policy)?;
    /// assert_eq!(shop.try_acquire(Request::default()).unwrap_err().argument(), Some("estimate"));
    /// assert!(shop.try_acquire(Request::estimate(200))?.permit.is_some());
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn points(capacity: u64, refill: Duration) -> Result<Self> {
        Self::of_kind(Kind::Points, capacity, micros("refill", refill)?, Micros(0))
    }

    /// Creates a limit that keeps starts at least `interval` apart. A call of any cost is one start.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let policy = Policy::new([Limit::throttle(Duration::from_millis(100))?])?;
    /// let clock = TestClock::new(Micros(0))?;
    /// let mail = Paddlegate::memory_with_clock(&clock).limiter("mail", policy)?;
    /// assert!(mail.try_acquire(Request::cost(7))?.allowed());
    /// clock.advance(Duration::from_millis(40))?;
    /// assert_eq!(mail.try_acquire(Request::cost(1))?.retry_after, Some(Micros(60_000)));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn throttle(interval: Duration) -> Result<Self> {
        Self::throttle_rate(1, interval)
    }

    /// Creates a limit that keeps starts apart: `limit` of them per `interval`, evenly. A call of any cost is one start.
    ///
    /// At most one start per microsecond.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let policy = Policy::new([Limit::throttle_rate(3, Duration::from_secs(1))?])?;
    /// let clock = TestClock::new(Micros(0))?;
    /// let mail = Paddlegate::memory_with_clock(&clock).limiter("mail", policy)?;
    /// for start in [0, 333_334, 666_667, 1_000_000, 1_333_334] {
    ///     clock.set(Micros(start))?;
    ///     assert!(mail.try_acquire(Request::cost(1))?.allowed(), "three per second, for ever");
    /// }
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn throttle_rate(limit: u64, interval: Duration) -> Result<Self> {
        Self::of_kind(Kind::Throttle, limit, micros("interval", interval)?, Micros(0))
    }

    fn checked_throttle(limit: u64, interval: Micros) -> Result<Self> {
        units("limit", limit, MAX_UNITS)?;
        span("interval", interval)?;
        if limit > interval.0 {
            let message =
                format!("must be at most one start per microsecond: limit={limit} interval_us={}", interval.0);
            return Err(Error::invalid("limit", message));
        }
        let rule = Leaky::throttle(limit, interval.0);
        Ok(Self {
            kind: Kind::Throttle,
            label: Label::of(Kind::Throttle),
            amount: limit,
            interval,
            rule: Rule::Leaky(rule),
            calendar: None,
            refund: Refund::Full,
        })
    }

    /// Creates a limit of `limit` leases at once; 0 is a pause.
    ///
    /// A lease ends on release, or `lock_timeout` after its grant or its last renewal. A call of any cost takes one
    /// lease, a call of cost 0 none. `limit` is at most 100,000.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// let policy = Policy::new([Limit::concurrency(1, Duration::from_secs(30))?])?;
    /// let clock = TestClock::new(Micros(0))?;
    /// let workers = Paddlegate::memory_with_clock(&clock).limiter("workers", policy)?;
    /// assert_eq!(workers.try_acquire(Request::cost(1))?.lease, Some(Micros(30_000_000)));
    /// clock.advance(Duration::from_secs(29))?;
    /// assert!(!workers.try_acquire(Request::cost(1))?.allowed());
    /// clock.advance(Duration::from_secs(1))?;
    /// assert!(workers.try_acquire(Request::cost(1))?.allowed(), "the first lease was not renewed");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn concurrency(limit: u64, lock_timeout: Duration) -> Result<Self> {
        Self::of_kind(Kind::Concurrency, limit, micros("lock_timeout", lock_timeout)?, Micros(0))
    }

    fn checked_concurrency(limit: u64, lock_timeout: Micros) -> Result<Self> {
        if limit > MAX_CONCURRENCY {
            return Err(Error::invalid("limit", format!("must be from 0 to {MAX_CONCURRENCY}: limit={limit}")));
        }
        span("lock_timeout", lock_timeout)?;
        let rule = Concurrency { limit, timeout: lock_timeout.0 };
        Ok(Self {
            kind: Kind::Concurrency,
            label: Label::of(Kind::Concurrency),
            amount: limit,
            interval: lock_timeout,
            rule: Rule::Concurrency(rule),
            calendar: None,
            refund: Refund::Full,
        })
    }

    /// Creates a limit of `limit` units in each period of a calendar: a day, a week, a month, a quarter or a year of a time
    /// zone.
    ///
    /// All units return when a period ends, by the clock of the store. A debt of corrections and debits ends with its period,
    /// and a permit of an earlier period is not corrected. `limit` is from 1 to 10^12, in any unit: an amount of money is
    /// whole micro-units, 10^6 for a dollar.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Calendar, Limit, Micros, Paddlegate, Policy, Request, TestClock};
    /// const USD: u64 = 1_000_000;
    /// let monthly = Limit::quota(50 * USD, Calendar::month().starting("15")?)?.labelled("usd")?;
    /// let clock = TestClock::new(Micros(1_736_899_199_000_000))?; // 2025-01-14T23:59:59Z
    /// let spending = Paddlegate::memory_with_clock(&clock).limiter("tenant-7", Policy::new([monthly])?)?;
    /// assert!(spending.try_acquire(Request::cost(49_950_000))?.allowed());
    /// let refused = spending.try_acquire(Request::cost(60_000))?;
    /// assert_eq!((refused.remaining, refused.retry_after), (Some(50_000), Some(Micros(1_000_000))));
    /// clock.advance(Duration::from_secs(1))?;
    /// assert_eq!(spending.try_acquire(Request::cost(60_000))?.remaining, Some(49_940_000));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn quota(limit: u64, calendar: Calendar) -> Result<Self> {
        Self::quota_of(limit, Some(Arc::new(calendar)))
    }

    /// Creates the quota of an entry of the list of limiters.
    #[cfg(feature = "redis")]
    pub(crate) fn quota_listed(limit: u64, calendar: Option<Calendar>) -> Result<Self> {
        Self::quota_of(limit, calendar.map(Arc::new))
    }

    /// Creates a quota of which only the number may be known.
    fn quota_of(limit: u64, calendar: Option<Arc<Calendar>>) -> Result<Self> {
        units("limit", limit, MAX_UNITS)?;
        Ok(Self {
            kind: Kind::Quota,
            label: Label::of(Kind::Quota),
            amount: limit,
            interval: calendar.as_ref().map_or(Micros(0), |calendar| calendar.longest()),
            rule: Rule::Quota(Quota { limit, own: limit, largest: limit, end: 0 }),
            calendar,
            refund: Refund::Full,
        })
    }

    /// Creates a limit that grants every call without a call to the store.
    pub const fn unlimited() -> Self {
        Self {
            kind: Kind::Unlimited,
            label: Label::of(Kind::Unlimited),
            amount: 0,
            interval: Micros(0),
            rule: Rule::Unlimited,
            calendar: None,
            refund: Refund::Full,
        }
    }

    /// Creates a limit that refuses every call without a call to the store.
    pub const fn paused() -> Self {
        Self {
            kind: Kind::Paused,
            label: Label::of(Kind::Paused),
            amount: 0,
            interval: Micros(0),
            rule: Rule::Paused,
            calendar: None,
            refund: Refund::Full,
        }
    }

    /// Creates a limit of this kind; `unlimited` and `paused` ignore the numbers.
    ///
    /// Bindings call this constructor. `Invalid` for a quota, which also needs a [`Calendar`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Kind, Limit, Micros};
    /// let limit = Limit::of_kind(Kind::Leaky, 60, Micros(60_000_000), Micros(0))?;
    /// assert_eq!(limit, Limit::leaky(60, Duration::from_secs(60))?);
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn of_kind(kind: Kind, amount: u64, interval: Micros, offset: Micros) -> Result<Self> {
        match kind {
            Kind::Bucket => Self::checked_bucket(amount, interval, offset),
            Kind::Window => Self::checked_window(amount, interval),
            Kind::Leaky => Self::meter(kind, amount, "drain", interval),
            Kind::Points => Self::meter(kind, amount, "refill", interval),
            Kind::Throttle => Self::checked_throttle(amount, interval),
            Kind::Unlimited => Ok(Self::unlimited()),
            Kind::Paused => Ok(Self::paused()),
            Kind::Concurrency => Self::checked_concurrency(amount, interval),
            Kind::Quota => Err(Error::invalid("kind", "a quota has periods of the calendar, no interval: kind=quota")),
        }
    }

    /// Creates the limit that is stored with these numbers. Of a quota only the amount is.
    pub(crate) fn of_numbers(kind: Kind, amount: u64, interval: Micros, offset: Micros) -> Result<Self> {
        match kind {
            Kind::Quota => Self::quota_of(amount, None),
            _ => Self::of_kind(kind, amount, interval, offset),
        }
    }

    /// Returns the limit with this label, by which costs, overrides and decisions name it.
    ///
    /// A label has 1 to 32 bytes: a lower-case letter, then lower-case letters, digits, `_` and `-`. Without one the label
    /// is the name of the kind; a second limit of a kind in one policy needs its own.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::{Limit, Paddlegate, Policy, Request};
    /// let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    /// let policy = Policy::new([Limit::window(5, second)?.labelled("burst")?, Limit::window(100, minute)?])?;
    /// let api = Paddlegate::memory().limiter("api", policy)?;
    /// assert_eq!(api.try_acquire(Request::cost(1))?.label.as_deref(), Some("burst"));
    /// assert_eq!(Limit::unlimited().labelled("Per Minute").unwrap_err().argument(), Some("label"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn labelled(mut self, label: &str) -> Result<Self> {
        self.label = Label::new(label)?;
        Ok(self)
    }

    /// Returns the limit with another refund of corrections; [`Refund::Full`] is the default.
    ///
    /// `Invalid` with the argument `refund` for other kinds than `leaky` and `points`. The option is of the caller: it rules
    /// the corrections that this limiter makes.
    pub fn with_refund(self, refund: Refund) -> Result<Self> {
        if refund != Refund::Full && !matches!(self.kind, Kind::Leaky | Kind::Points) {
            let message = format!("belongs to leaky and points, whose units drain: kind={}", self.kind.name());
            return Err(Error::invalid("refund", message));
        }
        Ok(Self { refund, ..self })
    }

    /// Returns what a correction gives back.
    pub const fn refund(&self) -> Refund {
        self.refund
    }

    /// Returns the label.
    pub fn label(&self) -> &Label {
        &self.label
    }

    /// Returns whether the other limit counts the same units: label and kind are equal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.label == other.label
    }

    /// Returns a limit of the same kind and label with other numbers.
    pub(crate) fn with_numbers(&self, amount: u64, interval: Micros, offset: Micros) -> Result<Self> {
        let limit = match self.kind {
            Kind::Quota => Self::quota_of(amount, self.calendar.clone())?,
            kind => Self::of_kind(kind, amount, interval, offset)?,
        };
        Ok(Self { label: self.label.clone(), refund: self.refund, ..limit })
    }

    /// Returns the limit as it is in force instead of a policy's.
    pub(crate) fn in_place_of(mut self, policy: &Self, learned: Option<&Self>) -> Self {
        match &mut self.rule {
            Rule::Bucket(Bucket { own, largest, .. })
            | Rule::Quota(Quota { own, largest, .. })
            | Rule::Leaky(Leaky { own, largest, .. })
            | Rule::Window(Window { own, largest, .. }) => {
                *own = policy.capacity();
                *largest = (*largest).max(*own).max(learned.map_or(0, Self::capacity));
            }
            Rule::Concurrency(_) | Rule::Unlimited | Rule::Paused => {}
        }
        self
    }

    /// Returns the most units that can be taken: up to one whole limit of debt, also under a limit in force instead of the
    /// policy.
    #[inline]
    pub(crate) fn most(&self) -> u64 {
        match self.rule {
            Rule::Bucket(Bucket { largest, .. })
            | Rule::Quota(Quota { largest, .. })
            | Rule::Window(Window { largest, .. }) => 2 * largest,
            Rule::Leaky(leaky) => leaky.most(),
            Rule::Concurrency(_) | Rule::Unlimited | Rule::Paused => 2 * self.amount,
        }
    }

    /// Returns the limit as the store has it: a quota without its calendar.
    pub(crate) fn stored(&self) -> Self {
        match self.kind {
            Kind::Quota => Self { interval: Micros(0), calendar: None, ..self.clone() },
            _ => self.clone(),
        }
    }

    /// Returns the calendar of a quota; `None` for other kinds, and for an override, which changes the number alone.
    pub fn calendar(&self) -> Option<&Calendar> {
        self.calendar.as_deref()
    }

    #[cfg(feature = "redis")]
    pub(crate) fn shared_calendar(&self) -> Option<&Arc<Calendar>> {
        self.calendar.as_ref()
    }

    /// Returns the period of a quota that contains `now`. Without a calendar it never ends.
    pub(crate) fn periods(&self, now: u64) -> Periods {
        self.calendar.as_ref().map_or(Periods { start: 0, ends: [u64::MAX; 3] }, |calendar| calendar.periods(now))
    }

    /// Returns the rule for a record that is stored at `now`.
    #[inline]
    pub(crate) fn rule_at(&self, now: u64) -> Rule {
        match self.rule {
            Rule::Quota(quota) => Rule::Quota(Quota { end: self.periods(now).ends[0], ..quota }),
            rule => rule,
        }
    }

    /// Returns the kind.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the limit or the capacity in units; for a throttle the starts per interval, for unlimited and paused 0.
    pub const fn amount(&self) -> u64 {
        self.amount
    }

    /// Returns the units that can be taken at once: the amount, but one start of a throttle.
    pub(crate) const fn capacity(&self) -> u64 {
        match self.kind {
            Kind::Throttle => 1,
            _ => self.amount,
        }
    }

    /// Returns the interval, the time to drain or refill fully, the duration of a lease, or the longest period of a quota's
    /// calendar, such as 31 days. Where a meter
    /// [is not exact](Self::is_exact) it can be a little longer than was asked.
    pub const fn interval(&self) -> Micros {
        self.interval
    }

    /// Returns how much earlier the intervals of a bucket start; zero for other kinds.
    pub const fn offset(&self) -> Micros {
        match self.rule {
            Rule::Bucket(bucket) => Micros(bucket.offset),
            _ => Micros(0),
        }
    }

    /// Returns whether the rate of a meter is exactly its [`amount`](Self::amount) per [`interval`](Self::interval).
    ///
    /// A meter stores fractions of units. Where the exact fraction does not fit, `leaky` and `points` take the next lower
    /// one that does: never more than asked, and less than one part in `2^49 / capacity` less (2 in 10^9 for a capacity of
    /// 10^6, 2 in 10^6 for 10^9). All other limits are exact.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use paddlegate::Limit;
    /// let day = Duration::from_secs(86_400);
    /// assert!(Limit::points(100_000, day)?.is_exact());
    /// assert!(!Limit::points(100_003, day)?.is_exact(), "86,400 million is no multiple of 100,003");
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn is_exact(&self) -> bool {
        match self.rule {
            Rule::Leaky(Leaky { capacity, leak, scale, .. }) if self.kind != Kind::Throttle => {
                u128::from(leak) * u128::from(self.interval.0) == u128::from(capacity) * u128::from(scale)
            }
            _ => true,
        }
    }

    /// Returns whether a decision needs only the numbers of the limit: no permit, no lease, no estimate.
    pub(crate) const fn is_plain(&self) -> bool {
        // Every field is named, so that a new one cannot be forgotten here.
        let Self { kind, label: _, amount: _, interval: _, rule: _, calendar: _, refund: _ } = self;
        matches!(kind, Kind::Bucket | Kind::Window | Kind::Leaky | Kind::Throttle)
    }

    /// Returns whether a call of any cost counts as one: a start of a throttle, or a lease.
    pub(crate) fn counts_starts(&self) -> bool {
        matches!(self.kind, Kind::Throttle | Kind::Concurrency)
    }

    fn meter(kind: Kind, capacity: u64, interval_name: &'static str, interval: Micros) -> Result<Self> {
        units("capacity", capacity, MAX_UNITS)?;
        // The longest interval may have been made longer, see below.
        if interval.0 > Leaky::new(capacity, MAX_SPAN.0).drain() {
            span(interval_name, interval)?;
        }
        span(interval_name, interval.min(MAX_SPAN))?;
        // The interval that a lower rate takes also gives that rate, so that a limit can be made again from its numbers.
        let lower = Leaky::new(capacity, interval.0).drain();
        let rule = Leaky::new(capacity, lower);
        Ok(Self {
            kind,
            label: Label::of(kind),
            amount: capacity,
            interval: Micros(rule.drain()),
            rule: Rule::Leaky(rule),
            calendar: None,
            refund: Refund::Full,
        })
    }
}

fn units(argument: &'static str, value: u64, most: u64) -> Result<()> {
    if value == 0 || value > most {
        return Err(Error::invalid(argument, format!("must be from 1 to {most}: {argument}={value}")));
    }
    Ok(())
}

fn span(argument: &'static str, value: Micros) -> Result<()> {
    if value.0 == 0 || value > MAX_SPAN {
        return Err(Error::invalid(
            argument,
            format!("must be from one microsecond to ten years: {argument}_us={}", value.0),
        ));
    }
    Ok(())
}

fn micros(argument: &'static str, duration: Duration) -> Result<Micros> {
    Micros::from_duration(argument, duration)
}
