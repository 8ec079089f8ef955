//! Builds operations from Python arguments.

use paddlegate::{Admission, JOB_CLAIM_TIMEOUT, MAX_SPAN, Micros, OnLimit, Operation, Wait};
use pyo3::prelude::*;

use crate::argument::{OptionalArg, place, request, span, text};
use crate::error::Result;

pub(crate) fn given(argument: &'static str, value: OptionalArg, default: Micros) -> Result<Micros> {
    value.map_or(Ok(default), |value| span(argument, value))
}

pub(crate) fn acquire<'a>(cost: OptionalArg, estimate: OptionalArg, id: OptionalArg<'a, '_>) -> Result<Operation<'a>> {
    let request = request(cost, estimate)?;
    Ok(match id {
        Some(id) => Operation::AcquireWithId { request, id: text("id", id)?, wait: None },
        None => Operation::Acquire(request),
    })
}

pub(crate) fn enter<'a>(
    cost: OptionalArg,
    estimate: OptionalArg,
    id: &'a Bound<'_, PyAny>,
    number: Option<i64>,
    wait_timeout: OptionalArg,
    claim_timeout: OptionalArg,
) -> Result<Operation<'a>> {
    let max_wait = given("wait_timeout", wait_timeout, MAX_SPAN)?;
    let claim_timeout = given("claim_timeout", claim_timeout, JOB_CLAIM_TIMEOUT)?;
    let wait = number.map(|number| Wait { max_wait, claim_timeout, channel: "", position: place(number) });
    Ok(Operation::AcquireWithId { request: request(cost, estimate)?, id: text("id", id)?, wait })
}

pub(crate) fn admit<'a>(
    cost: OptionalArg,
    estimate: OptionalArg,
    id: &'a Bound<'_, PyAny>,
    on_limit: OnLimit,
) -> Result<Operation<'a>> {
    let request = request(cost, estimate)?;
    Ok(Operation::AcquireWithId { request, id: text("id", id)?, wait: Admission::wait(on_limit) })
}
