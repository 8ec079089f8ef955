//! Conversion of Python arguments to core types. An argument that cannot be converted gives `Invalid` with its name.

use std::time::Duration;

use paddlegate::{Error, MAX_TIME, Micros, OnLimit, OnUnavailable, QueuePosition};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyInt, PyList, PyMapping, PyString, PyTuple, PyTzInfo};

use crate::decision::Decision;
use crate::error::Result;

/// An optional argument.
pub(crate) type OptionalArg<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub(crate) fn text<'a>(argument: &'static str, value: &'a Bound<'_, PyAny>) -> Result<&'a str> {
    match value.cast::<PyString>() {
        Ok(text) => text.to_str().map_err(|_| Error::invalid(argument, "must be valid unicode").into()),
        Err(_) => Err(refused(argument, "must be text", value)),
    }
}

/// Returns the id of a permit, given as an id, a permit or the decision that granted it.
pub(crate) fn permit_id(permit: &Bound<'_, PyAny>) -> Result<String> {
    let id = if let Ok(decision) = permit.cast::<Decision>() {
        decision.get().0.permit.clone()
    } else if permit.is_instance(&permit.py().import("paddlegate._permit")?.getattr("Grant")?)? {
        permit.getattr("id")?.extract()?
    } else {
        return text("permit", permit).map(str::to_owned);
    };
    id.ok_or_else(|| Error::invalid("permit", "has no id, since nothing was granted that can be settled").into())
}

/// Reads a list of texts; a single text is an error, not a list of its letters.
pub(crate) fn texts(argument: &'static str, values: &Bound<'_, PyAny>) -> Result<Vec<String>> {
    let values = match values.try_iter() {
        Ok(each) if !values.is_instance_of::<PyString>() => each,
        _ => return Err(refused(argument, "must be a list of texts", values)),
    };
    values.map(|value| Ok(text(argument, &value?)?.to_owned())).collect()
}

/// Reads an `int` or an object that converts to one; `bool` and `float` are errors.
pub(crate) fn whole(argument: &'static str, value: &Bound<'_, PyAny>) -> Result<u64> {
    match value.extract() {
        Ok(number) if !value.is_instance_of::<PyBool>() => Ok(number),
        _ => Err(refused(argument, "must be a whole number that is not negative or huge", value)),
    }
}

/// Reads True or False.
pub(crate) fn flag(argument: &'static str, value: OptionalArg, default: bool) -> Result<bool> {
    value.map_or(Ok(default), |value| match value.cast::<PyBool>() {
        Ok(flag) => Ok(flag.is_true()),
        Err(_) => Err(refused(argument, "must be True or False", value)),
    })
}

/// Reads seconds as a number, a `timedelta`, a word or an ISO 8601 duration.
pub(crate) fn span(argument: &'static str, value: &Bound<'_, PyAny>) -> Result<Micros> {
    if value.is_instance_of::<PyString>() {
        return Ok(Micros::parse(argument, text(argument, value)?)?);
    }
    if !value.is_instance_of::<PyBool>() {
        if let Ok(seconds) = value.extract() {
            return Ok(Micros::from_seconds(argument, seconds)?);
        }
        if let Ok(duration) = value.extract() {
            return Ok(Micros::from_duration(argument, duration)?);
        }
    }
    Err(refused(argument, "must be seconds, a timedelta or a duration in words that is not negative or huge", value))
}

/// Reads seconds since 1970 as a number, or a `datetime` with a time zone: without one it is ambiguous.
pub(crate) fn instant(argument: &'static str, value: &Bound<'_, PyAny>) -> Result<Micros> {
    let since_1970: Option<Duration> = if value.is_instance_of::<PyDateTime>() {
        since_1970(value).ok()
    } else if value.is_instance_of::<PyBool>() {
        None
    } else {
        value.extract().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    };
    let micros = since_1970.and_then(|since| u64::try_from((since.as_nanos() + 500) / 1_000).ok());
    micros
        .filter(|micros| *micros < MAX_TIME.0)
        .map(Micros)
        .ok_or_else(|| refused(argument, "must be a datetime with a time zone or seconds, from 1970 until 2112", value))
}

/// The subtraction fails for a `datetime` without a time zone, the extraction for one before 1970.
fn since_1970(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let py = value.py();
    let epoch = PyDateTime::new(py, 1970, 1, 1, 0, 0, 0, 0, Some(&*PyTzInfo::utc(py)?))?;
    value.sub(epoch)?.extract()
}

/// Reads units per second, also fractional.
pub(crate) fn rate(argument: &'static str, value: &Bound<'_, PyAny>) -> Result<f64> {
    match value.extract() {
        Ok(rate) if !value.is_instance_of::<PyBool>() => Ok(rate),
        _ => Err(refused(argument, "must be a number of units per second", value)),
    }
}

/// Reads the effect of a refusal: "raise" or "ignore", with the alias "skip".
pub(crate) fn on_limit(action: &Bound<'_, PyAny>) -> Result<OnLimit> {
    match text("on_limit", action)? {
        "raise" => Ok(OnLimit::Raise),
        "ignore" | "skip" => Ok(OnLimit::Ignore),
        _ => Err(refused("on_limit", "must be raise or ignore", action)),
    }
}

pub(crate) fn on_unavailable(mode: OptionalArg, local_share_percent: OptionalArg) -> Result<OnUnavailable> {
    let share = local_share_percent.map(|share| whole("local_share_percent", share)).transpose()?;
    let mode = mode.map_or(Ok(OnUnavailable::Raise.name()), |mode| text("on_unavailable", mode))?;
    Ok(OnUnavailable::from_name(mode, share)?)
}

/// 0 is the end of the queue, -1 the existing position, another number the position of that ticket.
pub(crate) fn place(number: i64) -> QueuePosition {
    match u64::try_from(number) {
        Ok(0) => QueuePosition::End,
        Ok(number) => QueuePosition::Number(number),
        Err(_) => QueuePosition::Existing,
    }
}

/// A list or a number, the usual cases, is not asked whether it is a mapping, which is slow.
pub(crate) fn mapping<'a, 'py>(value: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PyMapping>> {
    if is_list(value) || value.is_instance_of::<PyInt>() { None } else { value.cast().ok() }
}

pub(crate) fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>()
}

pub(crate) fn refused(argument: &'static str, why: &str, value: &Bound<'_, PyAny>) -> crate::error::Failure {
    Error::invalid(argument, format!("{why}: {argument}={}", shown(value))).into()
}

/// Returns the beginning of a value as Python writes it.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| String::from("?"), |repr| repr.to_string_lossy().chars().take(40).collect())
}
