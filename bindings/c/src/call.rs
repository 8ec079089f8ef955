//! The operations of a limiter: acquire, peek, debit, correct, extend and reset.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{
    Answer, Decision as CoreDecision, Error as CoreError, Extension, Limiter, Operation, Request as CoreRequest, Result,
};

use crate::cost::{self, Units};
use crate::decision::{Decision, Settlement};
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{Costs, Request};
use crate::signals::on_signal;
use crate::text;

/// Takes the cost if every limit allows it and no ticket is ahead in the queue, otherwise nothing.
///
/// Returns PG_OK for a refusal too: check decision->status. Returns PG_INVALID when the cost can
/// never be granted, and PG_UNAVAILABLE when the store cannot decide; the status is then
/// PG_STATUS_REFUSED. A cost above a limit that was lowered at run time is refused with
/// PG_REASON_TOO_LARGE. request may be NULL. When a signal arrives during the call, the call ends
/// within 100 ms, see pg_after_signal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_acquire(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decision_into(decision, error, || {
        // SAFETY: this function places the same requirements on its caller.
        let costs = unsafe { Costs::read(request) }?;
        decide(limiter, Operation::Acquire(costs.request()), |limiter, decision| costs.decision(limiter, decision))
    })
}

/// Takes so many units as pg_acquire does, if no server and nothing but a yes or no is needed, and
/// returns 1 when they were granted and 0 when they were refused.
///
/// Returns -1 when nothing was decided and nothing has changed: the caller then uses pg_acquire,
/// which returns an error if the call has one. That is so for a store in Redis, for a limiter that
/// grants leases, and while calls wait. With a key it decides for that key of a keyed limiter; key
/// may be NULL. For a store in memory it takes a fraction of the time of pg_acquire.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_allow_at_once(limiter: *const LimiterHandle, key: *const c_char, units: i64) -> i32 {
    let mut decided = -1;
    guard(None, || {
        let request = u64::try_from(units).map(CoreRequest::cost);
        let Ok(request) = request else { return Ok(()) };
        LIMITERS.with(limiter, |limiter| {
            let is_granted = if key.is_null() {
                limiter.allow_at_once(&request)
            } else {
                // SAFETY: the caller passes NULL or a text that ends with a zero byte.
                limiter.allow_at_once_with_key(unsafe { text::read("key", key) }?, &request)
            };
            decided = is_granted.map_or(-1, i32::from);
            Ok(())
        })
    });
    decided
}

/// Writes the decision that pg_acquire would make now, and changes nothing. remaining does not
/// subtract the cost.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_peek(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decision_into(decision, error, || {
        // SAFETY: this function places the same requirements on its caller.
        let costs = unsafe { Costs::read(request) }?;
        decide(limiter, Operation::Peek(costs.request()), |limiter, decision| costs.decision(limiter, decision))
    })
}

/// Charges a cost in any case, whatever is left, up to one whole limit of debt, and writes what is
/// left: the decision is a grant with the limit that has the fewest remaining units.
///
/// For costs that are known only afterwards. Limits that count calls (concurrency, throttle) are not
/// charged; PG_INVALID when the policy has no other. A repeated call charges again. The cost is a
/// number, or cost_by_label with cost_count elements; then cost is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_debit(
    limiter: *const LimiterHandle,
    cost: i64,
    cost_by_label: *const Units,
    cost_count: usize,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decision_into(decision, error, || {
        // SAFETY: the caller passes NULL or an array of `cost_count` elements.
        let cost = unsafe { cost::read("cost", cost, cost_by_label, cost_count) }?;
        decide(limiter, Operation::Debit(cost.core()), Decision::of)
    })
}

/// Gives units back without a permit, and writes what is left: the opposite of pg_debit.
///
/// For those who count first and give back later. It gives back at most what is taken of each limit
/// now, of a window the newest units. Limits that count calls (concurrency, throttle) are not
/// changed; PG_INVALID when the policy has no other. A repeated call gives back again. The units are
/// a number, or units_by_label with units_count elements; then units is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_refund(
    limiter: *const LimiterHandle,
    units: i64,
    units_by_label: *const Units,
    units_count: usize,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decision_into(decision, error, || {
        // SAFETY: the caller passes NULL or an array of `units_count` elements.
        let units = unsafe { cost::read("units", units, units_by_label, units_count) }?;
        decide(limiter, Operation::Refund(units.core()), Decision::of)
    })
}

/// Replaces the estimate of a permit by the actual cost of the call, once; later calls change
/// nothing.
///
/// A lower cost is refunded; a higher one becomes debt. The actual cost is a number, or
/// actual_by_label with actual_count elements; then actual is 0. settlement may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_correct(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    actual: i64,
    actual_by_label: *const Units,
    actual_count: usize,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    settled(settlement, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read("permit", permit) }?;
        // SAFETY: the caller passes NULL or an array of `actual_count` elements.
        let actual = unsafe { cost::read("actual", actual, actual_by_label, actual_count) }?;
        run(limiter, Operation::Correct { permit, actual: actual.core() })
    })
}

/// Reserves more units for the call of an open permit, such as a stream that grows: all of them if
/// every limit allows it, otherwise nothing.
///
/// decision receives the decision. A grant has in decision->permit the id of the permit with the
/// sum, with which a later correction compares; the older ids stay valid. A refusal leaves the
/// permit as it was. settlement receives PG_SETTLEMENT_NONE; for a permit that is not open it
/// receives PG_SETTLEMENT_ALREADY, PG_SETTLEMENT_LATE or PG_SETTLEMENT_UNKNOWN, as of pg_correct, and
/// decision is a refusal without numbers. An extension does not wait behind the queue, and a
/// repeated one reserves nothing twice. The units are a number, from 1, or units_by_label with
/// units_count elements; then units is 0. PG_INVALID with the argument "units" when they can never
/// be granted. settlement may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_extend(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    units: i64,
    units_by_label: *const Units,
    units_count: usize,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    let mut closed = Settlement::None;
    let code = decision_into(decision, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read("permit", permit) }?;
        // SAFETY: the caller passes NULL or an array of `units_count` elements.
        let units = unsafe { cost::read("units", units, units_by_label, units_count) }?;
        let operation = Operation::Extend { permit, units: units.core() };
        LIMITERS.with(limiter, |limiter| match limiter.run(operation, on_signal())? {
            Answer::Extension(extension) => Ok(match *extension {
                Extension::Decided(decision) => Decision::of(limiter, decision),
                Extension::Closed(settlement) => {
                    closed = settlement.into();
                    Decision::NONE
                }
            }),
            other => Err(unexpected(&other)),
        })
    });
    if let Some(settlement) = settlement {
        settlement.write(closed);
    }
    code
}

/// Deletes the state of a limiter: charged units, permits, leases, tickets, statistics, overrides,
/// learned limits and a pause. Of a keyed limiter it is the state of one key, and the statistics of
/// all keys stay.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reset(limiter: *const LimiterHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || run(limiter, Operation::Reset).map(drop))
}

/// Runs the body of a function that returns a decision.
pub(crate) fn decision_into(
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
    body: impl FnOnce() -> Result<Decision>,
) -> Code {
    guard_into("decision", decision, || Decision::NONE, error, body)
}

/// Runs an operation that returns a decision, and converts the decision.
pub(crate) fn decide<R>(
    limiter: *const LimiterHandle,
    operation: Operation<'_>,
    convert: impl FnOnce(&Limiter, CoreDecision) -> R,
) -> Result<R> {
    LIMITERS.with(limiter, |limiter| match limiter.run(operation, on_signal())? {
        Answer::Decision(decision) => Ok(convert(limiter, decision)),
        other => Err(unexpected(&other)),
    })
}

/// Runs an operation that returns a settlement; `settlement` may be absent.
pub(crate) fn settle<'a>(
    limiter: *const LimiterHandle,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
    operation: impl FnOnce() -> Result<Operation<'a>>,
) -> Code {
    settled(settlement, error, || run(limiter, operation()?))
}

/// As [`settle`], for functions that call the limiter themselves.
pub(crate) fn settled(
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
    operation: impl FnOnce() -> Result<Answer>,
) -> Code {
    let mut discarded = MaybeUninit::uninit();
    let settlement = Some(settlement.unwrap_or(&mut discarded));
    guard_into(
        "settlement",
        settlement,
        || Settlement::None,
        error,
        || match operation()? {
            Answer::Settlement(settlement) => Ok(settlement.into()),
            other => Err(unexpected(&other)),
        },
    )
}

pub(crate) fn run(limiter: *const LimiterHandle, operation: Operation<'_>) -> Result<Answer> {
    LIMITERS.with(limiter, |limiter| limiter.run(operation, on_signal()))
}

pub(crate) fn unexpected(answer: &Answer) -> CoreError {
    CoreError::internal(format!("unexpected reply type: {answer:?}"))
}
