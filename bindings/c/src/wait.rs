//! Waiting in turn: with a ticket in the limiter's queue.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{
    Answer, CLAIM_TIMEOUT, MAX_SPAN, Micros, Operation, QueuePosition, Result, Wait as CoreWait, new_id,
};

use crate::call::{run, settle, unexpected};
use crate::decision::{Decision, Settlement};
use crate::error::{Code, Error};
use crate::guard::{guard, guard_into};
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{Request, not_negative, time};
use crate::text;

/// As the time to wait: as long as it takes, which is at most ten years.
pub const PG_FOREVER: i64 = -1;

/// As the place of a pg_wait: the one that the ticket has, else the last.
pub const PG_PLACE_END: i64 = 0;

/// As the place of a pg_wait: the one that the ticket has. Without one it is PG_STATUS_GONE.
pub const PG_PLACE_KEPT: i64 = -1;

/// How a call waits.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Wait {
    /// How long it would wait: 0 refuses, as does a time that is known to come later; or PG_FOREVER.
    pub max_wait_us: i64,
    /// How long the ticket keeps its place after the time at which it was to look again and did
    /// not; 0 for the default.
    pub claim_timeout_us: i64,
    /// Where it is told that its turn has come, see pg_listen; NULL or empty when it looks by
    /// itself.
    pub channel: *const c_char,
    /// PG_PLACE_END, PG_PLACE_KEPT, or the number of a ticket: then the place that it has, else the
    /// one that it had.
    pub place: i64,
}

impl Wait {
    unsafe fn core<'a>(&self) -> Result<CoreWait<'a>> {
        Ok(CoreWait {
            patience: patience(self.max_wait_us)?,
            grace: match self.claim_timeout_us {
                0 => CLAIM_TIMEOUT,
                grace => Micros(not_negative("claim_timeout", grace)?),
            },
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            channel: unsafe { text::read_or("channel", self.channel, "") }?,
            place: match self.place {
                PG_PLACE_END => QueuePosition::End,
                PG_PLACE_KEPT => QueuePosition::Existing,
                number => QueuePosition::Number(not_negative("ticket", number)?),
            },
        })
    }
}

fn patience(micros: i64) -> Result<Micros> {
    Ok(if micros == PG_FOREVER { MAX_SPAN } else { Micros(not_negative("wait_timeout", micros)?) })
}

/// pg_acquire under an id of the caller, who may wait.
///
/// The id, of 1 to 64 bytes, names the lease and the ticket: asking again with it takes no second
/// lease, and keeps the place. With PG_STATUS_QUEUED come again with the same id after
/// retry_after_us, or when the channel tells it; who wants no more says so by pg_cancel. wait may be
/// NULL: then it does not wait, and gives up a place that it has. Never waits itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_acquire_with_id(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    id: *const c_char,
    wait: Option<&Wait>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "decision",
        decision,
        || Decision::NONE,
        error,
        || {
            let request = request.copied().unwrap_or_default().core()?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let id = unsafe { text::read("id", id) }?;
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            let wait = wait.map(|wait| unsafe { wait.core() }).transpose()?;
            match run(limiter, Operation::AcquireWithId { request, id, wait })? {
                Answer::Decision(decision) => Ok(decision.into()),
                other => Err(unexpected(&other)),
            }
        },
    )
}

/// Leaves the queue: PG_SETTLEMENT_CANCELLED, or PG_SETTLEMENT_UNKNOWN when there was no ticket. A
/// lease that it became meanwhile ends too.
///
/// gave_up is not 0 when the time to wait was up, which is counted as a refusal. at_us as in
/// pg_request; settlement may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_cancel(
    limiter: *const LimiterHandle,
    id: *const c_char,
    gave_up: i32,
    at_us: i64,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    settle(limiter, settlement, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        Ok(Operation::Cancel { id: unsafe { text::read("id", id) }?, gave_up: gave_up != 0, at: time(at_us)? })
    })
}

/// Takes the cost as soon as every limit allows it and it is the caller's turn, waiting on this
/// thread for at most wait_timeout_us, or PG_FOREVER.
///
/// PG_STATUS_REFUSED when the time is up, or at once when it is known not to be enough; then nothing
/// was taken. request may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn pg_acquire_timeout(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    wait_timeout_us: i64,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    guard_into(
        "decision",
        decision,
        || Decision::NONE,
        error,
        || {
            let request = request.copied().unwrap_or_default().core()?;
            let wait_timeout = patience(wait_timeout_us)?.duration();
            // A copy, so that a handle which is closed meanwhile is really closed.
            let limiter = LIMITERS.with(limiter, |limiter| Ok(limiter.clone()))?;
            Ok(limiter.acquire_timeout(request, wait_timeout)?.into())
        },
    )
}

/// Writes a new id for a call, which nobody else has: 32 letters and a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_new_id(id: *mut c_char, error: Option<&mut MaybeUninit<Error>>) -> Code {
    // SAFETY: the caller passes NULL or a place with as much room as it says.
    guard(error, || unsafe { text::fill("id", id, 33, &new_id()?) })
}
