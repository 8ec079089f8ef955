//! Conversion of limits, and of the rule by which refusals lead to a block.

use paddlegate::{BlockAfter, Calendar, Error, Kind, Limit, Micros, Refund};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyMapping, PyType};

use crate::argument::{is_list, mapping, refused, span, text, whole};
use crate::error::{Failure, Result};

/// Reads limits: a mapping from labels, or a list of tuples, of limits that name their kind and of mappings.
///
/// A tuple is `(kind, amount, interval)`; each kind omits the values that it does not have, and a throttle may omit an amount
/// of 1. A bucket may have an offset behind them, a leaky or points limit its refund. A quota is `(kind, amount, per,
/// timezone, starts)`.
pub(crate) fn limits(given: &Bound<'_, PyAny>, lock_timeout: Micros) -> Result<Vec<Limit>> {
    let mut limits = Vec::new();
    if let Some(labels) = mapping(given) {
        put_labelled(&mut limits, labels, lock_timeout)?;
        return Ok(limits);
    }
    for entry in given.try_iter().map_err(|_| refused("limits", "must be a mapping or a list", given))? {
        let entry = entry?;
        if is_list(&entry) {
            limits.push(limit(&entry.extract::<Vec<_>>()?, lock_timeout)?);
        } else if let Some(parts) = parts(&entry)? {
            limits.push(limit(&parts, lock_timeout)?);
        } else if let Some(labels) = mapping(&entry) {
            put_labelled(&mut limits, labels, lock_timeout)?;
        } else {
            return Err(refused("limits", "must hold limits or tuples", &entry));
        }
    }
    Ok(limits)
}

fn put_labelled(limits: &mut Vec<Limit>, labels: &Bound<'_, PyMapping>, lock_timeout: Micros) -> Result<()> {
    for item in labels.items()? {
        let (label, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        limits.push(if let Some(parts) = parts(&value)? {
            limit(&parts, lock_timeout)?.labelled(text("label", &label)?)?
        } else {
            let numbers = if is_list(&value) { value.extract()? } else { vec![value] };
            limit(&[vec![label], numbers].concat(), lock_timeout)?
        });
    }
    Ok(())
}

/// Returns the kind and the numbers of a limit that names its kind; `None` for other objects.
fn parts<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(value.py(), "paddlegate._limits", "LimitOfKind")?;
    let names_kind = value.is_instance(class)?;
    names_kind.then(|| value.call_method0("_parts")?.extract()).transpose()
}

/// Returns the limit with these parts, whose label is its kind.
fn limit(parts: &[Bound<'_, PyAny>], lock_timeout: Micros) -> Result<Limit> {
    let missing = |what| Error::invalid("limits", format!("a limit lacks its {what}"));
    let mut parts = parts.iter();
    let kind = Kind::from_name(text("kind", parts.next().ok_or_else(|| missing("kind"))?)?)?;
    let (amount, interval) = kind.arguments();
    let amount = match amount {
        Some(_) if kind == Kind::Throttle && parts.len() < 2 => 1,
        Some(name) => whole(name, parts.next().ok_or_else(|| missing(name))?)?,
        None => 0,
    };
    if kind == Kind::Quota {
        return quota(amount, parts.as_slice());
    }
    let interval = match (interval, parts.next()) {
        (Some(name), Some(interval)) => span(name, interval)?,
        (Some(_), None) if kind == Kind::Concurrency => lock_timeout,
        (Some(name), None) => return Err(missing(name).into()),
        (None, Some(extra)) => return Err(too_many(extra)),
        (None, None) => Micros(0),
    };
    let more = parts.next();
    if let Some(extra) = parts.next() {
        return Err(too_many(extra));
    }
    let without_offset = || Limit::of_kind(kind, amount, interval, Micros(0));
    Ok(match (kind, more) {
        (_, None) => without_offset()?,
        (Kind::Bucket, Some(offset)) => Limit::of_kind(kind, amount, interval, span("offset", offset)?)?,
        (Kind::Leaky | Kind::Points, Some(refund)) => {
            without_offset()?.with_refund(Refund::from_name(text("refund", refund)?)?)?
        }
        (_, Some(extra)) => return Err(too_many(extra)),
    })
}

/// Returns the quota with these parts behind its amount: the periods, the time zone and their start. None is the default.
fn quota(amount: u64, parts: &[Bound<'_, PyAny>]) -> Result<Limit> {
    let given = |i: usize, name| {
        let part = parts.get(i).filter(|part| !part.is_none());
        part.map(|part| text(name, part)).transpose()
    };
    let per = given(0, "per")?.ok_or_else(|| Error::invalid("per", "a quota lacks its periods"))?;
    if let Some(extra) = parts.get(3) {
        return Err(too_many(extra));
    }
    Ok(Limit::quota(amount, Calendar::parse(per, given(1, "timezone")?, given(2, "starts")?)?)?)
}

/// Reads `(refusals, within, for)`.
pub(crate) fn block_after(given: &Bound<'_, PyAny>) -> Result<BlockAfter> {
    const NAME: &str = "block_after";
    let parts: Vec<Bound<'_, PyAny>> = if is_list(given) { given.extract()? } else { Vec::new() };
    let [refusals, within, lasts] = &parts[..] else {
        return Err(refused(NAME, "must be a tuple of refusals, within and for", given));
    };
    Ok(BlockAfter::of_micros(whole(NAME, refusals)?, span(NAME, within)?, span(NAME, lasts)?)?)
}

fn too_many(extra: &Bound<'_, PyAny>) -> Failure {
    refused("limits", "a limit has too many parts", extra)
}
