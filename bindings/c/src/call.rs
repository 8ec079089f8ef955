//! What a limiter is asked.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{Answer, Error as CoreError, Micros, Operation, Request as CoreRequest, Result, SignalHandling};

use crate::decision::{Decision, Settlement};
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{Request, not_negative, time};
use crate::text;

/// A host such as Ruby acts on a signal only when the call has returned, so a call to a server that
/// does not answer ends so long after one.
pub(crate) const GRACE: SignalHandling<'static> = SignalHandling::Grace(Micros(100_000));

/// Takes the cost if every limit allows it, else nothing.
///
/// A refusal is PG_OK too: look at decision->status. PG_INVALID when the cost can never pass,
/// PG_UNAVAILABLE when the store cannot decide; then the decision says PG_STATUS_REFUSED. request
/// may be NULL. A signal that arrives meanwhile leaves the call 100 ms to end.
#[unsafe(no_mangle)]
pub extern "C" fn pg_acquire(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decide(limiter, request, decision, error, Operation::Acquire)
}

/// What pg_acquire would answer now. Changes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn pg_peek(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decide(limiter, request, decision, error, Operation::Peek)
}

/// Replaces the estimate of a permit by what the call did cost, once; later calls change nothing.
///
/// Less gives back, more makes a debt. settlement may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_correct(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    actual: i64,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    // SAFETY: the pointers are the caller's, of whom this function asks the same.
    unsafe { pg_correct_at(limiter, permit, actual, 0, settlement, error) }
}

/// pg_correct at a given time of the store, for tests and simulations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_correct_at(
    limiter: *const LimiterHandle,
    permit: *const c_char,
    actual: i64,
    at_us: i64,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    settle(limiter, settlement, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let permit = unsafe { text::read("permit", permit) }?;
        Ok(Operation::Correct { permit, actual: not_negative("actual", actual)?, at: time(at_us)? })
    })
}

/// Forgets all that was taken, and all permits.
#[unsafe(no_mangle)]
pub extern "C" fn pg_reset(limiter: *const LimiterHandle, error: Option<&mut MaybeUninit<Error>>) -> Code {
    guard(error, || run(limiter, Operation::Reset).map(drop))
}

fn decide(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
    operation: fn(CoreRequest) -> Operation<'static>,
) -> Code {
    guard_into(
        "decision",
        decision,
        || Decision::NONE,
        error,
        || {
            let request = request.copied().unwrap_or_default().core()?;
            match run(limiter, operation(request))? {
                Answer::Decision(decision) => Ok(decision.into()),
                other => Err(unexpected(&other)),
            }
        },
    )
}

/// An operation that settles something; what became of it may be of no interest.
pub(crate) fn settle<'a>(
    limiter: *const LimiterHandle,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
    operation: impl FnOnce() -> Result<Operation<'a>>,
) -> Code {
    settled(settlement, error, || run(limiter, operation()?))
}

/// As [`settle`], for what asks the limiter by itself.
pub(crate) fn settled(
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
    ask: impl FnOnce() -> Result<Answer>,
) -> Code {
    let mut unwanted = MaybeUninit::uninit();
    let settlement = Some(settlement.unwrap_or(&mut unwanted));
    guard_into(
        "settlement",
        settlement,
        || Settlement::None,
        error,
        || match ask()? {
            Answer::Settlement(settlement) => Ok(settlement.into()),
            other => Err(unexpected(&other)),
        },
    )
}

pub(crate) fn run(limiter: *const LimiterHandle, operation: Operation<'_>) -> Result<Answer> {
    LIMITERS.with(limiter, |limiter| limiter.run(operation, GRACE))
}

pub(crate) fn unexpected(answer: &Answer) -> CoreError {
    CoreError::internal(format!("unexpected reply type: {answer:?}"))
}
