//! Builds operations from Python arguments, and passes each to `run`.

use paddlegate::{Admission, JOB_CLAIM_TIMEOUT, MAX_SPAN, Micros, OnLimit, Operation, Request, Wait};
use pyo3::prelude::*;

use crate::argument::{OptionalArg, flag, permit_id, place, span, text};
use crate::cost::{EstimateArgs, with_cost, with_ordered, with_request};
use crate::error::Result;

pub(crate) fn given(argument: &'static str, value: OptionalArg, default: Micros) -> Result<Micros> {
    value.map_or(Ok(default), |value| span(argument, value))
}

pub(crate) fn acquire<T>(
    cost: OptionalArg,
    estimate: EstimateArgs,
    id: OptionalArg,
    limits: OptionalArg,
    run: impl FnOnce(Operation<'_>) -> Result<T>,
) -> Result<T> {
    let limits = flag("limits", limits, false)?;
    with_request(cost, estimate, |request| {
        let request = Request { limits, ..request };
        run(match id {
            Some(id) => Operation::AcquireWithId { request, id: text("id", id)?, wait: None },
            None => Operation::Acquire(request),
        })
    })
}

/// How a call enters the queue: its ticket, and the arguments `wait_timeout` and `claim_timeout`.
pub(crate) type WaitArgs<'a, 'py> = (Option<i64>, OptionalArg<'a, 'py>, OptionalArg<'a, 'py>);

pub(crate) fn enter<T>(
    cost: OptionalArg,
    estimate: EstimateArgs,
    id: &Bound<'_, PyAny>,
    (number, wait_timeout, claim_timeout): WaitArgs,
    order: OptionalArg,
    run: impl FnOnce(Operation<'_>) -> Result<T>,
) -> Result<T> {
    let max_wait = given("wait_timeout", wait_timeout, MAX_SPAN)?;
    let claim_timeout = given("claim_timeout", claim_timeout, JOB_CLAIM_TIMEOUT)?;
    let wait = number.map(|number| Wait { claim_timeout, position: place(number), ..Wait::up_to(max_wait) });
    with_ordered(cost, estimate, order, |request| run(Operation::AcquireWithId { request, id: text("id", id)?, wait }))
}

pub(crate) fn admit<T>(
    cost: OptionalArg,
    estimate: EstimateArgs,
    id: &Bound<'_, PyAny>,
    (on_limit, claim_timeout): (OnLimit, OptionalArg),
    order: OptionalArg,
    run: impl FnOnce(Operation<'_>) -> Result<T>,
) -> Result<T> {
    let claim_timeout = claim_timeout.map(|timeout| span("claim_timeout", timeout)).transpose()?;
    let wait = Admission::wait(on_limit, claim_timeout);
    with_ordered(cost, estimate, order, |request| run(Operation::AcquireWithId { request, id: text("id", id)?, wait }))
}

pub(crate) fn peek<T>(
    cost: OptionalArg,
    estimate: EstimateArgs,
    limits: OptionalArg,
    run: impl FnOnce(Operation<'_>) -> Result<T>,
) -> Result<T> {
    let limits = flag("limits", limits, false)?;
    with_request(cost, estimate, |request| run(Operation::Peek(Request { limits, ..request })))
}

pub(crate) fn debit<T>(cost: &Bound<'_, PyAny>, run: impl FnOnce(Operation<'_>) -> Result<T>) -> Result<T> {
    with_cost("cost", cost, |cost| run(Operation::Debit(cost)))
}

pub(crate) fn refund<T>(units: &Bound<'_, PyAny>, run: impl FnOnce(Operation<'_>) -> Result<T>) -> Result<T> {
    with_cost("units", units, |units| run(Operation::Refund(units)))
}

pub(crate) fn correct<T>(
    permit: &Bound<'_, PyAny>,
    actual: &Bound<'_, PyAny>,
    run: impl FnOnce(Operation<'_>) -> Result<T>,
) -> Result<T> {
    let permit = permit_id(permit)?;
    with_cost("actual", actual, |actual| run(Operation::Correct { permit: &permit, actual }))
}

pub(crate) fn extend<T>(
    permit: &Bound<'_, PyAny>,
    units: &Bound<'_, PyAny>,
    run: impl FnOnce(Operation<'_>) -> Result<T>,
) -> Result<T> {
    let permit = permit_id(permit)?;
    with_cost("units", units, |units| run(Operation::Extend { permit: &permit, units }))
}
