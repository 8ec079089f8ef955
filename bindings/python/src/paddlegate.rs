//! `Paddlegate`: a store that creates limiters.

use paddlegate::{Answer, Calendar, CostRules, Error, Kind, Limit, LimiterInfo, LoadOptions, Micros, Prepared};
use pyo3::IntoPyObjectExt;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyNone, PyString, PyTuple};

use crate::answer;
use crate::argument::{OptionalArg, refused, span, text};
use crate::call::{Call, OnComplete};
use crate::decision::seconds;
use crate::error::Result;
use crate::limiter::Limiter;
use crate::made_limiters::{MAX_PARTS, MadeLimiters, limiter};
use crate::test_clock;

/// Creates limiters that share one store.
#[pyclass(frozen, subclass, module = "paddlegate._native")]
pub(crate) struct Paddlegate {
    pub(crate) made: MadeLimiters,
    pub(crate) inner: paddlegate::Paddlegate,
}

/// An argument that may be omitted, for which None is another value.
#[derive(Clone, Copy, Default)]
struct Given<'a, 'py>(Option<Borrowed<'a, 'py, PyAny>>);

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'a, 'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value)))
    }
}

impl<'py> Given<'_, 'py> {
    fn part(&self) -> OptionalArg<'_, 'py> {
        self.0.as_deref()
    }
}

/// A limiter of a document, from which a `Limiter` is created.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct LoadedLimiter(pub(crate) paddlegate::LoadedLimiter);

#[pymethods]
impl LoadedLimiter {
    /// The name in the document.
    #[getter]
    fn name(&self) -> &str {
        self.0.limiter.name()
    }
}

/// Several limiters that decide together, from which a `Limiter` is created.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct Together(pub(crate) paddlegate::Limiter);

#[pymethods]
impl Together {
    /// The names of the limiters.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }
}

/// Estimate the cost of a GraphQL query in points; `variables` is JSON text or empty.
#[pyfunction]
pub(crate) fn graphql_cost(
    query: &Bound<'_, PyAny>,
    variables: &Bound<'_, PyAny>,
    rules: &Bound<'_, PyAny>,
    operation: OptionalArg,
) -> Result<u64> {
    let rules = CostRules::from_name(text("rules", rules)?)?;
    let operation = operation.map(|operation| text("operation", operation)).transpose()?;
    Ok(paddlegate::graphql_cost(text("query", query)?, text("variables", variables)?, operation, rules)?)
}

/// An entry of the list of limiters.
#[pyclass(frozen, module = "paddlegate._native")]
pub(crate) struct ListedLimiter(LimiterInfo);

/// Label, kind, amount, interval and offset of a limit, and period, time zone and start of the calendar of a quota; times in
/// microseconds.
type ListedLimit = (String, &'static str, u64, u64, u64, Option<(&'static str, String, String)>);

#[pymethods]
impl ListedLimiter {
    /// Return name, limits, last use, time to live, group, whether it is keyed, and mode.
    ///
    /// Times are in microseconds.
    fn fields(&self) -> (&str, Vec<ListedLimit>, u64, u64, Option<&str>, bool, &'static str) {
        let Self(it) = self;
        let calendar = |it: &Calendar| (it.per().name(), it.timezone().to_owned(), it.starts());
        let limit = |it: &Limit| {
            let (label, calendar) = (it.label().to_string(), it.calendar().map(calendar));
            (label, it.kind().name(), it.amount(), it.interval().0, it.offset().0, calendar)
        };
        let limits = it.limits.iter().map(limit).collect();
        (&it.name, limits, it.last_used.0, it.ttl.0, it.group.as_deref(), it.keyed, it.mode.name())
    }
}

#[pymethods]
impl Paddlegate {
    #[new]
    #[pyo3(signature = (url=None, *, timeout=None, clock=None))]
    fn new(py: Python<'_>, url: OptionalArg, timeout: OptionalArg, clock: OptionalArg) -> Result<Self> {
        let timeout = timeout.map(|timeout| span("timeout", timeout)).transpose()?.map(Micros::duration);
        let clock = test_clock::clock(clock)?;
        let inner = match url {
            Some(url) => paddlegate::Paddlegate::open_with_clock(text("url", url)?, timeout, clock.as_ref())?,
            None => paddlegate::Paddlegate::from_env_with_clock(timeout, clock.as_ref())?,
        };
        Ok(Self { made: MadeLimiters::new(py), inner })
    }

    // The methods that create a limiter by its numbers are native because a method in Python takes longer to call than a
    // decision in memory.

    /// Create a limiter of at most `limit` leases at once; 0 is a pause.
    ///
    /// A lease that is not released ends after `lock_timeout`, by default 30 seconds. `limit` is at
    /// most 100,000.
    #[pyo3(
        signature = (name, limit, **options),
        text_signature = "($self, name, limit, *, lock_timeout=None, **options)"
    )]
    fn concurrent<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Concurrency, [Some(limit), None, None, None], options)
    }

    /// Create a limiter of at most `limit` units in each interval since 1970 (UTC).
    ///
    /// For days of another time zone, the intervals start `offset` earlier.
    #[pyo3(
        signature = (name, limit, interval, offset=Given::default(), **options),
        text_signature = "($self, name, limit, interval, offset=0, **options)"
    )]
    fn bucket<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
        interval: &Bound<'py, PyAny>,
        offset: Given<'_, 'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Bucket, [Some(limit), Some(interval), offset.part(), None], options)
    }

    /// Create a limiter of at most `limit` units in any interval; `limit` is at most 100,000.
    #[pyo3(signature = (name, limit, interval, **options))]
    fn window<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
        interval: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Window, [Some(limit), Some(interval), None, None], options)
    }

    /// Create a limiter with a burst of `capacity` units, which drains fully in `drain`.
    ///
    /// `refund` is what a correction to a lower cost gives back: "full", the default, the whole
    /// difference, also units that have drained meanwhile; "undrained", at most what cannot have
    /// drained since the grant. Another one raises `InvalidError`, argument `refund`.
    #[pyo3(
        signature = (name, capacity, drain, *, refund=Given::default(), **options),
        text_signature = "($self, name, capacity, drain, *, refund='full', **options)"
    )]
    fn leaky<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        capacity: &Bound<'py, PyAny>,
        drain: &Bound<'py, PyAny>,
        refund: Given<'_, 'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Leaky, [Some(capacity), Some(drain), refund.part(), None], options)
    }

    /// Create a limiter with a budget of `capacity` points, full again after `refill`.
    ///
    /// `refund` is as for `leaky`.
    #[pyo3(
        signature = (name, capacity, refill, *, refund=Given::default(), **options),
        text_signature = "($self, name, capacity, refill, *, refund='full', **options)"
    )]
    fn points<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        capacity: &Bound<'py, PyAny>,
        refill: &Bound<'py, PyAny>,
        refund: Given<'_, 'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Points, [Some(capacity), Some(refill), refund.part(), None], options)
    }

    /// Create a limiter of at most `limit` units in each period of the calendar.
    ///
    /// `per` is "day", "week", "month", "quarter" or "year". `limit` is from 1 to 10^12, in any
    /// unit: money is whole micro-units. All units return when a period ends, by the clock of the
    /// store, and a debt ends too. `timezone` is "UTC", the default, an offset such as "+05:30", or
    /// a name such as "Europe/Berlin". `starts` is when the periods start in local time: for days
    /// the time, "06:00"; for weeks the day, "sunday"; for months the day, "15", in a shorter month
    /// its last one; for quarters and years month and day, "04-06"; or for all of them a date,
    /// "2025-01-31", or a date with a time, at which one starts. By default midnight, Monday and
    /// the first day. Raises `InvalidError`, argument `limit`, `per`, `timezone` or `starts`.
    ///
    ///     spending = pg.quota("tenant-7", 50_000_000, "month", timezone="Europe/Berlin")
    #[pyo3(signature = (name, limit, per, *, timezone=None, starts=None, **options))]
    fn quota<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
        per: &Bound<'py, PyAny>,
        timezone: OptionalArg<'_, 'py>,
        starts: OptionalArg<'_, 'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let none = PyNone::get(slf.py());
        limiter(slf, name, Kind::Quota, [Some(limit), Some(per), timezone.or(Some(none.as_any())), starts], options)
    }

    /// Create a limiter of `limit` starts per `interval`, evenly spaced, whatever their cost.
    ///
    /// By default starts are at least `interval` apart. Three per second are at 0, 0.333334,
    /// 0.666667 and 1 seconds, and so on. `limit` is from 1 to one start per microsecond, at most
    /// 10^12; otherwise this raises `InvalidError`.
    #[pyo3(
        signature = (name, interval, *, limit=Given::default(), **options),
        text_signature = "($self, name, interval, *, limit=1, **options)"
    )]
    fn throttle<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        interval: &Bound<'py, PyAny>,
        limit: Given<'_, 'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Throttle, [limit.part(), Some(interval), None, None], options)
    }

    /// Create a limiter that grants every call.
    #[pyo3(
        signature = (name=Given::default(), **options),
        text_signature = "($self, name='unlimited', **options)"
    )]
    fn unlimited<'py>(
        slf: &Bound<'py, Self>,
        name: Given<'_, 'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let default = PyString::intern(slf.py(), Kind::Unlimited.name());
        limiter(slf, name.part().unwrap_or(default.as_any()), Kind::Unlimited, [None; MAX_PARTS], options)
    }

    /// Create a limiter that refuses every call.
    #[pyo3(signature = (name, **options))]
    fn paused<'py>(
        slf: &Bound<'py, Self>,
        name: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        limiter(slf, name, Kind::Paused, [None; MAX_PARTS], options)
    }

    fn _load(
        &self,
        document: &Bound<'_, PyAny>,
        lock_timeout: OptionalArg,
        tenant: OptionalArg,
        group: OptionalArg,
    ) -> Result<Vec<LoadedLimiter>> {
        let options = LoadOptions {
            lock_timeout: lock_timeout.map(|timeout| span("lock_timeout", timeout)).transpose()?,
            tenant: tenant.map(|tenant| text("tenant", tenant)).transpose()?,
            group: group.map(|group| text("group", group)).transpose()?,
        };
        Ok(self.inner.load_with(text("document", document)?, &options)?.into_iter().map(LoadedLimiter).collect())
    }

    // Returns the limiter of a workflow run.
    fn _workflow(
        &self,
        definition: &Bound<'_, PyAny>,
        run: &Bound<'_, PyAny>,
        lock_timeout: OptionalArg,
    ) -> Result<LoadedLimiter> {
        let lock_timeout = lock_timeout.map(|timeout| span("lock_timeout", timeout)).transpose()?;
        Ok(LoadedLimiter(self.inner.conductor_limiter(
            text("definition", definition)?,
            text("run", run)?,
            lock_timeout,
        )?))
    }

    fn _together(&self, limiters: &Bound<'_, PyTuple>) -> Result<Together> {
        let each: Vec<paddlegate::Limiter> = limiters
            .iter()
            .map(|limiter| match limiter.cast::<Limiter>() {
                Ok(limiter) => Ok(limiter.get().inner.clone()),
                Err(_) => Err(refused("limiters", "must be limiters", &limiter)),
            })
            .collect::<Result<_>>()?;
        Ok(Together(self.inner.together(&each.iter().collect::<Vec<_>>())?))
    }

    // The time-out of a call in seconds; None in memory, where there is nothing to close.
    #[getter]
    fn _timeout(&self) -> Option<f64> {
        self.inner.redis().map(|redis| seconds(redis.timeout()))
    }

    fn _close(&self, py: Python<'_>) {
        py.detach(|| self.inner.close());
    }

    fn _limiters(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> Result<Vec<ListedLimiter>> {
        let prefix = text("prefix", prefix)?;
        Ok(shown(py.detach(|| self.inner.limiters_with_prefix(prefix))?))
    }

    // Returns a page of the list and the cursor of the next page; with `begin` the call to send to the server, whose page is
    // only a part if it has a cursor and fewer than `LIMITERS_PER_PAGE` limiters.
    fn _limiter_page<'py>(
        &self,
        py: Python<'py>,
        begin: bool,
        prefix: &Bound<'py, PyAny>,
        cursor: OptionalArg,
    ) -> Result<Bound<'py, PyAny>> {
        let (prefix, cursor) = (text("prefix", prefix)?, cursor.map(|cursor| text("cursor", cursor)).transpose()?);
        if begin {
            return self.begin(py, self.inner.prepare_limiter_page(prefix, cursor)?);
        }
        let page = py.detach(|| self.inner.limiter_page(prefix, cursor))?;
        Ok(answer::shown(py, Answer::Page(page))?)
    }

    // The list consists of parts, each read in pages with a cursor; `sort_listed` merges them.
    #[getter]
    fn _parts(&self) -> u16 {
        self.inner.parts()
    }

    fn _begin_list<'py>(
        &self,
        py: Python<'py>,
        part: u16,
        cursor: u64,
        prefix: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        self.begin(py, self.inner.prepare_list(part, cursor, text("prefix", prefix)?))
    }

    /// A program may have given a limiter an attribute that leads back to the store.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.made.traverse(&visit)
    }
}

impl Paddlegate {
    /// Returns the answer, or the call to send to the server.
    fn begin<'py>(&self, py: Python<'py>, prepared: Prepared) -> Result<Bound<'py, PyAny>> {
        if let Some(redis) = self.inner.redis() {
            redis.check_open()?;
        }
        match (prepared, self.inner.redis()) {
            (Prepared::Answered(answer), _) => Ok(answer::shown(py, answer)?),
            (Prepared::Call(call), Some(redis)) => {
                Ok(Call::new(redis, call, OnComplete::default()).into_bound_py_any(py)?)
            }
            _ => Err(Error::internal("unexpected call to a server: the store is in memory").into()),
        }
    }
}

/// Merge the pages of a list of limiters and sort it by name.
#[pyfunction]
#[pyo3(signature = (entries, /))]
pub(crate) fn sort_listed(entries: Vec<Py<ListedLimiter>>) -> Vec<ListedLimiter> {
    shown(LimiterInfo::sorted(entries.into_iter().map(|entry| entry.get().0.clone()).collect()))
}

pub(crate) fn shown(listed: Vec<LimiterInfo>) -> Vec<ListedLimiter> {
    listed.into_iter().map(ListedLimiter).collect()
}
