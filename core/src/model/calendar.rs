//! `Calendar`: periods of days, weeks, months, quarters or years in a time zone, for quotas.

mod anchor;
mod cache;
mod zone;

use std::fmt;

use self::anchor::Anchor;
use self::cache::Cache;
use self::zone::Zone;
use crate::base::error::{Error, Result};
use crate::base::micros::Micros;
use crate::limits::quota::Periods;

/// The number of instants that are handed to the script: the start of the period before, that of the period of the
/// caller's clock, and the ends of it and of the next three. The store's clock picks the period; it may be one period away
/// from the caller's.
pub(crate) const INSTANTS: usize = 6;

/// The length of the periods of a [`Calendar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CalendarPeriod {
    /// From midnight to midnight. A day has 23 or 25 hours where the clocks change.
    Day,
    /// Seven days, from Monday on.
    Week,
    /// From the first day of a month on.
    Month,
    /// Three months, from January, April, July and October on.
    Quarter,
    /// From January on.
    Year,
}

impl CalendarPeriod {
    /// All periods, from the shortest to the longest.
    pub const ALL: [Self; 5] = [Self::Day, Self::Week, Self::Month, Self::Quarter, Self::Year];

    /// Returns the name: `day`, `week`, `month`, `quarter` or `year`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Quarter => "quarter",
            Self::Year => "year",
        }
    }

    /// Returns the period with this name; `Invalid` with the argument `per` for another one.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|period| period.name() == name).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Error::invalid("per", format!("must be day, week, month, quarter or year: per={shown:?}"))
        })
    }

    /// Returns the most days that a period has.
    const fn most_days(self) -> u64 {
        match self {
            Self::Day => 1,
            Self::Week => 7,
            Self::Month => 31,
            Self::Quarter => 92,
            Self::Year => 366,
        }
    }
}

/// Periods of the calendar in a time zone, for [`Limit::quota`](crate::Limit::quota).
///
/// Where the clocks skip the start of a period, it starts later by as much as they are put forward: a start at 02:30 is at 03:30 on
/// the day on which they go from 02:00 to 03:00. Of a start that comes twice the first counts.
///
/// # Examples
///
/// ```
/// # use paddlegate::{Calendar, Micros};
/// let billing = Calendar::month().in_timezone("+01:00")?.starting("31")?;
/// let (start, end) = billing.period_at(Micros(1_740_000_000_000_000));
/// assert_eq!((start, end), (Micros(1_738_278_000_000_000), Micros(1_740_697_200_000_000)));
/// // 2025-01-31T00:00:00+01:00 to 2025-02-28T00:00:00+01:00: February has no 31st.
/// assert_eq!(Calendar::month().in_timezone("Mars/Phobos").unwrap_err().argument(), Some("timezone"));
/// # Ok::<(), paddlegate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Calendar {
    per: CalendarPeriod,
    zone: Zone,
    anchor: Anchor,
    cache: Cache,
}

impl Calendar {
    /// Creates a calendar of days, from midnight UTC on.
    pub fn day() -> Self {
        Self::new(CalendarPeriod::Day)
    }

    /// Creates a calendar of weeks, from Monday UTC on.
    pub fn week() -> Self {
        Self::new(CalendarPeriod::Week)
    }

    /// Creates a calendar of months, from the first day in UTC on.
    pub fn month() -> Self {
        Self::new(CalendarPeriod::Month)
    }

    /// Creates a calendar of quarters, from January, April, July and October in UTC on.
    pub fn quarter() -> Self {
        Self::new(CalendarPeriod::Quarter)
    }

    /// Creates a calendar of years, from January in UTC on.
    pub fn year() -> Self {
        Self::new(CalendarPeriod::Year)
    }

    /// Creates a calendar of periods in UTC.
    pub fn new(per: CalendarPeriod) -> Self {
        Self { per, zone: Zone::utc(), anchor: Anchor::FIRST, cache: Cache::default() }
    }

    /// Creates a calendar from the name of its periods, as bindings and documents give it. Without a time zone it is in
    /// UTC.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Calendar;
    /// assert_eq!(Calendar::parse("month", None, Some("15"))?, Calendar::month().starting("15")?);
    /// assert_eq!(Calendar::parse("hour", None, None).unwrap_err().argument(), Some("per"));
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn parse(per: &str, timezone: Option<&str>, starts: Option<&str>) -> Result<Self> {
        let calendar = Self::new(CalendarPeriod::from_name(per)?);
        let calendar = timezone.map_or(Ok(calendar.clone()), |timezone| calendar.in_timezone(timezone))?;
        starts.map_or(Ok(calendar.clone()), |starts| calendar.starting(starts))
    }

    /// Returns the calendar in another time zone: `UTC`, an offset such as `+05:30`, or a name of the time zone database such
    /// as `Europe/Berlin`.
    ///
    /// The system's database counts; where it has none, this library's. `Invalid` with the argument
    /// `timezone` for an unknown zone. Without the feature `zones`, as in the small module for browsers, there are only UTC
    /// and offsets.
    pub fn in_timezone(self, timezone: &str) -> Result<Self> {
        Ok(Self { zone: Zone::parse(timezone)?, cache: Cache::default(), ..self })
    }

    /// Returns the calendar with another start of its periods, in local time.
    ///
    /// | periods | short form | means |
    /// |---|---|---|
    /// | day | `06:00` | the time of day |
    /// | week | `sunday` | the day |
    /// | month | `15`, from 1 to 31 | the day; in a shorter month its last day |
    /// | quarter, year | `04-06` | month and day |
    ///
    /// A date such as `2025-01-31` or a date with a time such as `2025-01-31T09:30` at which one of the periods starts fits
    /// all of them; the periods before it start alike. `Invalid` with the argument `starts` for another text and for a date
    /// that does not exist.
    ///
    /// # Examples
    ///
    /// ```
    /// # use paddlegate::Calendar;
    /// assert_eq!(Calendar::year().starting("2024-04-06")?, Calendar::year().starting("04-06")?);
    /// for starts in ["0", "32", "monday", "2025-02-30"] {
    ///     assert_eq!(Calendar::month().starting(starts).unwrap_err().argument(), Some("starts"));
    /// }
    /// # Ok::<(), paddlegate::Error>(())
    /// ```
    pub fn starting(self, starts: &str) -> Result<Self> {
        Ok(Self { anchor: Anchor::parse(self.per, starts)?, cache: Cache::default(), ..self })
    }

    /// Returns the length of the periods.
    pub const fn per(&self) -> CalendarPeriod {
        self.per
    }

    /// Returns the name of the time zone; `UTC` by default.
    pub fn timezone(&self) -> &str {
        self.zone.name()
    }

    /// Returns the start of the periods, as [`starting`](Self::starting) reads it.
    pub fn starts(&self) -> String {
        self.anchor.text(self.per)
    }

    /// Returns start and end of the period that contains a time since 1970.
    pub fn period_at(&self, time: Micros) -> (Micros, Micros) {
        let Periods { start, ends } = self.periods(time.0);
        (Micros(start), Micros(ends[0]))
    }

    /// Returns the length of the longest period.
    pub(crate) fn longest(&self) -> Micros {
        Micros(self.per.most_days() * 86_400 * 1_000_000)
    }

    /// Returns the period that contains a time, and the ends of the next two.
    pub(crate) fn periods(&self, now: u64) -> Periods {
        let [_, start, ends @ .., _] = self.instants(now);
        Periods { start, ends }
    }

    /// Returns the instants for the script, by a clock that shows `now`. They are computed once in each period.
    pub(crate) fn instants(&self, now: u64) -> [u64; INSTANTS] {
        self.cache.get(now, || self.computed(now))
    }

    fn computed(&self, now: u64) -> [u64; INSTANTS] {
        let now = now.cast_signed();
        let mut at = self.anchor.index(self.per, self.zone.local_seconds(now.div_euclid(1_000_000)));
        while self.boundary(at) > now {
            at -= 1;
        }
        while self.boundary(at + 1) <= now {
            at += 1;
        }
        let start = self.boundary(at);
        // A zone that has moved over the date line has days without any time.
        let mut instants = [start; INSTANTS];
        let mut before = at;
        while instants[0] >= start {
            before -= 1;
            instants[0] = self.boundary(before);
        }
        for i in 2..INSTANTS {
            while instants[i] <= instants[i - 1] {
                at += 1;
                instants[i] = self.boundary(at);
            }
        }
        instants.map(|instant| u64::try_from(instant).unwrap_or(0))
    }

    /// Returns the start of a period, counted from about 1970 on, in microseconds.
    fn boundary(&self, index: i64) -> i64 {
        self.zone.seconds(self.anchor.local_seconds(self.per, index)) * 1_000_000
    }
}

impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        self.per == other.per && self.anchor == other.anchor && self.timezone() == other.timezone()
    }
}

impl Eq for Calendar {}

impl fmt::Display for Calendar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.per.name(), self.timezone(), self.starts())
    }
}
