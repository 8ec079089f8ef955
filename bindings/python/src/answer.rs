//! Converts the core's answers to Python objects.

use std::collections::BTreeMap;

use paddlegate::{Answer, Error, Extension, HistoryEntry, Settlement};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::decision::{Decision, seconds};
use crate::error::{Result, exception};
use crate::inspection::inspection;
use crate::{live, paddlegate as listed};

/// The fields of `paddlegate::Statistics` in order, the last ones by themselves; times in seconds.
type Statistics<'py> = (Counts, u64, BTreeMap<String, u64>, Bound<'py, PyTuple>, OfGrants<'py>);

/// Degraded calls, errors, grants near a limit, estimated units, and how long leases were held.
type OfGrants<'py> = (u64, u64, u64, u64, Bound<'py, PyTuple>);

type Counts = (u64, u64, u64, f64, u64, u64, f64, u64, u64, u64, u64, u64);

/// The decision or the settlement of an extension.
type ExtensionFields = (Option<Decision>, Option<&'static str>);

fn statistics<'py>(py: Python<'py>, it: &paddlegate::Statistics) -> PyResult<Statistics<'py>> {
    let (wait_time, held_time) = (seconds(it.wait_time), seconds(it.held_time));
    let (granted, refused, waited, units, corrections) = (it.granted, it.refused, it.waited, it.units, it.corrections);
    let (overages, reclaimed, lapsed, leases, tickets) = (it.overages, it.reclaimed, it.lapsed, it.leases, it.tickets);
    let all = (
        granted,
        refused,
        waited,
        wait_time,
        units,
        corrections,
        held_time,
        overages,
        reclaimed,
        lapsed,
        leases,
        tickets,
    );
    let refused_by = it.refused_by.iter().map(|(label, count)| (label.to_string(), *count)).collect();
    let [waits, holds] = [&it.waits, &it.holds].map(|times| PyTuple::new(py, times.counts()));
    let others = (it.degraded, it.errors, it.near_limit, it.estimated_units, holds?);
    Ok((all, it.shadow_refused, refused_by, waits?, others))
}

/// Returns the start in seconds, granted, refused, waited and units of each entry.
fn entries(entries: &[HistoryEntry]) -> Vec<(f64, u64, u64, u64, u64)> {
    let fields = |it: &HistoryEntry| (seconds(it.start), it.granted, it.refused, it.waited, it.units);
    entries.iter().map(fields).collect()
}

fn extension(it: Extension) -> ExtensionFields {
    match it {
        Extension::Decided(decision) => (Some(Decision(decision)), None),
        Extension::Closed(settlement) => (None, Some(Settlement::name(settlement))),
    }
}

/// Converts an answer to a Python object.
pub(crate) fn shown(py: Python<'_>, answer: Answer) -> PyResult<Bound<'_, PyAny>> {
    match answer {
        Answer::Decision(decision) => Decision(decision).into_bound_py_any(py),
        Answer::Settlement(settlement) => settlement.name().into_bound_py_any(py),
        Answer::Extension(it) => extension(*it).into_bound_py_any(py),
        Answer::Report(it) => live::learned(*it).into_bound_py_any(py),
        Answer::Renewal(renewal) => renewal.map(seconds).into_bound_py_any(py),
        Answer::Inspection(it) => inspection(*it).into_bound_py_any(py),
        Answer::Ready(ready) => (ready.ids, seconds(ready.after)).into_bound_py_any(py),
        Answer::Statistics(it) => statistics(py, &it)?.into_bound_py_any(py),
        Answer::History(it) => (entries(&it.minutes), entries(&it.hours)).into_bound_py_any(py),
        Answer::RuntimeState(it) => live::runtime_state(&it).into_bound_py_any(py),
        Answer::List(page) => (listed::shown(page.listed), page.cursor).into_bound_py_any(py),
        Answer::Page(page) => (listed::shown(page.limiters), page.cursor).into_bound_py_any(py),
        Answer::MostRefused(keys) => {
            keys.into_iter().map(|found| (found.key, found.refused)).collect::<Vec<_>>().into_bound_py_any(py)
        }
        Answer::Keys(page) => (page.keys, page.cursor).into_bound_py_any(py),
        Answer::Reset => Ok(py.None().into_bound(py)),
    }
}

/// Converts a result to a Python object or an exception object, which is returned rather than raised.
pub(crate) fn outcome(py: Python<'_>, result: std::result::Result<Answer, Error>) -> PyResult<Bound<'_, PyAny>> {
    result.map_or_else(|error| exception(py, &error), |answer| shown(py, answer))
}

pub(crate) fn decision(answer: Answer) -> Result<Decision> {
    match answer {
        Answer::Decision(decision) => Ok(Decision(decision)),
        other => Err(Error::internal(format!("unexpected reply type: {other:?}")).into()),
    }
}
