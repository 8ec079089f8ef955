//! Waiting with a ticket in the limiter's queue.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use paddlegate_core::{CLAIM_TIMEOUT, MAX_SPAN, Micros, Operation, QueuePosition, Result, Wait as CoreWait, new_id};

use crate::call::{decide, decision_into, settle};
use crate::decision::{Decision, Settlement};
use crate::error::{Code, Error};
use crate::guard::guard;
use crate::limiter::{LIMITERS, LimiterHandle};
use crate::request::{Costs, Request, not_negative};
use crate::text;

/// The value of a maximum wait for as long as it takes, which is at most ten years.
pub const PG_FOREVER: i64 = -1;

/// The value of position in a pg_wait for the queue position of the existing ticket, otherwise the end
/// of the queue.
pub const PG_POSITION_END: i64 = 0;

/// The value of position in a pg_wait for the queue position of the existing ticket. Without one the
/// status is PG_STATUS_NO_TICKET.
pub const PG_POSITION_EXISTING: i64 = -1;

/// How a call waits in the limiter's queue.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Wait {
    /// The maximum wait, or PG_FOREVER. 0 refuses instead of queueing, as does a wait that is known
    /// to be longer.
    pub max_wait_us: i64,
    /// The claim time-out: how long the ticket keeps its queue position after the time at which its
    /// call should have been repeated; 0 for the default, pg_claim_timeout_us.
    pub claim_timeout_us: i64,
    /// The channel for the wake-ups of the ticket, see pg_listen; NULL or empty when the call is
    /// repeated without wake-ups.
    pub channel: *const c_char,
    /// PG_POSITION_END, PG_POSITION_EXISTING, or the number of a ticket: then the queue position of the
    /// existing ticket, otherwise the position that the ticket with this number had.
    pub position: i64,
    /// How long the ticket stays after the claim time-out, for a job that its host has put away. Others
    /// pass it by then, and it has its old position when its call is repeated. 0 for a call that waits.
    pub keep_us: i64,
    /// 1 for a run of a job, see pg_waiter_init_job: it does not share the lease of another run. 0 for
    /// other calls.
    pub is_run: i64,
}

impl Wait {
    unsafe fn core<'a>(&self) -> Result<CoreWait<'a>> {
        Ok(CoreWait {
            max_wait: max_wait(self.max_wait_us)?,
            claim_timeout: match self.claim_timeout_us {
                0 => CLAIM_TIMEOUT,
                timeout => Micros(not_negative("claim_timeout", timeout)?),
            },
            keep: Micros(not_negative("keep", self.keep_us)?),
            // SAFETY: the caller passes NULL or a text that ends with a zero byte.
            channel: unsafe { text::read_or("channel", self.channel, "") }?,
            position: match self.position {
                PG_POSITION_END => QueuePosition::End,
                PG_POSITION_EXISTING => QueuePosition::Existing,
                number => QueuePosition::Number(not_negative("ticket", number)?),
            },
            is_run: self.is_run != 0,
        })
    }
}

pub(crate) fn max_wait(micros: i64) -> Result<Micros> {
    Ok(if micros == PG_FOREVER { MAX_SPAN } else { Micros(not_negative("wait_timeout", micros)?) })
}

/// Takes the cost as pg_acquire does, under an id of the caller. With wait the call may queue.
/// Never waits itself.
///
/// The id, of 1 to 64 bytes, names the lease and the ticket: a repeated call takes no second lease
/// and keeps the queue position. After PG_STATUS_QUEUED repeat the call with the same id after
/// retry_after_us, or on a wake-up from the channel. A caller that gives up calls pg_cancel. The
/// priority and the share of request order the calls that wait.
/// request may be NULL. wait may be NULL: then the call does not queue, and gives up a queue
/// position that it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_acquire_with_id(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    id: *const c_char,
    wait: Option<&Wait>,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decision_into(decision, error, || {
        // SAFETY: this function places the same requirements on its caller.
        let costs = unsafe { Costs::read(request) }?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let id = unsafe { text::read("id", id) }?;
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        let wait = wait.map(|wait| unsafe { wait.core() }).transpose()?;
        let operation = Operation::AcquireWithId { request: costs.request(), id, wait };
        decide(limiter, operation, |limiter, decision| costs.decision(limiter, decision))
    })
}

/// Removes the ticket of a call from the queue, and ends the lease that it may have become.
/// settlement receives PG_SETTLEMENT_CANCELLED, or PG_SETTLEMENT_UNKNOWN when there was neither.
///
/// A gave_up other than 0 means that the wait timed out, which counts as a refusal. settlement may
/// be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_cancel(
    limiter: *const LimiterHandle,
    id: *const c_char,
    gave_up: i32,
    settlement: Option<&mut MaybeUninit<Settlement>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    settle(limiter, settlement, error, || {
        // SAFETY: the caller passes NULL or a text that ends with a zero byte.
        Ok(Operation::Cancel { id: unsafe { text::read("id", id) }?, gave_up: gave_up != 0 })
    })
}

/// Takes the cost as soon as every limit allows it and no ticket is ahead in the queue. Waits on
/// this thread for at most wait_timeout_us, or PG_FOREVER.
///
/// The status is PG_STATUS_REFUSED when the time is up, or at once when the time is known to be too
/// short; then nothing was taken. request may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_acquire_timeout(
    limiter: *const LimiterHandle,
    request: Option<&Request>,
    wait_timeout_us: i64,
    decision: Option<&mut MaybeUninit<Decision>>,
    error: Option<&mut MaybeUninit<Error>>,
) -> Code {
    decision_into(decision, error, || {
        // SAFETY: this function places the same requirements on its caller.
        let costs = unsafe { Costs::read(request) }?;
        let wait_timeout = max_wait(wait_timeout_us)?.duration();
        // A clone, so that the wait does not keep the entry of a handle that is closed meanwhile.
        let limiter = LIMITERS.with(limiter, |limiter| Ok(limiter.clone()))?;
        Ok(costs.decision(&limiter, limiter.acquire(costs.request(), wait_timeout)?))
    })
}

/// Writes a new id for a call, which no other call has: 32 bytes that begin with host and process, and a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pg_new_id(id: *mut c_char, error: Option<&mut MaybeUninit<Error>>) -> Code {
    // SAFETY: the caller passes NULL or a buffer of 33 bytes.
    guard(error, || unsafe { text::fill("id", id, 33, &new_id()?) })
}
