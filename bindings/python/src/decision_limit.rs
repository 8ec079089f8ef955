//! `DecisionLimit`: one limit of a decision.

use paddlegate::{Kind, Label, Micros};
use pyo3::prelude::*;

use crate::decision::seconds;
use crate::error::Result;

/// One limit after a decision, by itself.
///
/// A pause and the calls ahead in the queue do not count.
#[derive(Clone, PartialEq)]
#[pyclass(frozen, eq, module = "paddlegate")]
pub(crate) struct DecisionLimit(pub(crate) paddlegate::DecisionLimit);

#[pymethods]
impl DecisionLimit {
    /// The limiter of several that decide together whose limit it is; None for one alone.
    #[getter]
    fn limiter(&self) -> Option<&str> {
        self.0.limiter.as_deref()
    }

    /// The label.
    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    /// The kind: `window`, `bucket` and so on.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    /// The units of the limit, 1 for a throttle.
    #[getter]
    fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Seconds of the interval, to drain or refill fully, or of a lease.
    ///
    /// Of a quota those of its longest period.
    #[getter]
    fn interval(&self) -> f64 {
        seconds(self.0.interval)
    }

    /// The units that can be taken right after the decision.
    #[getter]
    fn remaining(&self) -> u64 {
        self.0.remaining
    }

    /// Seconds for which this limit holds the call up, 0 when it does not, as after a grant.
    ///
    /// None when no time is known.
    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after.map(seconds)
    }

    /// Seconds until all units are available again; None when no time is known.
    #[getter]
    fn reset_after(&self) -> Option<f64> {
        self.0.reset_after.map(seconds)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        const FIELDS: [&str; 8] =
            ["limiter", "label", "kind", "limit", "interval", "remaining", "retry_after", "reset_after"];
        shown(slf, FIELDS.into_iter().filter(|name| *name != "limiter" || slf.get().0.limiter.is_some()))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (LimitFields,))> {
        Ok((py.import("paddlegate._native")?.getattr("restore_limit")?, (fields_of(&self.0),)))
    }
}

/// The pickled fields of a limit in order; times in microseconds.
pub(crate) type LimitFields = (Option<String>, String, String, u64, u64, u64, Option<u64>, Option<u64>);

pub(crate) fn fields_of(it: &paddlegate::DecisionLimit) -> LimitFields {
    let micros = |time: Option<Micros>| time.map(|time| time.0);
    let (label, retry_after, reset_after) = (it.label.to_string(), micros(it.retry_after), micros(it.reset_after));
    (
        it.limiter.clone(),
        label,
        it.kind.name().to_owned(),
        it.limit,
        it.interval.0,
        it.remaining,
        retry_after,
        reset_after,
    )
}

/// Restore a limit of a decision from its pickled fields.
#[pyfunction]
#[pyo3(signature = (fields, /))]
pub(crate) fn restore_limit(fields: LimitFields) -> Result<DecisionLimit> {
    let (limiter, label, kind, limit, interval, remaining, retry_after, reset_after) = fields;
    Ok(DecisionLimit(paddlegate::DecisionLimit {
        limiter,
        label: Label::new(&label)?,
        kind: Kind::from_name(&kind)?,
        limit,
        interval: Micros(interval),
        remaining,
        retry_after: retry_after.map(Micros),
        reset_after: reset_after.map(Micros),
    }))
}

/// Returns the text of an object with these attributes.
pub(crate) fn shown<'a>(it: &Bound<'_, PyAny>, names: impl Iterator<Item = &'a str>) -> PyResult<String> {
    let show = |name: &str| Ok(format!("{name}={}", it.getattr(name)?.repr()?));
    let shown: PyResult<Vec<_>> = names.map(show).collect();
    Ok(format!("{}({})", it.get_type().name()?, shown?.join(", ")))
}
