//! `Paddlegate`: a store that creates limiters.

use paddlegate::{Answer, Calendar, CostRules, Error, Limit, LimiterInfo, LoadOptions, Micros, Prepared};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::answer;
use crate::argument::{OptionalArg, refused, span, text};
use crate::call::{Call, OnComplete};
use crate::decision::seconds;
use crate::error::Result;
use crate::limiter::Limiter;
use crate::test_clock;

/// Creates limiters that share one store.
#[pyclass(frozen, subclass, module = "paddlegate._native")]
pub(crate) struct Paddlegate(pub(crate) paddlegate::Paddlegate);

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
pub(crate) type ListedLimit = (String, &'static str, u64, u64, u64, Option<(&'static str, String, String)>);

pub(crate) fn listed_limit(it: &Limit) -> ListedLimit {
    let calendar = |it: &Calendar| (it.per().name(), it.timezone().to_owned(), it.starts());
    let (label, calendar) = (it.label().to_string(), it.calendar().map(calendar));
    (label, it.kind().name(), it.amount(), it.interval().0, it.offset().0, calendar)
}

#[pymethods]
impl ListedLimiter {
    /// Return name, limits, last use, time to live, group, whether it is keyed, and mode.
    ///
    /// Times are in microseconds.
    fn fields(&self) -> (&str, Vec<ListedLimit>, u64, u64, Option<&str>, bool, &'static str) {
        let Self(it) = self;
        let limits = it.limits.iter().map(listed_limit).collect();
        (&it.name, limits, it.last_used.0, it.ttl.0, it.group.as_deref(), it.keyed, it.mode.name())
    }
}

#[pymethods]
impl Paddlegate {
    #[new]
    #[pyo3(signature = (url=None, *, timeout=None, clock=None))]
    fn new(url: OptionalArg, timeout: OptionalArg, clock: OptionalArg) -> Result<Self> {
        let timeout = timeout.map(|timeout| span("timeout", timeout)).transpose()?.map(Micros::duration);
        let clock = test_clock::clock(clock)?;
        let inner = match url {
            Some(url) => paddlegate::Paddlegate::open_with_clock(text("url", url)?, timeout, clock.as_ref())?,
            None => paddlegate::Paddlegate::from_env_with_clock(timeout, clock.as_ref())?,
        };
        Ok(Self(inner))
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
        Ok(self.0.load_with(text("document", document)?, &options)?.into_iter().map(LoadedLimiter).collect())
    }

    // Returns the limiter of a workflow run.
    fn _workflow(
        &self,
        definition: &Bound<'_, PyAny>,
        run: &Bound<'_, PyAny>,
        lock_timeout: OptionalArg,
    ) -> Result<LoadedLimiter> {
        let lock_timeout = lock_timeout.map(|timeout| span("lock_timeout", timeout)).transpose()?;
        Ok(LoadedLimiter(self.0.conductor_limiter(text("definition", definition)?, text("run", run)?, lock_timeout)?))
    }

    fn _together(&self, limiters: &Bound<'_, PyTuple>) -> Result<Together> {
        let each: Vec<paddlegate::Limiter> = limiters
            .iter()
            .map(|limiter| match limiter.cast::<Limiter>() {
                Ok(limiter) => Ok(limiter.get().inner.clone()),
                Err(_) => Err(refused("limiters", "must be limiters", &limiter)),
            })
            .collect::<Result<_>>()?;
        Ok(Together(self.0.together(&each.iter().collect::<Vec<_>>())?))
    }

    // The time-out of a call in seconds; None in memory, where there is nothing to close.
    #[getter]
    fn _timeout(&self) -> Option<f64> {
        self.0.redis().map(|redis| seconds(redis.timeout()))
    }

    fn _close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    fn _limiters(&self, py: Python<'_>, prefix: &Bound<'_, PyAny>) -> Result<Vec<ListedLimiter>> {
        let prefix = text("prefix", prefix)?;
        Ok(shown(py.detach(|| self.0.limiters_with_prefix(prefix))?))
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
            return self.begin(py, self.0.prepare_limiter_page(prefix, cursor)?);
        }
        let page = py.detach(|| self.0.limiter_page(prefix, cursor))?;
        Ok(answer::shown(py, Answer::Page(page))?)
    }

    // The list consists of parts, each read in pages with a cursor; `sort_listed` merges them.
    #[getter]
    fn _parts(&self) -> u16 {
        self.0.parts()
    }

    fn _begin_list<'py>(
        &self,
        py: Python<'py>,
        part: u16,
        cursor: u64,
        prefix: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>> {
        self.begin(py, self.0.prepare_list(part, cursor, text("prefix", prefix)?))
    }
}

impl Paddlegate {
    /// Returns the answer, or the call to send to the server.
    fn begin<'py>(&self, py: Python<'py>, prepared: Prepared) -> Result<Bound<'py, PyAny>> {
        self.0.check_open()?;
        match (prepared, self.0.redis()) {
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
