//! Builds operations from Python arguments.

use paddlegate::{Admission, CLAIM_TIMEOUT, JOB_CLAIM_TIMEOUT, MAX_SPAN, Micros, OnLimit, Operation, Wait};
use pyo3::prelude::*;

use crate::argument::{OptionalArg, place, request, span, text, time, whole};
use crate::error::Result;

pub(crate) fn given(argument: &'static str, value: OptionalArg, default: Micros) -> Result<Micros> {
    value.map_or(Ok(default), |value| span(argument, value))
}

pub(crate) fn acquire<'a>(
    cost: OptionalArg,
    estimate: OptionalArg,
    at_us: OptionalArg,
    id: OptionalArg<'a, '_>,
) -> Result<Operation<'a>> {
    let request = request(cost, estimate, at_us)?;
    Ok(match id {
        Some(id) => Operation::AcquireWithId { request, id: text("id", id)?, wait: None },
        None => Operation::Acquire(request),
    })
}

#[allow(clippy::too_many_arguments)]
pub(crate) fn enter<'a>(
    cost: OptionalArg,
    estimate: OptionalArg,
    at_us: OptionalArg,
    id: &'a Bound<'_, PyAny>,
    number: Option<i64>,
    wait_timeout: OptionalArg,
    claim_timeout: OptionalArg,
    channel: Option<&'a str>,
) -> Result<Operation<'a>> {
    let (patience, grace) = (
        given("wait_timeout", wait_timeout, MAX_SPAN)?,
        given("claim_timeout", claim_timeout, if channel.is_some() { CLAIM_TIMEOUT } else { JOB_CLAIM_TIMEOUT })?,
    );
    let wait = number.map(|number| Wait {
        max_wait: patience,
        claim_timeout: grace,
        channel: channel.unwrap_or_default(),
        position: place(number),
    });
    Ok(Operation::AcquireWithId { request: request(cost, estimate, at_us)?, id: text("id", id)?, wait })
}

pub(crate) fn admit<'a>(
    cost: OptionalArg,
    estimate: OptionalArg,
    at_us: OptionalArg,
    id: &'a Bound<'_, PyAny>,
    on_limit: OnLimit,
) -> Result<Operation<'a>> {
    let request = request(cost, estimate, at_us)?;
    Ok(Operation::AcquireWithId { request, id: text("id", id)?, wait: Admission::wait(on_limit) })
}

pub(crate) fn correct<'a>(permit: &'a str, actual: &Bound<'_, PyAny>, at_us: OptionalArg) -> Result<Operation<'a>> {
    Ok(Operation::Correct { permit, actual: whole("actual", actual)?, at: time(at_us)? })
}

pub(crate) fn release<'a>(permit: &'a str, at_us: OptionalArg) -> Result<Operation<'a>> {
    Ok(Operation::Release { permit, at: time(at_us)? })
}

pub(crate) fn renew<'a>(permit: &'a str, at_us: OptionalArg) -> Result<Operation<'a>> {
    Ok(Operation::Renew { permit, at: time(at_us)? })
}

pub(crate) fn cancel<'a>(id: &'a Bound<'_, PyAny>, gave_up: bool, at_us: OptionalArg) -> Result<Operation<'a>> {
    Ok(Operation::Cancel { id: text("id", id)?, gave_up, at: time(at_us)? })
}
